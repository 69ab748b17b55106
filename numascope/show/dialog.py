"""A question in a frame: a list that scrolls, and below it what stays in view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from numascope.show.canvas import cells, cut, fitted, text_cells
from numascope.show.glyphs import FRAME
from numascope.show.ink import Line, Span

_EDGE: Final = 2
"""Cells of frame and blank on each side."""
_FRAME_ROWS: Final = 2


def inner_width(width: int) -> int:
    """Cells of a line within a frame of that width."""
    return width - 2 * _EDGE


def frame_height(body: Sequence[Line], foot: Sequence[Line], most: int) -> int:
    """Rows that it takes to show everything, at most so many."""
    return min(most, len(body) + len(foot) + _FRAME_ROWS)


def body_rows(foot: Sequence[Line], height: int) -> int:
    """Rows that are left for the list."""
    return max(1, height - len(foot) - _FRAME_ROWS)


def framed(title: str, body: Sequence[Line], foot: Sequence[Line], width: int, height: int, top: int) -> list[Line]:
    """The frame's lines, each of `width` cells, with the list scrolled to `top`; what is out of view is counted in the frame."""
    rows = body_rows(foot, height)
    shown = [*body[top : top + rows]]
    shown += [()] * (rows - len(shown))
    below = max(0, len(body) - top - rows)
    more = " · ".join(
        text for count, text in ((top, f"{top} lines above ↑"), (below, f"{below} lines below ↓")) if count
    )
    first = _edge("top-left", "top-right", f" {title} ", width, bold=True)
    inner = inner_width(width)
    wall = FRAME["wall"][0]
    lines = [
        (Span(f"{wall} ", "dim"), *fitted(line, inner), Span(f" {wall}", "dim"))
        for line in (*shown, *foot[: height - 3])
    ]
    return [first, *lines, _edge("bottom-left", "bottom-right", f" {more} " if more else "", width, bold=False)]


def _edge(corner: str, other: str, text: str, width: int, *, bold: bool) -> Line:
    dash = FRAME["rule"][0]
    said = cut(text, width - 4)
    rest = dash * (width - 3 - text_cells(said))
    return (
        Span(FRAME[corner][0] + dash, "dim"),
        Span(said, "text" if bold else "warn", bold=bold),
        Span(rest + FRAME[other][0], "dim"),
    )


def beside(*parts: Line, gap: int = 8) -> Line:
    """Lines one after the other, with blanks between."""
    spans: list[Span] = []
    for part in parts:
        if spans:
            spans.append(Span(" " * gap))
        spans.extend(part)
    return tuple(spans)


def centred(line: Line, width: int) -> Line:
    """The line in the middle of `width` cells."""
    return (Span(" " * max(0, (width - cells(line)) // 2)), *line)
