"""Our own plan: per device and role, near the device, whole cores, within a cache where it fits, hot roles alone on theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.objects import Machine
from numascope.plan.make.deal import Lot, lots_of
from numascope.plan.make.fit import given_pieces
from numascope.plan.make.made import Made, NoPlanError, RoleCpus, Share, union
from numascope.plan.make.near import memory_near, node_words
from numascope.plan.make.room import FreeCore, Room, room_of
from numascope.plan.make.seats import Seat
from numascope.plan.make.sizes import HOT, Piece, usual_pieces
from numascope.plan.resolve import PYNATIVE_QUEUES, bound_actors

Smt = Literal["avoid", "use", "pair"]

_FULL: Final = 0.1
"""A node with less than this share of its memory free is nearly full."""


class BalancedWish(NamedTuple):
    """What is asked of the plan; without `roles` main, runtime and minddata share all cores of a device."""

    allowed: CpuSet
    ranks: tuple[Seat, ...]
    roles: Mapping[str, int] | None = None
    """Role → CPUs of each device."""
    smt: Smt = "use"
    reserve: int | None = None
    """Cores kept on each node; None: one where there are eight."""
    busy: CpuSet = EMPTY
    notes: tuple[str, ...] = ()


def make_balanced(machine: Machine, wish: BalancedWish) -> Made:
    """The plan; no CPU is in two roles, and none outside what is online, allowed, not isolated and not busy. NoPlanError."""
    if wish.reserve is not None:
        return _planned(machine, wish)
    try:
        return _planned(machine, wish)
    except NoPlanError:
        made = _planned(machine, wish._replace(reserve=0))
        return made._replace(notes=(*made.notes, "no core is kept for the system, as all are needed"))


def _planned(machine: Machine, wish: BalancedWish) -> Made:
    notes = [*wish.notes]
    room = room_of(machine, wish.allowed, wish.busy, wish.reserve)
    notes += room.notes
    lots = lots_of(machine, room, wish.ranks, notes)

    def width(role: str, core: FreeCore) -> int:
        return len(_threads(wish.smt, role, core))

    if wish.roles is None:
        actors = len(bound_actors(len(machine.cpus.online)))
        pieces = [usual_pieces(lot, actors) for lot in lots]
    else:
        pieces = given_pieces(machine, room, lots, wish.roles, width, notes)
    shares = tuple(_share(machine, lot, found, wish) for lot, found in zip(lots, pieces, strict=True))
    scheduler = _scheduler(room, pieces)
    notes += _doubts(machine, wish, room, lots, shares)
    return Made("balanced", shares, scheduler, tuple(notes))


def _threads(smt: Smt, role: str, core: FreeCore) -> tuple[int, ...]:
    """The CPUs of a core that a role gets; what it does not get stays idle."""
    alone = smt == "avoid" or (smt == "use" and role in HOT)
    return core.cpus[:1] if alone else core.cpus


def _share(machine: Machine, lot: Lot, pieces: Sequence[Piece], wish: BalancedWish) -> Share:
    is_lone = wish.roles is None and len(pieces) == 1
    roles = []
    for piece in sorted(pieces, key=_usual_order):
        role_smt: Smt = "pair" if is_lone and wish.smt == "use" else wish.smt
        cpus = [cpu for core in piece.cores for cpu in _threads(role_smt, piece.role, core)]
        roles.append(RoleCpus(piece.role, CpuSet.of(cpus)))
    return Share(lot.seat, tuple(roles), memory_near(machine, lot.home))


def _usual_order(piece: Piece) -> tuple[int, str]:
    return (HOT.index(piece.role) if piece.role in HOT else len(HOT)), piece.role


def _scheduler(room: Room, pieces: Sequence[Sequence[Piece]]) -> CpuSet:
    """The cores kept on the first node that has some, else one core in no role; empty where all cores have one."""
    for cores in room.kept.values():
        if cores:
            return CpuSet.of(cpu for core in cores for cpu in core.cpus)
    taken = {core for found in pieces for piece in found for core in piece.cores}
    left = next((core for cores in room.free.values() for core in cores if core not in taken), None)
    return EMPTY if left is None else CpuSet.of(left.cpus)


def _doubts(
    machine: Machine, wish: BalancedWish, room: Room, lots: Sequence[Lot], shares: Sequence[Share]
) -> list[str]:
    found = []
    for lot, share in zip(lots, shares, strict=True):
        if share.memory is not None and lot.home not in share.memory:
            found.append(f"{lot.seat}: {node_words(lot.home)} has no memory to use, node {share.memory} is next")
    for number in sorted(union(share.memory or EMPTY for share in shares)):
        node = machine.node(number)
        if node is not None and node.free_kib is not None and node.memory_kib:
            share_free = node.free_kib / node.memory_kib
            if share_free < _FULL:
                found.append(f"node {number} has {share_free:.0%} of its memory free: bound ranks fail when it is full")
    planned = union(share.cpus for share in shares)
    unused = [
        node for node, cores in room.free.items() if not any(cpu in planned for core in cores for cpu in core.cpus)
    ]
    if unused:
        found.append(f"{_nodes(unused)} near no device of the plan: the cores there stay free")
    pynative = (wish.roles or {}).get("pynative")
    if pynative is not None and pynative < len(PYNATIVE_QUEUES):
        found.append(f"pynative={pynative}: its {len(PYNATIVE_QUEUES)} queues take one CPU each by position, give 4")
    return found


def _nodes(numbers: Sequence[int]) -> str:
    return f"node{'' if len(numbers) == 1 else 's'} {CpuSet.of(numbers)} {'is' if len(numbers) == 1 else 'are'}"
