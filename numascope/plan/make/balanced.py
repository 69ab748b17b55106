"""Our own plan: per device and role, near the device, whole cores, within a cache where it fits, hot roles alone on theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.objects import Machine
from numascope.plan.make.deal import Lot, lots_of
from numascope.plan.make.doubts import doubts, running_on
from numascope.plan.make.fit import given_pieces
from numascope.plan.make.made import Made, NoPlanError, RoleCpus, Share
from numascope.plan.make.near import memory_near
from numascope.plan.make.room import FreeCore, Room, room_of
from numascope.plan.make.seats import Seat
from numascope.plan.make.sizes import Piece, by_heat, usual_pieces
from numascope.plan.objects import HOT_ROLES, WHOLE_PROCESS
from numascope.plan.resolve import bound_actors

Smt = Literal["avoid", "use", "pair"]

_TIGHT: Final = 3
"""With fewer cores a device has no runtime of its own: no core is kept by default at that price."""


class BalancedWish(NamedTuple):
    """What is asked of the plan; without `roles` main, runtime and minddata share all cores of a device."""

    allowed: CpuSet
    ranks: tuple[Seat, ...]
    roles: Mapping[str, int] | None = None
    """Role → CPUs of each device: just so many, where that is half of a core its other thread idles."""
    smt: Smt = "use"
    reserve: int | None = None
    """Cores kept on each node; None: one where there are eight."""
    busy: CpuSet = EMPTY
    notes: tuple[str, ...] = ()
    for_mindspore: bool = True
    """Whether memory is bound only where MindSpore itself binds it: to nodes that have CPUs."""
    has_roles: bool = True
    """Whether roles are bound apart; without, and without `roles`, a rank has all threads of its cores as a whole."""
    cache_kib: Mapping[int, int] = MappingProxyType({})
    """Node → page cache, which gives way to what a rank asks for; absent: unknown."""


class _Rated(NamedTuple):
    """A plan, and what speaks against it: the lower, the better; the first difference counts."""

    made: Made
    torn: int
    """Hot roles that reach over packages."""
    away: int
    """Devices that find no core on their node, though others do."""
    tight: int
    """Cores that the smallest share lacks for a runtime of its own."""

    @property
    def faults(self) -> tuple[int, int, int]:
        """All of it, in order."""
        return self.torn, self.away, self.tight


def make_balanced(machine: Machine, wish: BalancedWish) -> Made:
    """The plan; no CPU is in two roles, and none outside what is online, allowed, not isolated and not busy. NoPlanError."""
    if wish.reserve is not None:
        return _planned(machine, wish).made
    try:
        rated = _planned(machine, wish)
    except NoPlanError:
        return _without_reserve(machine, wish).made
    if any(rated.faults):
        other = _without_reserve(machine, wish)
        return other.made if other.faults < rated.faults else rated.made
    return rated.made


def _torn(machine: Machine, shares: Sequence[Share]) -> int:
    hot = [one.cpus for share in shares for one in share.roles if one.role in HOT_ROLES]
    return sum(1 for cpus in hot if sum(1 for package in machine.packages if package.cpus & cpus) > 1)


def _without_reserve(machine: Machine, wish: BalancedWish) -> _Rated:
    rated = _planned(machine, wish._replace(reserve=0))
    made = rated.made
    return rated._replace(made=made._replace(notes=(*made.notes, "no core is kept for the system, as all are needed")))


def _planned(machine: Machine, wish: BalancedWish) -> _Rated:
    notes = [*wish.notes]
    room = room_of(machine, wish.allowed, wish.busy, wish.reserve)
    notes += room.notes
    lots = lots_of(machine, room, wish.ranks, notes, far=wish.roles is None and wish.has_roles)

    def width(role: str, core: FreeCore) -> int:
        return len(_threads(wish.smt, role, core))

    actors = len(bound_actors(len(machine.cpus.online)))
    if wish.roles is None and not wish.has_roles:
        pieces = [[Piece(WHOLE_PROCESS, lot.near + lot.spare)] for lot in lots]
    elif wish.roles is None:
        pieces = usual_pieces(lots, actors)
    else:
        pieces = given_pieces(machine, room, lots, wish.roles, width, notes)
    shares = tuple(_share(machine, lot, found, wish) for lot, found in zip(lots, pieces, strict=True))
    scheduler = _scheduler(room, pieces)
    may_pair = wish.smt != "pair" and any(len(core.cpus) > 1 for core in machine.cores)
    notes += doubts(
        machine, room, shares, wish.cache_kib, actors=actors if wish.for_mindspore else 0, may_pair=may_pair
    )
    are_fixed = all(len(one.cpus) >= actors for share in shares for one in share.roles if one.role == "runtime")
    made = Made("balanced", shares, scheduler, tuple(notes), fixed_actors=are_fixed)
    away = sum(1 for lot in lots if lot.seat.node in room.free and lot.home != lot.seat.node)
    least = min((len(lot.near) + len(lot.spare) for lot in lots), default=_TIGHT) if wish.roles is None else _TIGHT
    return _Rated(made, _torn(machine, shares), away, max(0, _TIGHT - least))


def _threads(smt: Smt, role: str, core: FreeCore) -> tuple[int, ...]:
    """The CPUs of a core that a role gets; what it does not get stays idle."""
    alone = smt == "avoid" or (smt == "use" and role in HOT_ROLES)
    return core.cpus[:1] if alone else core.cpus


def _share(machine: Machine, lot: Lot, pieces: Sequence[Piece], wish: BalancedWish) -> Share:
    is_lone = wish.roles is None and len(pieces) == 1
    roles = []
    for piece in sorted(pieces, key=_usual_order):
        role_smt: Smt = "pair" if is_lone and wish.smt == "use" else wish.smt
        cpus = [cpu for core in piece.cores for cpu in _threads(role_smt, piece.role, core)]
        asked = len(cpus) if wish.roles is None else wish.roles[piece.role]
        roles.append(RoleCpus(piece.role, CpuSet.of(cpus[:asked])))
    start = running_on(lot, pieces)
    return Share(lot.seat, tuple(roles), memory_near(machine, start, with_cpus=wish.for_mindspore))


def _usual_order(piece: Piece) -> tuple[int, str]:
    return by_heat(piece.role), piece.role


def _scheduler(room: Room, pieces: Sequence[Sequence[Piece]]) -> CpuSet:
    """The cores kept on the first node that has some, else the last core in no role of the node with most; empty where all have one."""
    for cores in room.kept.values():
        if cores:
            return CpuSet.of(cpu for core in cores for cpu in core.cpus)
    taken = {core for found in pieces for piece in found for core in piece.cores}
    left = [[core for core in cores if core not in taken] for cores in room.free.values()]
    most = max(left, key=len, default=[])
    return CpuSet.of(most[-1].cpus) if most else EMPTY
