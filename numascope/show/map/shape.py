"""A way to draw the map, and what it takes: columns for an area, rows for a line of areas, rows for all."""

from __future__ import annotations

from typing import NamedTuple

from numascope.show.map.areas import Area, Level


class Shape(NamedTuple):
    """A level, columns a cell, into how many pieces an area is folded, areas a line, and which rows there are."""

    level: Level
    cell: int
    pieces: int
    per_line: int
    axis: bool
    spacer: bool = False
    apart: bool = False
    foot: bool = False


def label_width(level: Level, threads: int, *, axis: bool) -> int:
    """Columns left of the cells, for names."""
    if level not in ("thread", "core"):
        return 4
    if axis:
        return 8 if threads > 1 else 6
    return 9 if threads > 1 else 7


def threads_of(areas: tuple[Area, ...], level: Level) -> int:
    """Rows of one kind: at level thread one for each hardware thread of a core."""
    return max((area.threads for area in areas), default=1) if level == "thread" else 1


def tail(shape: Shape) -> int:
    """Columns right of the cells: for a load and a flag; with an axis these stand in its row."""
    return 1 if shape.axis or shape.level not in ("thread", "core") else 3


def fit(areas: tuple[Area, ...], shape: Shape, columns: int) -> int:
    """How many areas fit beside each other."""
    width = area_width(areas, shape)
    gap = 0 if tail(shape) == 1 else 2
    return (columns + gap) // (width + gap)


def area_width(areas: tuple[Area, ...], shape: Shape) -> int:
    """Columns that the widest piece of any area takes."""
    inner = max(
        (max(_piece_width(piece, shape.cell) for piece in area.pieces(shape.pieces)) for area in areas), default=1
    )
    return label_width(shape.level, threads_of(areas, shape.level), axis=shape.axis) + inner + tail(shape)


def _piece_width(groups: tuple[tuple[tuple[int, ...], ...], ...], cell: int) -> int:
    return sum(len(group) * cell for group in groups) + max(0, len(groups) - 1)


def line_rows(areas: tuple[Area, ...], shape: Shape) -> int:
    """Rows that one line of areas takes."""
    threads = threads_of(areas, shape.level)
    return threads * (3 if shape.apart else 2) + shape.axis + shape.foot


def _lines(areas: tuple[Area, ...], shape: Shape) -> int:
    return -(-len(areas) // shape.per_line) * shape.pieces


def height_of(areas: tuple[Area, ...], shape: Shape) -> int:
    """Rows that all lines take."""
    lines = _lines(areas, shape)
    return lines * line_rows(areas, shape) + (lines - 1 if shape.spacer else 0)
