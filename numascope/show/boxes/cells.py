"""Small boxes that share their walls: last-level caches, and packages or dies that only hold cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from numascope.show.boxes.box import Box
from numascope.show.boxes.rows import WIDEST_CPUS, core_rows, head_lines, one_line
from numascope.show.canvas import cells
from numascope.show.ink import Line, Span

_BESIDE: Final = 3
"""Cells that one more column takes beside its content: two blanks and a wall."""


class Grid(NamedTuple):
    """Cells in rows: how many side by side, the width of their content, which of its labels each has, and the lines of each row."""

    across: int
    content: int
    forms: tuple[int, ...]
    heights: tuple[int, ...]

    @property
    def lines(self) -> int:
        """All rows with the walls between and around them."""
        return sum(height + 1 for height in self.heights) + 1


def least_width(boxes: Sequence[Box]) -> int:
    """The least width at which one cell under the other shows every label and breaks no group."""
    return max(_least(box) for box in boxes) + _BESIDE + 1


def grid_of(boxes: Sequence[Box], width: int) -> Grid:
    """The cells in the fewest lines that the width allows; of equal ones, with the longest labels, then the fewest side by side."""
    least = least_width(boxes) - _BESIDE - 1
    sorts: dict[object, list[int]] = {}
    for at, box in enumerate(boxes):
        sorts.setdefault(_room_taken(box), []).append(at)
    found = []
    for across in acrosses(len(boxes)):
        content = (width - 1) // across - _BESIDE
        if across > 1 and content < least:
            break
        found.append(_grid(boxes, list(sorts.values()), across, max(1, content)))
    return min(found, key=lambda grid: (grid.lines, grid.forms[0], grid.across))


def acrosses(count: int) -> list[int]:
    """How many of so many can stand side by side, rising, so that no row but the last is less than full."""
    return sorted({-(-count // rows) for rows in range(1, count + 1)})


def _least(box: Box) -> int:
    """The least width of its content: the shortest label, its CPUs unless they are many, and one group of cores."""
    cpus = box.cpu_width if box.cpu_width <= WIDEST_CPUS else 1
    return max(box.label_widths[-1], cpus, *(len(group) for run in box.runs for group in run.groups))


def _room_taken(box: Box) -> object:
    """What cells have in common that take the same room at every width."""
    return (*map(len, box.head), 0, *box.label_widths, 0, *((run.label, *map(len, run.groups)) for run in box.runs))


def _grid(boxes: Sequence[Box], sorts: Sequence[Sequence[int]], across: int, room: int) -> Grid:
    forms, heights = [0] * len(boxes), [0] * len(boxes)
    content = 1
    for members in sorts:
        first = boxes[members[0]]
        form, lines = _form(first, room), cell_lines(first, room)
        content = max([content, first.label_widths[form], *map(cells, lines)])
        for at in members:
            forms[at], heights[at] = form, len(lines)
    rows = tuple(max(heights[at : at + across]) for at in range(0, len(boxes), across))
    return Grid(across, min(content, room), tuple(forms), rows)


def cell_lines(box: Box, width: int) -> list[Line]:
    """What is in a cell; the CPUs of a cache are its label."""
    short = one_line(box)
    if short is not None and box.names and cells(short) <= width:
        return [short]
    facts = head_lines(box, width) if box.names else []
    return [*((Span(text),) for text in facts), *core_rows(box.runs, width, axis=False)]


def _form(box: Box, room: int) -> int:
    """Which of its labels is the longest that fits in every box of its kind."""
    forms = range(len(box.label_widths))
    return next((form for form in forms if box.label_widths[form] <= room), forms[-1])
