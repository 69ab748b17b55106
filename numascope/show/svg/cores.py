"""Cores as squares: filled, with a part for each thread; hollow where something forbids their use."""

from __future__ import annotations

import math
from typing import Final

from numascope.show.boxes.cells import acrosses
from numascope.show.boxes.cores import CoreRun
from numascope.show.glyphs import CORES
from numascope.show.svg.ink import Palette, rectangle

CORE: Final = 12.0
"""The side of a core, in user units."""

_CORE_GAP: Final = 3.0
_ROW_GAP: Final = 5.0
_GROUP_GAP: Final = 9.0
_FLAT: Final = 2.4
"""Width over height that the cores of a box come close to."""


def _group_width(run: CoreRun) -> float:
    most = max(map(len, run.groups))
    return most * (CORE + _CORE_GAP) - _CORE_GAP


_OUTLINES: Final = ("offline", "lone")
_PARTS: Final = {4: (2, 2), 8: (4, 2)}
"""Threads → parts of a square, across and down; else side by side."""
_MOST_PARTS: Final = 7


def run_size(run: CoreRun, per_row: int) -> tuple[float, float]:
    """Width and height of the cores of one kind with so many groups a row."""
    rows = -(-len(run.groups) // per_row)
    return (
        min(per_row, len(run.groups)) * (_group_width(run) + _GROUP_GAP) - _GROUP_GAP,
        rows * CORE + (rows - 1) * _ROW_GAP,
    )


def groups_a_row(run: CoreRun) -> int:
    """Groups a row for a flat shape, all rows equally full where they can be."""

    def strain(per_row: int) -> float:
        width, height = run_size(run, per_row)
        return abs(math.log(width / height / _FLAT)) + (-len(run.groups) % per_row) / len(run.groups)

    return min(acrosses(len(run.groups)), key=strain)


def cores(run: CoreRun, per_row: int, x: float, y: float, colours: Palette, *, faint: bool) -> list[str]:
    """The cores of one kind from that corner on; faint ones are of another kind than those above."""
    found = []
    names = {glyph: name for name, glyph in CORES.items()}
    step = _group_width(run) + _GROUP_GAP
    for place, (group, sets) in enumerate(zip(run.groups, run.cpus, strict=True)):
        row, column = divmod(place, per_row)
        for number, (glyph, cpus) in enumerate(zip(group, sets, strict=True)):
            left = x + column * step + number * (CORE + _CORE_GAP)
            top = y + row * (CORE + _ROW_GAP)
            found += core(left, top, names.get(glyph, "1"), len(cpus), f"CPU {cpus}", colours, faint=faint)
    return found


def core(
    x: float, y: float, name: str, threads: int, title: str, colours: Palette, *, faint: bool = False
) -> list[str]:
    """A core: a filled square with a part for each thread; hollow where it cannot be used, dashed where it is offline."""
    if name in _OUTLINES:
        stroke, dash = (colours.dim, 'stroke-dasharray="2 2"') if name == "offline" else (colours.lit, "")
        return [_hollow(x, y, stroke, title, dash)]
    if name in ("denied", "isolated", "denied-part", "isolated-part"):
        dash = 'stroke-dasharray="2 1.5"' if name.endswith("-part") else ""
        line = _slash(x, y, colours.dim, dash) if name.startswith("denied") else _bar(x, y, colours.dim, dash)
        return [_hollow(x, y, colours.dim, title), line]
    across, down = _PARTS.get(threads, (min(threads, _MOST_PARTS), 1))
    width, height = (CORE - (across - 1)) / across, (CORE - (down - 1)) / down
    shade = 'fill-opacity="0.6"' if faint else ""
    return [
        rectangle(
            x + column * (width + 1), y + row * (height + 1), width, height,
            fill=colours.lit, radius=2 if threads == 1 else 1, more=shade, title=title,
        )
        for row in range(down)
        for column in range(across)
    ]  # fmt: skip


def _hollow(x: float, y: float, stroke: str, title: str, more: str = "") -> str:
    return rectangle(x + 0.5, y + 0.5, CORE - 1, CORE - 1, stroke=stroke, radius=2, more=more, title=title)


def _slash(x: float, y: float, stroke: str, dash: str) -> str:
    return _line((x + 2.5, y + 9.5), (x + 9.5, y + 2.5), stroke, dash)


def _bar(x: float, y: float, stroke: str, dash: str) -> str:
    return _line((x + 6, y + 2.5), (x + 6, y + 9.5), stroke, dash)


def _line(start: tuple[float, float], end: tuple[float, float], stroke: str, dash: str) -> str:
    ends = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    return f'<line {ends} stroke="{stroke}" stroke-width="1.4"{f" {dash}" if dash else ""}/>'
