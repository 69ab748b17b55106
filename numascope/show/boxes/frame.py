"""Draws boxes as lines of exactly the width that their layout gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from numascope.show.boxes.box import Box, More
from numascope.show.boxes.cells import Grid, cell_lines
from numascope.show.boxes.layout import (
    TITLE_ENDS,
    WALLS,
    Flow,
    Geometry,
    more_lines,
    segments,
)
from numascope.show.boxes.rows import one_line, own_lines
from numascope.show.canvas import cells, cut, joined
from numascope.show.glyphs import FRAME
from numascope.show.ink import Line, Span

_RULE: Final = FRAME["rule"][0]
_WALL: Final = FRAME["wall"][0]
_ARMS: Final = {
    (False, True, False, True): "top-left",
    (False, True, True, False): "top-right",
    (True, False, False, True): "bottom-left",
    (True, False, True, False): "bottom-right",
    (True, True, False, True): "tee-right",
    (True, True, True, False): "tee-left",
    (False, True, True, True): "tee-down",
    (True, False, True, True): "tee-up",
    (True, True, True, True): "cross",
    (False, False, True, True): "rule",
}
"""The sign of a corner by its arms: up, down, left, right."""


def drawn(items: Sequence[Box | More], width: int, geometry: Geometry, *, outermost: bool = False) -> list[Line]:
    """Neighbours and all that is in them, each line exactly `width` cells."""
    lines: list[Line] = []
    for segment in segments(items, outermost=outermost):
        if segment.more is not None:
            lines += _more(segment.more, width)
        elif segment.kind == "grid":
            lines += _grid(segment.boxes, geometry.grid(segment.boxes, width))
        else:
            lines += _flow(segment.boxes, geometry.flow(segment.boxes, width), geometry)
    return [_filled(line, width) for line in lines]


def _filled(line: Line, width: int) -> Line:
    return joined([*line, Span(" " * (width - cells(line)))])


def _more(more: More, width: int) -> list[Line]:
    title, *entries = more_lines(more, width)
    return [(Span(title, bold=True),), *((Span(entry),) for entry in entries)]


def _flow(boxes: Sequence[Box], flow: Flow, geometry: Geometry) -> list[Line]:
    lines: list[Line] = []
    for row, height in enumerate(flow.heights):
        frames = [_framed(box, height, flow, geometry) for box in boxes[row * flow.across : (row + 1) * flow.across]]
        for pieces in zip(*frames, strict=True):
            spans = [span for piece in pieces for span in (Span(" " * flow.gap), *piece)]
            lines.append(joined(spans[1:]))
    return lines


def _framed(box: Box, height: int, flow: Flow, geometry: Geometry) -> list[Line]:
    width, inner = flow.width, flow.width - WALLS
    short = one_line(box) if flow.compact else None
    facts = not (flow.titled and box.inside)
    inside = [short] if short is not None else own_lines(box, inner, facts=facts)
    inside += drawn(box.inside, inner, geometry)
    inside += [()] * (height - len(inside))
    wall = Span(_WALL, "dim")
    blank = Span(" ")
    bottom = FRAME["bottom-left"][0] + _RULE * (width - 2) + FRAME["bottom-right"][0]
    return [
        _top(box, width, facts=facts),
        *(joined([wall, blank, *_filled(line, inner), blank, wall]) for line in inside),
        (Span(bottom, "dim"),),
    ]


def _top(box: Box, width: int, *, facts: bool) -> Line:
    """The upper wall with the names in bold, and the facts where they fit."""
    room = width - TITLE_ENDS
    name = cut(box.title, room)
    rest = "" if facts else "".join(f" · {fact}" for fact in (*box.head, *box.tail))
    rule = _RULE * (room - cells((Span(name + rest),)) + 1)
    return joined([
        Span(FRAME["top-left"][0] + _RULE + " ", "dim"), Span(name, bold=True), Span(rest),
        Span(" " + rule + FRAME["top-right"][0], "dim"),
    ])  # fmt: skip


def _grid(boxes: Sequence[Box], grid: Grid) -> list[Line]:
    lines: list[Line] = []
    step = grid.content + 2
    rows = [boxes[at : at + grid.across] for at in range(0, len(boxes), grid.across)]
    for row, members in enumerate(rows):
        forms = grid.forms[row * grid.across : (row + 1) * grid.across]
        labels = [box.forms[form] for box, form in zip(members, forms, strict=True)]
        lines.append(_wall_line(len(rows[row - 1]) if row else 0, len(members), labels, step))
        inner = [cell_lines(box, grid.content) for box in members]
        for at in range(grid.heights[row]):
            spans = [Span(_WALL, "dim")]
            for cell in inner:
                content = _filled(cell[at] if at < len(cell) else (), grid.content)
                spans += [Span(" "), *content, Span(" "), Span(_WALL, "dim")]
            lines.append(joined(spans))
    lines.append(_wall_line(len(rows[-1]), 0, (), step))
    return lines


def _wall_line(above: int, below: int, labels: Sequence[str], step: int) -> Line:
    """A wall between so many cells above and so many below, with the labels of those below."""
    widest = max(above, below)
    spans: list[Span] = []
    for at in range(widest + 1):
        arms = (at <= above and above > 0, at <= below and below > 0, at > 0, at < widest)
        spans.append(Span(FRAME[_ARMS[arms]][0], "dim"))
        if at < widest:
            label = cut(labels[at], step - 2) if at < len(labels) else ""
            shown = f" {label} " if label else ""
            spans += [Span(shown), Span(_RULE * (step - len(shown)), "dim")]
    return joined(spans)
