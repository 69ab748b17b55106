"""Folding: of boxes that look alike the first is drawn, and the others are told in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.objects import Node
from numascope.show.boxes.box import Box, More
from numascope.show.boxes.content import memory_words
from numascope.show.topo.words import cpu_list, tied

_GAP: Final = "  "


def depth_of(boxes: Sequence[Box | More]) -> int:
    """How many levels of boxes there are."""
    return max((1 + depth_of(box.inside) for box in boxes if isinstance(box, Box)), default=0)


def folded(boxes: Sequence[Box | More], levels: frozenset[int], level: int = 0) -> tuple[Box | More, ...]:
    """The boxes with those that look alike told once, on the given levels (0 is the outermost)."""
    found: list[Box | More] = []
    for group in _alike(boxes) if level in levels else ([box] for box in boxes):
        first, *others = group
        if isinstance(first, Box):
            first = replace(first, inside=folded(first.inside, levels, level + 1))
        found.append(first)
        if others:
            found.append(_more(group[0], others))
    return tuple(found)


def _alike(boxes: Sequence[Box | More]) -> Iterator[list[Box | More]]:
    """Boxes that differ only in numbers, memory and devices, together; in the order of the first of each."""
    groups: dict[object, list[Box | More]] = {}
    for box in boxes:
        groups.setdefault(_look(box), []).append(box)
    yield from groups.values()


def _look(box: Box | More) -> object:
    if isinstance(box, More):
        return id(box)
    kinds = tuple(name.rpartition(" ")[0] for name in box.names)
    runs = tuple((run.label, run.groups) for run in box.runs)
    return kinds, box.caches, bool(box.cpus), runs, tuple(_look(part) for part in box.inside)


def _more(first: Box | More, others: Sequence[Box | More]) -> More:
    """`× 15 more like node 0:` and a text for each of them."""
    boxes = [box for box in others if isinstance(box, Box)]
    if not isinstance(first, Box) or not first.names:
        return More(f"× {len(boxes)} more like it:", tuple(box.labels[0] for box in boxes))
    rows = [_entry(box, first) for box in boxes]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width] for row in rows]
    return More(f"× {len(boxes)} more like {first.title}:", tuple(_GAP.join(row).rstrip() for row in cells))


def _entry(box: Box, first: Box) -> tuple[str, ...]:
    """Its name, CPUs, nodes, memory and devices: what it may differ in from the first."""
    inner = [] if any(name.startswith("node ") for name in box.names) else [node.id for node in box.nodes]
    nodes = f"node{'s' if len(inner) > 1 else ''} {CpuSet.of(inner)}" if inner else ""
    memory = memory_words(_together(box.nodes), _together(first.nodes)) if _knows_memory(box) else ""
    return tuple(map(tied, (box.title, cpu_list(box.cpus) or box.cpu_words, nodes, memory, box.all_devices)))


def _knows_memory(box: Box | More) -> bool:
    return isinstance(box, Box) and (bool(box.memory) or any(map(_knows_memory, box.inside)))


def _together(nodes: Sequence[Node]) -> Node:
    """Their memory as that of one node; unknown where that of one is."""
    if len(nodes) == 1:
        return nodes[0]
    total = [node.memory_kib for node in nodes if node.memory_kib is not None]
    free = [node.free_kib for node in nodes if node.free_kib is not None]
    return Node(
        nodes[0].id,
        EMPTY,
        sum(total) if len(total) == len(nodes) else None,
        sum(free) if len(free) == len(nodes) else None,
    )
