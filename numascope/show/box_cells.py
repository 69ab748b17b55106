"""Small boxes that share their walls: last-level caches, and packages or dies that only hold cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from numascope.show.box import Box
from numascope.show.box_rows import core_rows, head_lines, one_line
from numascope.show.canvas import cells
from numascope.show.ink import Line, Span

_BESIDE: Final = 3
"""Cells that one more column takes beside its content: two blanks and a wall."""

_WIDEST_CPUS: Final = 24


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

    @property
    def width(self) -> int:
        """All columns with the walls between and around them."""
        return self.across * (self.content + _BESIDE) + 1


def grid_of(boxes: Sequence[Box], width: int) -> Grid:
    """The cells in the fewest lines that the width allows; of equal ones, with the longest labels, then the fewest side by side."""
    least = max(_least(box) for box in boxes)
    found = [_grid(boxes, 1, max(least, width - _BESIDE - 1))]
    for across in sorted({-(-len(boxes) // rows) for rows in range(1, len(boxes) + 1)})[1:]:
        content = (width - 1) // across - _BESIDE
        if content < least:
            break
        found.append(_grid(boxes, across, content))
    return min(found, key=lambda grid: (grid.lines, grid.forms[0], grid.across))


def label_of(box: Box, form: int) -> str:
    """What stands in the wall above a cell."""
    return (box.labels or (box.title,))[form]


def _least(box: Box) -> int:
    """The least width of its content: the shortest label, its CPUs unless they are many, and one group of cores."""
    cpus = box.cpu_width if box.cpu_width <= _WIDEST_CPUS else 1
    return max(box.label_widths[-1], cpus, *(len(group) for run in box.runs for group in run.groups))


def _grid(boxes: Sequence[Box], across: int, room: int) -> Grid:
    forms = tuple(_form(box, room) for box in boxes)
    inner = [cell_lines(box, room) for box in boxes]
    content = max(
        *(box.label_widths[form] for box, form in zip(boxes, forms, strict=True)),
        *(cells(line) for lines in inner for line in lines),
    )
    heights = tuple(max(map(len, inner[at : at + across])) for at in range(0, len(inner), across))
    return Grid(across, content, forms, heights)


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
