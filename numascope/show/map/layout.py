"""Which picture of a machine fits a budget of columns and rows: the same window, the same picture."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from numascope.machine.objects import Machine
from numascope.show.map.areas import Area, Level, areas_of, levels_of
from numascope.show.map.places import MapLayout, placed
from numascope.show.map.shape import Shape, fit, height_of

_WIDE: Final = 100
"""From this width on a line of nodes may have an axis of CPU numbers."""
_APART: Final = 130
"""From this width on the plan and who ran are two rows, where rows are left."""


@lru_cache(maxsize=16)
def _cached(machine: _Identity, columns: int, rows: int, node: int | None, *, on_paper: bool) -> MapLayout:
    return _layout(machine.machine, columns, rows, node, on_paper=on_paper)


class _Identity:
    """A machine as a key: the same object is the same machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def __hash__(self) -> int:
        return id(self.machine)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.machine is self.machine


def map_layout(
    machine: Machine, columns: int, rows: int, node: int | None = None, *, on_paper: bool = False
) -> MapLayout:
    """The finest layout of a machine, or of one of its nodes, that fits.

    Levels from thread to package, cells of 3, 2, 1 columns, a package to a line where it can be. `on_paper`, where rows cost
    nothing, cells that have room for a role and an axis of CPU numbers come first.
    """
    return _cached(_Identity(machine), columns, rows, node, on_paper=on_paper)


def map_rows(height: int) -> int:
    """How many rows of a window the map may take, its caption among them."""
    return max(5, min(height - 15, height * 6 // 10))


def _areas(machine: Machine, level: Level, node: int | None) -> tuple[Area, ...]:
    areas = areas_of(machine, level)
    return areas if node is None else tuple(area for area in areas if area.node == node) or areas


def _layout(machine: Machine, columns: int, rows: int, node: int | None, *, on_paper: bool) -> MapLayout:
    shape: Shape | None = None
    coarsest: Shape | None = None
    levels = levels_of(machine)
    for level in levels:
        areas = _areas(machine, level, node)
        for candidate in _shapes(machine, areas, level, columns, on_paper=on_paper):
            coarsest = candidate
            if height_of(areas, candidate) <= rows:
                shape = candidate
                break
        if shape is not None:
            break
    chosen = shape or coarsest or Shape(levels[-1], 1, 1, 1, axis=False)
    areas = _areas(machine, chosen.level, node)
    if shape is not None and not on_paper:
        for better in (
            chosen._replace(spacer=True),
            chosen._replace(spacer=True, apart=True),
            chosen._replace(spacer=True, apart=True, foot=True),
        ):
            if (better.apart and columns < _APART) or height_of(areas, better) > rows:
                break
            chosen = better
    return placed(areas, chosen, columns, rows)


def _shapes(machine: Machine, areas: tuple[Area, ...], level: Level, columns: int, *, on_paper: bool) -> list[Shape]:
    """Every way to draw a level in that width, the one to prefer first."""
    nodes_of_packages = (
        sum(1 for node in machine.nodes if package.id in node.packages and node.cpus) for package in machine.packages
    )
    beside = max(1, min(len(areas), max(nodes_of_packages, default=1)))
    whole: list[Shape] = []
    split: list[Shape] = []
    axes = (True, False) if (on_paper or columns >= _WIDE) and level in ("thread", "core") else (False,)
    for cell in (3, 2, 1):
        for axis in axes:
            one = Shape(level, cell, 1, 1, axis)
            room = fit(areas, one, columns)
            if room >= 1:
                shapes = [one._replace(per_line=n) for n in (beside, _power(room)) if n <= room]
                (whole if room >= beside else split).extend(dict.fromkeys(shapes))
                continue
            for pieces in _divisors(areas):
                folded = one._replace(pieces=pieces)
                if fit(areas, folded, columns) >= 1:
                    split.append(folded)
                    break
    if on_paper:
        split.sort(key=lambda one: one.pieces)
        return sorted(whole + split, key=lambda one: one.cell == 1)
    return whole + split


def _power(room: int) -> int:
    return 1 << (room.bit_length() - 1)


def _divisors(areas: tuple[Area, ...]) -> list[int]:
    """Into how many equal pieces every area can be cut at the borders of its last-level caches."""
    smallest = min((len(area.folds) for area in areas), default=1)
    return [n for n in range(2, smallest + 1) if all(len(area.folds) % n == 0 for area in areas)]
