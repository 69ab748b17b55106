"""`numascope topo`: what this machine is."""

from __future__ import annotations

from typing import Final

import click

from numascope.cli.output import echo_json, echo_lines, terminal_width, wants_colour

_LEAST_WIDTH: Final = 40


@click.command()
@click.option("--root", default="/", metavar="DIR", help="A directory with a copy of another machine's /sys and /proc.")
@click.option("--json", "as_json", is_flag=True, help="The numascope.topo/1 document.")
@click.option(
    "--width",
    type=click.IntRange(_LEAST_WIDTH, 1000),
    metavar="N",
    help="Columns; the terminal's, or 80 where there is none.",
)
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="auto: on a terminal, unless NO_COLOR is set.",
)
def topo(root: str, width: int | None, color: str, *, as_json: bool) -> None:
    """Show the machine: packages, NUMA nodes, caches, cores, memory, accelerators and distances."""
    from numascope.host.root import HostRoot
    from numascope.machine.build import build_machine

    host = HostRoot(root)
    try:
        machine = build_machine(host)
    finally:
        host.close()
    if as_json:
        from numascope.show.topo_document import topo_document

        echo_json(topo_document(machine))
        return
    from numascope.show.topo import topo_lines

    echo_lines(topo_lines(machine, max(_LEAST_WIDTH, terminal_width(width))), colour=wants_colour(color))
