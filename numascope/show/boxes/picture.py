"""The text of `numascope topo --boxes`: the machine as boxes in boxes, as much of it as a screen holds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.machine.walk import walk
from numascope.show.boxes.box import Box, More
from numascope.show.boxes.content import boxes_of
from numascope.show.boxes.fold import depth_of, folded
from numascope.show.boxes.frame import drawn
from numascope.show.boxes.layout import FULL, LEAST_WIDTH, Geometry, segments
from numascope.show.boxes.legend import legend_lines
from numascope.show.ink import Line
from numascope.show.topo.tree import tree_lines

SCREEN: Final = 40
"""Lines that a picture may have before what looks alike is folded."""

_MOST_LEGEND: Final = 4
"""Lines of the legend that are counted in them: a long matrix of distances folds no boxes."""


def box_lines(machine: Machine, width: int = 80, *, expand: bool = False, lit: CpuSet | None = None) -> list[Line]:
    """The machine as nested boxes with a sign for each core, none wider than `width` cells (40 to 1000).

    What looks alike is folded where the whole would be longer than a screen, unless `expand`; `lit` are the CPUs
    that a process may use: their cores are lit, all others dim.
    """
    walked = walk(machine)
    if width < LEAST_WIDTH:
        return tree_lines(machine, walked, width)
    whole = boxes_of(machine, walked, lit)
    geometry = Geometry()
    legend = legend_lines(machine, walked, whole, width)
    boxes = whole if expand else _what_fits(whole, width, SCREEN - min(len(legend), _MOST_LEGEND), geometry)
    return [*drawn(boxes, _taken(boxes, width, geometry), geometry, outermost=True), *legend]


def _what_fits(boxes: tuple[Box, ...], width: int, lines: int, geometry: Geometry) -> Sequence[Box | More]:
    """The boxes folded on as few levels as a screen asks for, so that most cores are drawn."""
    depth = depth_of(boxes)
    choices = [frozenset(levels) for count in range(depth + 1) for levels in combinations(range(depth), count)]
    shortest: tuple[int, Sequence[Box | More]] | None = None
    best: tuple[int, Sequence[Box | More]] | None = None
    for levels in choices:
        chosen = folded(boxes, levels) if levels else boxes
        taken = _lines(chosen, width, geometry)
        if not levels and taken <= lines:
            return chosen
        cores = sum(box.cores for box in chosen if isinstance(box, Box))
        if taken <= lines and (best is None or cores > best[0]):
            best = (cores, chosen)
        if shortest is None or taken < shortest[0]:
            shortest = (taken, chosen)
    chosen_or_none = best or shortest
    return boxes if chosen_or_none is None else chosen_or_none[1]


def _lines(boxes: Sequence[Box | More], width: int, geometry: Geometry) -> int:
    return sum(geometry.segment_height(segment, width) for segment in segments(boxes, outermost=True))


def _taken(boxes: Sequence[Box | More], width: int, geometry: Geometry) -> int:
    """All of the width, or, where far less gives as few lines, that."""
    lines = _lines(boxes, width, geometry)
    least = max((geometry.least(box) for box in boxes if isinstance(box, Box)), default=LEAST_WIDTH)
    low, high = min(width, max(LEAST_WIDTH, least)), width
    while low < high:
        middle = (low + high) // 2
        if _lines(boxes, middle, geometry) <= lines:
            high = middle
        else:
            low = middle + 1
    return width if high >= width * FULL else high
