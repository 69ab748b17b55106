"""`numascope topo`: what this machine is."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from numascope.cli import options
from numascope.cli.arguments import FilePath
from numascope.cli.output import echo_json, echo_lines, terminal_width, wants_colour

if TYPE_CHECKING:
    from numascope.cli.machine_source import Found, Wanted
    from numascope.cpuset import CpuSet
    from numascope.machine.objects import Machine
    from numascope.show.ink import Line

_LEAST_WIDTH: Final = 40
_FORMATS: Final = ("tree", "boxes", "table", "json", "svg", "md", "xml", "synthetic")
_KINDS: Final = ("package", "die", "node", "l3", "l2", "core", "pu", "device")


class _Style(NamedTuple):
    """How the user wants to see it."""

    format: str
    width: int
    colour: bool
    ascii_only: bool
    expand: bool
    only: str | None
    theme: str
    lit: CpuSet | None = None


@click.command(short_help="The machine map: packages, nodes, caches, cores, accelerators.")
@click.option(
    "--root", default=None, metavar="DIR", help="A directory with a copy of another machine's /sys and /proc."
)
@click.option("--capture", default=None, metavar="FILE", help="An archive of one: numascope capture's, or hwloc's.")
@click.option("--inside", default=None, metavar="DIR", help="Which machine of an archive that holds several.")
@click.option("--xml", default=None, metavar="FILE", help="hwloc's XML, version 2.")
@click.option(
    "--synthetic", default=None, metavar="TEXT", help='A machine in words: "package:2 node:2 l3:2 core:4 pu:2".'
)
@click.option("--format", "-f", "wanted_format", type=click.Choice(_FORMATS), default=None, help="tree by default.")
@click.option("--boxes", is_flag=True, help="The picture: --format boxes.")
@click.option("--json", "as_json", is_flag=True, help="The numascope.topo/1 document: --format json.")
@click.option("--expand", is_flag=True, help="Draw what is alike each time, in boxes.")
@click.option("--node", "nodes", default=None, metavar="LIST", help="Only these NUMA nodes: 0, 2-3.")
@click.option("--only", type=click.Choice(_KINDS), default=None, help="A table of the objects of one kind.")
@click.option(
    "--around", type=click.IntRange(1), default=None, metavar="PID", help="Only the nodes that a process may use."
)
@click.option("--io", is_flag=True, help="Network cards and NVMe drives too.")
@click.option("--links", is_flag=True, help="How near accelerators and network cards are to each other, as a matrix.")
@click.option(
    "--links-from",
    type=FilePath(),
    default=None,
    metavar="FILE",
    help="Text of nvidia-smi topo -m, or of npu-smi info -t topo and, in the same file, of npu-smi info.",
)
@click.option(
    "--explain", default=None, metavar="OBJECT", help="The files behind cpu17, node2, package0, d0 or 3b:00.0."
)
@click.option(
    "--diff", "other", default=None, metavar="OTHER", help="What differs from another directory, archive or XML."
)
@click.option("--theme", type=click.Choice(["light", "dark"]), default=None, help="Of the SVG; light by default.")
@click.option(
    "--width",
    type=click.IntRange(_LEAST_WIDTH, 1000),
    metavar="N",
    help="Columns; the terminal's, or 80 where there is none.",
)
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII signs; by itself where the locale is C.")
@options.color()
def topo(
    *,
    root: str | None,
    capture: str | None,
    inside: str | None,
    xml: str | None,
    synthetic: str | None,
    wanted_format: str | None,
    boxes: bool,
    as_json: bool,
    expand: bool,
    nodes: str | None,
    only: str | None,
    around: int | None,
    io: bool,
    links: bool,
    links_from: str | None,
    explain: str | None,
    other: str | None,
    theme: str | None,
    width: int | None,
    ascii_only: bool,
    color: str,
) -> None:
    """Show the machine: packages, NUMA nodes, caches, cores, memory, accelerators and distances.

    Of this host, or of another by --root, --capture, --xml or --synthetic. With --diff, ends 1 where anything differs.
    """
    from numascope.cli.machine_source import Wanted, opened_machine
    from numascope.cli.topo_options import Given, check_options, chosen_format

    chosen, named = chosen_format(wanted_format, boxes=boxes, as_json=as_json)
    given = {
        "--diff": other, "--explain": explain, "--links": links or None, "--links-from": links_from, "--only": only,
        "--node": nodes, "--around": around, "--theme": theme, "--expand": expand or None,
    }  # fmt: skip
    check_options(Given(tuple(name for name, value in given.items() if value is not None), chosen, named))
    links = links or links_from is not None
    columns = max(_LEAST_WIDTH, terminal_width(width))
    chosen = chosen or ("table" if only else "tree")
    style = _Style(chosen, columns, wants_colour(color), ascii_only, expand, only, theme or "light")
    gc.disable()  # one machine is made and shown, then the program ends: there is nothing to collect
    wanted = Wanted(root, capture, inside, xml, synthetic, io or links or explain is not None)
    with opened_machine(wanted) as found:
        machine = found.machine
        if other is not None:
            raise click.exceptions.Exit(_diff(machine, other, inside, style, io=wanted.io))
        if explain is not None:
            _echo(_explained(found, explain, style.width), style)
            return
        if links:
            _show_links(found, links_from, style)
            return
        if around is not None:
            style = style._replace(lit=_allowed(wanted, around))
        _show(_part(machine, nodes, style.lit), style)


def _part(machine: Machine, nodes: str | None, lit: CpuSet | None) -> Machine:
    """The nodes that were asked for, or those of a process."""
    from numascope.cpuset import EMPTY, CpuSet

    if nodes is None and lit is None:
        return machine
    from numascope.cli.machine_source import node_list
    from numascope.machine.part import part_of

    if nodes is not None:
        numbers = node_list(nodes, machine)
    else:
        numbers = CpuSet.of(machine.node_of[cpu] for cpu in lit or EMPTY if cpu in machine.node_of)
    cpus = EMPTY
    for node in machine.nodes:
        cpus |= node.cpus if node.id in numbers else EMPTY
    return part_of(machine, cpus, numbers)


def _allowed(wanted: Wanted, pid: int) -> CpuSet:
    """The CPUs that the threads of a live process may use."""
    from numascope.errors import TargetGoneError, UsageError
    from numascope.host.procfs import allowed_of_process
    from numascope.host.root import HostRoot

    if wanted._replace(io=False) != type(wanted)():
        raise UsageError("--around looks at a process of this host: leave --root, --capture, --xml and --synthetic out")
    allowed = allowed_of_process(HostRoot(), pid)
    if not allowed:
        raise TargetGoneError(f"no process {pid} here, or none that this user may look at")
    return allowed


def _explained(found: Found, name: str, width: int) -> list[Line]:
    from numascope.errors import UsageError
    from numascope.host.system import provenance
    from numascope.show.topo.explain import explain_lines, subject_of

    machine, root = found
    if root is None:
        raise UsageError("--explain shows the kernel's files, of which hwloc's XML and a text in words have none")
    subject = subject_of(name, machine)
    if subject.kind == "cpu":
        evidence = provenance.evidence_of_cpu(root, subject.number)
    elif subject.kind == "node":
        evidence = provenance.evidence_of_node(root, subject.number)
    elif subject.kind == "package":
        package = next(one for one in machine.packages if one.id == subject.number)
        evidence = provenance.evidence_of_cpu(root, package.cpus.first)
    else:
        evidence = provenance.evidence_of_device(root, machine.devices[subject.number].address)
    return explain_lines(machine, subject, evidence, width)


def _diff(machine: Machine, other: str, inside: str | None, style: _Style, *, io: bool) -> int:
    """Prints what differs; 1 where anything does."""
    from numascope.cli.machine_source import opened_machine, wanted_of
    from numascope.machine.compare import compare
    from numascope.show.ink import Span
    from numascope.show.topo.diff import diff_document, diff_lines

    with opened_machine(wanted_of(other, inside, io=io)) as found:
        differences = compare(machine, found.machine)
        if style.format == "json":
            echo_json(diff_document(differences, machine.source, found.machine.source))
        else:
            _echo(diff_lines(differences, style.width) or [(Span("nothing differs"),)], style)
    return 1 if differences else 0


def _show_links(found: Found, text: str | None, style: _Style) -> None:
    from numascope.cli.link_sources import linked
    from numascope.show.topo.links import link_document, link_lines

    machine, links, doubts = linked(found, text)
    if style.format == "json":
        from numascope.show.topo.document import topo_document

        document = topo_document(machine)
        inner = document["machine"]
        assert isinstance(inner, dict)  # noqa: S101  (the document is an object with an object in it)
        inner["links"] = link_document(links)
        echo_json(document)
        return
    _echo(link_lines(machine, links, style.width, doubts), style)


def _show(machine: Machine, style: _Style) -> None:
    """Prints the machine in the format that was asked for."""
    if style.format == "json":
        from numascope.show.topo.document import topo_document

        echo_json(topo_document(machine))
    elif style.format in ("svg", "md", "xml", "synthetic"):
        click.echo(_text(machine, style), nl=False)
    else:
        _echo(_lines(machine, style), style)


def _text(machine: Machine, style: _Style) -> str:
    if style.format == "svg":
        from numascope.show.svg.picture import svg_text

        return svg_text(machine, style.theme)
    if style.format == "md":
        from numascope.show.topo.markdown import markdown_text

        return markdown_text(machine)
    if style.format == "xml":
        from numascope.show.topo.hwloc_xml import hwloc_xml

        return hwloc_xml(machine)
    from numascope.show.topo.synthetic import synthetic_text

    return f"{synthetic_text(machine)}\n"


def _lines(machine: Machine, style: _Style) -> list[Line]:
    if style.format == "boxes":
        from numascope.show.boxes.picture import box_lines
        from numascope.show.topo.lines import head_lines

        picture = box_lines(machine, style.width, expand=style.expand, lit=style.lit)
        return [*head_lines(machine, style.width), (), *picture]
    if style.format == "table":
        from numascope.show.topo.table import table_lines

        return table_lines(machine, style.width, style.only)
    from numascope.show.topo.lines import topo_lines

    return topo_lines(machine, style.width)


def _echo(lines: list[Line], style: _Style) -> None:
    echo_lines(lines, colour=style.colour, ascii_only=style.ascii_only)
