"""How many cores each role gets, where the user gives no number: by what MindSpore starts and by the caches there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from numascope.plan.make.deal import Lot
from numascope.plan.make.room import FreeCore, by_group
from numascope.plan.objects import HOT_ROLES

_LEAST_MAIN: Final = 3
_LEAST_DATA: Final = 3
"""Cores that main and the data loading keep where each actor has one of its own."""


def by_heat(role: str) -> int:
    """A key to sort roles by: the hottest first, those on which nothing waits last."""
    return HOT_ROLES.index(role) if role in HOT_ROLES else len(HOT_ROLES)


class Piece(NamedTuple):
    """The cores of one role."""

    role: str
    cores: tuple[FreeCore, ...]


def usual_pieces(lots: Sequence[Lot], actors: int) -> list[list[Piece]]:
    """Of each lot main, runtime and minddata over all its cores, the hot ones near the device and in as few caches as they fit.

    Each actor has a core of its own where all lots are large enough for it. A lot of two cores has no runtime of its own, one
    of a single core main alone: those threads inherit main's CPUs.
    """
    wanted = actors + _LEAST_MAIN
    halves = [_halves(lot, wanted) for lot in lots]
    are_fixed = all(len(hot) >= wanted for hot, _ in halves)
    return [_pieces(hot, cool, actors if are_fixed else min(actors, max(1, len(hot) // 2))) for hot, cool in halves]


def _pieces(hot: list[FreeCore], cool: list[FreeCore], actors: int) -> list[Piece]:
    if len(hot) + len(cool) == 1:
        return [Piece("main", tuple(hot or cool))]
    if len(hot) + len(cool) == 2:
        first, second = (*hot, *cool)
        return [Piece("main", (first,)), Piece("minddata", (second,))]
    if len(hot) == 1:
        runtime, rest = _taken(cool, min(actors, max(1, len(cool) // 2)))
        return [Piece("runtime", tuple(runtime)), Piece("minddata", tuple(rest)), Piece("main", tuple(hot))]
    runtime, rest = _taken(hot, actors)
    return [Piece("runtime", tuple(runtime)), Piece("minddata", tuple(cool)), Piece("main", tuple(rest))]


def _halves(lot: Lot, wanted: int) -> tuple[list[FreeCore], list[FreeCore]]:
    """The cores of the hot roles, if it can be as many as wanted, and those of the data loading."""
    hot, cool = _parts(lot)
    alike = [core for core in cool if (core.node, core.speed) == (hot[0].node, hot[0].speed)]
    more = min(wanted - len(hot), len(cool) - _LEAST_DATA)
    if more <= 0 or len(hot) + more < wanted or len(alike) < more:
        return hot, cool
    return [*hot, *alike[:more]], _without(cool, alike[:more])


def _parts(lot: Lot) -> tuple[list[FreeCore], list[FreeCore]]:
    near, spare = list(lot.near), list(lot.spare)
    cores = near + spare
    if near and 4 * len(spare) >= len(cores):
        return near, spare
    fast = [core for core in near if core.speed == near[0].speed]
    if len(fast) < len(near) and len(fast) >= max(2, len(cores) // 3):
        return fast, _without(cores, fast)
    hot = max(2, -(-2 * len(cores) // 3)) if len(cores) > 2 else len(cores)
    whole = _whole_caches(cores, hot, either_end=not spare)
    if len(whole) > 1 and 2 * min(len(whole), len(cores) - len(whole)) >= len(cores) // 2:
        return whole, _without(cores, whole)
    return cores[:hot], cores[hot:]


def _whole_caches(cores: list[FreeCore], wanted: int, *, either_end: bool) -> list[FreeCore]:
    """So many caches that they come nearest to what is wanted: the first ones, or the last where the very last is no mere part."""
    groups = by_group(cores)
    ends = [groups[:count] for count in range(1, len(groups))]
    if either_end and len(groups[-1]) == max(map(len, groups)):
        ends += [groups[-count:] for count in range(1, len(groups))]
    found = [[core for group in end for core in group] for end in ends]
    return min(found, key=lambda some: (abs(len(some) - wanted), -len(some)), default=[])


def _taken(cores: list[FreeCore], wanted: int) -> tuple[list[FreeCore], list[FreeCore]]:
    """So many cores of the smallest cache that holds them, else of neighbours; and the rest."""
    able = [group for group in by_group(cores) if len(group) >= wanted]
    chosen = (min(able, key=len) if able else cores)[:wanted]
    return chosen, _without(cores, chosen)


def _without(cores: Sequence[FreeCore], taken: Sequence[FreeCore]) -> list[FreeCore]:
    gone = set(taken)
    return [core for core in cores if core not in gone]
