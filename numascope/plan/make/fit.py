"""Roles of a given number of CPUs put into cores: near the device, in one cache where one holds them, never on a core of another role."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from numascope.machine.objects import Machine
from numascope.plan.make.deal import Lot
from numascope.plan.make.made import NoPlanError
from numascope.plan.make.near import by_distance, distance_words, node_words
from numascope.plan.make.room import FreeCore, Room, by_group
from numascope.plan.make.sizes import HOT, Piece

Width = Callable[[str, FreeCore], int]
"""How many CPUs of a core a role gets."""


class _Wanting(NamedTuple):
    lot: Lot
    role: str
    cpus: int


def given_pieces(
    machine: Machine, room: Room, lots: Sequence[Lot], roles: Mapping[str, int], width: Width, notes: list[str]
) -> list[list[Piece]]:
    """Of each lot the cores of each role; what a device's own lot cannot hold goes to the nearest cores that nobody took."""
    order = sorted(roles, key=lambda role: (HOT.index(role) if role in HOT else len(HOT), -roles[role], role))
    pieces: dict[int, list[Piece]] = {lot.seat.number: [] for lot in lots}
    taken: set[FreeCore] = set()
    wanting: list[_Wanting] = []
    for lot in lots:
        for role in order:
            found = _in_lot(lot, taken, role, roles[role], width)
            if found is None:
                wanting.append(_Wanting(lot, role, roles[role]))
            else:
                taken.update(found)
                pieces[lot.seat.number].append(Piece(role, found))
    for one in wanting:
        found = _anywhere(machine, room, taken, one, width, notes)
        taken.update(found)
        pieces[one.lot.seat.number].append(Piece(one.role, found))
    return [pieces[lot.seat.number] for lot in lots]


def _in_lot(lot: Lot, taken: set[FreeCore], role: str, cpus: int, width: Width) -> tuple[FreeCore, ...] | None:
    near = [core for core in lot.near if core not in taken]
    spare = [core for core in lot.spare if core not in taken]
    for cores in (near, spare, near + spare):
        found = _picked(cores, role, cpus, width)
        if found is not None:
            return found
    return None


def _picked(cores: Sequence[FreeCore], role: str, cpus: int, width: Width) -> tuple[FreeCore, ...] | None:
    """As many cores as the role needs, of the fullest cache that they just fit into, else of neighbours; None: too few."""
    able = [(room, group) for group in by_group(cores) if (room := sum(width(role, core) for core in group)) >= cpus]
    chosen = min(able, key=lambda one: one[0])[1] if able else cores
    found: list[FreeCore] = []
    for core in chosen:
        if cpus <= 0:
            break
        found.append(core)
        cpus -= width(role, core)
    return tuple(found) if cpus <= 0 else None


def _anywhere(
    machine: Machine, room: Room, taken: set[FreeCore], one: _Wanting, width: Width, notes: list[str]
) -> tuple[FreeCore, ...]:
    nodes = by_distance(machine, one.lot.home, room.free)
    left: list[FreeCore] = []
    for node in nodes:
        here = [core for core in room.free[node] if core not in taken]
        left += here
        found = _picked(here, one.role, one.cpus, width)
        if found is not None:
            if node != one.lot.home:
                far = distance_words(machine, one.lot.home, node)
                notes.append(
                    f"device {one.lot.seat.number}: {one.role} is on {node_words(node)}{far}, nearer there is no room"
                )
            return found
    found = _picked(left, one.role, one.cpus, width)
    if found is None:
        count = sum(width(one.role, core) for core in left)
        raise NoPlanError(
            f"{one.role}={one.cpus} of {one.lot.seat} does not fit, {count} CPUs are left for it:"
            " plan fewer CPUs or ranks, or allow or reserve otherwise"
        )
    where = sorted({core.node for core in found})
    notes.append(f"device {one.lot.seat.number}: {one.role} is spread over nodes {', '.join(map(str, where))}")
    return found
