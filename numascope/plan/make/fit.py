"""Roles of a given number of CPUs put into cores: near the device, in one cache where one holds them, never on a core of another role."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from numascope.machine.objects import Machine
from numascope.plan.make.deal import Lot
from numascope.plan.make.made import NoPlanError
from numascope.plan.make.near import by_distance, distance_words, node_words
from numascope.plan.make.room import FreeCore, Room, by_group
from numascope.plan.make.seats import Seat, seats_words
from numascope.plan.make.sizes import Piece, by_heat
from numascope.plan.objects import HOT_ROLES

Width = Callable[[str, FreeCore], int]
"""How many CPUs of a core a role gets."""


class _Far(NamedTuple):
    """A role that is not on its device's node."""

    role: str
    home: int
    nodes: tuple[int, ...]


def given_pieces(
    machine: Machine, room: Room, lots: Sequence[Lot], roles: Mapping[str, int], width: Width, notes: list[str]
) -> list[list[Piece]]:
    """Of each lot the cores of each role, the hot ones of all devices first. NoPlanError.

    What a device's own lot cannot hold goes to the nearest cores that nobody took.
    """
    order = sorted(roles, key=lambda role: (by_heat(role), -roles[role], role))
    pieces: dict[int, list[Piece]] = {lot.seat.number: [] for lot in lots}
    taken: set[FreeCore] = set()
    far: dict[_Far, list[Seat]] = {}
    for together in ([role for role in order if role in HOT_ROLES], [role for role in order if role not in HOT_ROLES]):
        wanting: list[tuple[Lot, str]] = []
        for lot in lots:
            for role in together:
                found = _in_lot(lot, taken, role, roles[role], width)
                if found is None:
                    wanting.append((lot, role))
                    continue
                taken.update(found)
                pieces[lot.seat.number].append(Piece(role, found))
                if role in HOT_ROLES:
                    _note_far(far, role, lot, found)
        for lot, role in wanting:
            found = _anywhere(machine, room, taken, lot, Wanted(role, roles[role], width))
            taken.update(found)
            pieces[lot.seat.number].append(Piece(role, found))
            _note_far(far, role, lot, found)
    notes += [_far_words(machine, where, seats) for where, seats in far.items()]
    return [pieces[lot.seat.number] for lot in lots]


def _note_far(far: dict[_Far, list[Seat]], role: str, lot: Lot, found: Sequence[FreeCore]) -> None:
    nodes = tuple(sorted({core.node for core in found}))
    if nodes != (lot.home,):
        far.setdefault(_Far(role, lot.home, nodes), []).append(lot.seat)


def _far_words(machine: Machine, where: _Far, seats: Sequence[Seat]) -> str:
    of = f"device {seats[0].number}" if len(seats) == 1 else seats_words(seats)
    if len(where.nodes) > 1:
        return f"{of}: {where.role} is spread over nodes {', '.join(map(str, where.nodes))}, none has room for it"
    node = where.nodes[0]
    return f"{of}: {where.role} is on {node_words(node)}{distance_words(machine, where.home, node)}, nearer there is no room"


def _in_lot(lot: Lot, taken: set[FreeCore], role: str, cpus: int, width: Width) -> tuple[FreeCore, ...] | None:
    near = [core for core in lot.near if core not in taken]
    spare = [core for core in lot.spare if core not in taken]
    for cores in (near, spare, near + spare):
        found = _picked(cores, Wanted(role, cpus, width))
        if found is not None:
            return found
    return None


class Wanted(NamedTuple):
    """A role, how many CPUs it is to have, and how many of a core it takes."""

    role: str
    cpus: int
    width: Width

    def held_by(self, cores: Sequence[FreeCore]) -> int:
        """How many CPUs it would have on these cores."""
        return sum(self.width(self.role, core) for core in cores)


def _picked(cores: Sequence[FreeCore], wanted: Wanted) -> tuple[FreeCore, ...] | None:
    """As many cores as the role needs, of the cache that they just fit into, else of as few caches as hold them; None: too few."""
    if wanted.held_by(cores) < wanted.cpus:
        return None
    found: list[FreeCore] = []
    left = wanted.cpus
    groups = by_group(cores)
    while left > 0:
        able = [group for group in groups if wanted.held_by(group) >= left]
        chosen = min(able, key=wanted.held_by) if able else max(groups, key=wanted.held_by)
        groups.remove(chosen)
        for core in chosen:
            if left > 0:
                found.append(core)
                left -= wanted.width(wanted.role, core)
    return tuple(found)


def _anywhere(machine: Machine, room: Room, taken: set[FreeCore], lot: Lot, wanted: Wanted) -> tuple[FreeCore, ...]:
    """On the device's node, else on one of its package, else on all nodes of it; then so on the others, from near to far."""
    left = {
        node: [core for core in room.free[node] if core not in taken]
        for node in by_distance(machine, lot.home, room.free)
    }
    packages: dict[tuple[int, ...], list[int]] = {}
    for node in left:
        packages.setdefault(_packages(machine, node), []).append(node)
    for nodes in packages.values():
        for some in (*([node] for node in nodes), nodes):
            found = _picked([core for node in some for core in left[node]], wanted)
            if found is not None:
                return found
    found = _picked([core for cores in left.values() for core in cores], wanted)
    if found is None:
        count = wanted.held_by([core for cores in left.values() for core in cores])
        raise NoPlanError(
            f"{wanted.role}={wanted.cpus} of {lot.seat} does not fit,"
            f" {count} {'CPU is' if count == 1 else 'CPUs are'} left for it:"
            " plan fewer CPUs or ranks, or allow or reserve otherwise"
        )
    return found


def _packages(machine: Machine, node: int) -> tuple[int, ...]:
    found = machine.node(node)
    return () if found is None else found.packages
