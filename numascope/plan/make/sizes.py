"""How many cores each role gets, where the user gives no number: by what MindSpore starts and by the caches there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from numascope.plan.make.deal import Lot
from numascope.plan.make.room import FreeCore, by_group

HOT: Final = ("main", "runtime", "pynative", "autograd")
"""Roles on whose latency the device waits; they are alone on their cores."""


class Piece(NamedTuple):
    """The cores of one role."""

    role: str
    cores: tuple[FreeCore, ...]


def usual_pieces(lot: Lot, actors: int) -> list[Piece]:
    """Main, runtime and minddata over all cores of a lot, the hot ones near the device and each in as few caches as it fits.

    A lot of two cores has no runtime of its own, one of a single core main alone: those threads inherit main's CPUs.
    """
    hot, cool = _halves(lot)
    if len(hot) + len(cool) == 1:
        return [Piece("main", tuple(hot or cool))]
    if len(hot) + len(cool) == 2:
        first, second = (*hot, *cool)
        return [Piece("main", (first,)), Piece("minddata", (second,))]
    runtime, rest = _taken(hot, min(actors, max(1, len(hot) // 2)))
    return [Piece("runtime", tuple(runtime)), Piece("minddata", tuple(cool)), Piece("main", tuple(rest))]


def _halves(lot: Lot) -> tuple[list[FreeCore], list[FreeCore]]:
    """The cores of the hot roles and those of the data loading."""
    near, spare = list(lot.near), list(lot.spare)
    if spare and len(near) > 1:
        return near, spare
    cores = near + spare
    groups = by_group(cores)
    whole = [core for group in groups[: -(-len(groups) // 2)] for core in group]
    if len(whole) > 1 and len(groups) > 1 and 2 * min(len(whole), len(cores) - len(whole)) >= len(cores) // 2:
        return whole, _without(cores, whole)
    hot = max(2, -(-2 * len(cores) // 3)) if len(cores) > 2 else len(cores)
    return cores[:hot], cores[hot:]


def _taken(cores: list[FreeCore], wanted: int) -> tuple[list[FreeCore], list[FreeCore]]:
    """So many cores of the smallest cache that holds them, else of neighbours; and the rest."""
    able = [group for group in by_group(cores) if len(group) >= wanted]
    chosen = (min(able, key=len) if able else cores)[:wanted]
    return chosen, _without(cores, chosen)


def _without(cores: Sequence[FreeCore], taken: Sequence[FreeCore]) -> list[FreeCore]:
    gone = set(taken)
    return [core for core in cores if core not in gone]
