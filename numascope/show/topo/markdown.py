"""The text of `numascope topo --format md`: a section for a report or a bug tracker."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.machine.walk import walk
from numascope.show.topo.asides import overlap_words
from numascope.show.topo.columns import UNKNOWN, Column
from numascope.show.topo.facts import (
    cache_lines,
    core_lines,
    counts,
    distance_lines,
    group_lines,
    kind_lines,
    machine_name,
)
from numascope.show.topo.rows import device_columns, node_columns, or_unknown, package_columns
from numascope.show.topo.words import TIED, cpu_list

_SPECIAL: Final = re.compile(r"[\\`*{}\[\]<>#|~&$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_STARTS_LIST: Final = re.compile(r"(\d{1,9})([.)])(?=\s|$)|()([-+=])")
_WIDE_ENOUGH: Final = 10_000
_MOST_DISTANCES: Final = 16
"""Nodes whose distances are a table; of more, the range is told."""


def markdown_text(machine: Machine) -> str:
    """The machine as GitHub-flavoured Markdown: facts, tables of packages, nodes, devices and distances, and notes.

    Text from outside is escaped: it starts no markup, no table cell and no HTML.
    """
    facts = [
        *([] if machine.part is None else [machine.part.words]),
        ", ".join(counts(machine, "unknown")),
        *_cpus(machine),
        *group_lines(machine),
        *core_lines(machine),
        *kind_lines(machine),
        *cache_lines(machine),
        *overlap_words(walk(machine).overlaps),
    ]
    distances = {f"N{other}" for node in machine.nodes for other in node.distances}
    blocks = [
        f"## {escaped(machine_name(machine, 'unknown'))}",
        _bullets(facts),
        *_table("Packages", package_columns(machine)),
        *_table("NUMA nodes", [one for one in node_columns(machine) if one.head not in distances]),
        *_table("Devices", device_columns(machine) if machine.devices else []),
        *_distances(machine),
        *(["### Notes", _bullets(machine.notes)] if machine.notes else []),
    ]
    return "\n\n".join(blocks) + "\n"


def escaped(text: str) -> str:
    """A text that Markdown shows as it is: signs that begin markup are escaped, and no line break remains."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(text.replace(TIED, " ").split()))


def _cpus(machine: Machine) -> list[str]:
    """Which CPUs are online, offline, allowed and isolated."""
    cpus = machine.cpus
    isolated = cpus.isolated | cpus.partitioned
    allowed = "unknown" if cpus.allowed is None else "all" if cpus.allowed == cpus.online else cpu_list(cpus.allowed)
    found = [f"online: {cpu_list(cpus.online)}", f"allowed: {allowed or 'none'}"]
    found += [f"offline: {cpu_list(cpus.offline)}"] if cpus.offline else []
    untold = "isolated" in machine.untold and not isolated
    found += ["isolated: unknown"] if untold else [f"isolated: {cpu_list(isolated)}"] if isolated else []
    nodes = machine.nodes_allowed
    if nodes is not None and nodes != CpuSet.of(node.id for node in machine.nodes):
        found.append(f"memory of nodes: {nodes or 'none'}")
    return ["; ".join(found)]


def _bullets(texts: Iterable[str]) -> str:
    return "\n".join(f"- {_no_list(escaped(text))}" for text in texts)


def _no_list(text: str) -> str:
    """The text, where it begins like the item of a list, so that it does not."""
    found = _STARTS_LIST.match(text)
    if found is None:
        return text
    number, sign = (found[1], found[2]) if found[1] else ("", found[4])
    return f"{number}\\{sign}{text[found.end() :]}"


def _table(title: str, columns: Sequence[Column]) -> list[str]:
    """A heading and a table of what is known; nothing where there are no rows."""
    if not columns or not columns[0].cells:
        return []
    known = [column for column in columns if column.is_name or set(column.cells) != {UNKNOWN}]
    unknown = [column.head for column in columns if column not in known]
    rows = [
        _row(column.head for column in known),
        _row("---:" if column.is_number else "---" for column in known),
        *(_row(map(escaped, cells)) for cells in zip(*(column.cells for column in known), strict=True)),
    ]
    return [f"### {title}", "\n".join(rows), *([f"Not known: {', '.join(unknown)}."] if unknown else [])]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _distances(machine: Machine) -> list[str]:
    """The matrix of the firmware's distances; of many nodes its range."""
    nodes = [node for node in machine.nodes if node.distances]
    if len(nodes) < 2:
        return []
    if len(nodes) > _MOST_DISTANCES:
        return ["### Distances", _bullets(distance_lines(machine, _WIDE_ENOUGH)[:1])]
    columns = [
        Column("from", tuple(f"N{node.id}" for node in nodes), is_name=True),
        *(
            Column(f"N{end.id}", tuple(or_unknown(start.distances.get(end.id)) for start in nodes), is_number=True)
            for end in nodes
        ),
    ]
    return _table("Distances", columns)
