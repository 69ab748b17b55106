"""Which cores each device may have: its own node dealt among its devices, then nodes that no device is near."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from numascope.machine.objects import Machine
from numascope.plan.make.made import NoPlanError
from numascope.plan.make.near import by_distance, distance_words, node_words
from numascope.plan.make.room import FreeCore, Room, by_group
from numascope.plan.make.seats import Seat

_LEAST_WHOLE: Final = 0.75
"""Caches are dealt whole while the smallest share keeps so much of an even one."""


class Lot(NamedTuple):
    """A device's cores: those of its home node, and those of nodes of the same package that no device is near."""

    seat: Seat
    home: int
    near: tuple[FreeCore, ...]
    spare: tuple[FreeCore, ...]


def lots_of(machine: Machine, room: Room, seats: Sequence[Seat], notes: list[str]) -> list[Lot]:
    """A lot for each device, none with a core of another; NoPlanError where no CPU may be planned at all."""
    able = {node: cores for node, cores in room.free.items() if cores}
    if not able:
        raise NoPlanError("no core is left to plan: every allowed CPU is isolated, busy, reserved or offline")
    homes = _homes(machine, able, seats, notes)
    counts = Counter(homes.values())
    near = {node: dealt_cores(cores, counts[node]) for node, cores in able.items()}
    spare = _spare(machine, able, counts)
    lots, taken = [], dict.fromkeys(able, 0)
    for seat in seats:
        home = homes[seat.number]
        at = taken[home]
        taken[home] += 1
        lots.append(Lot(seat, home, tuple(near[home][at]), tuple(spare[home][at]) if home in spare else ()))
    _refuse_empty(lots, able)
    return lots


def _refuse_empty(lots: Sequence[Lot], able: Mapping[int, Sequence[FreeCore]]) -> None:
    for lot in lots:
        if not lot.near and not lot.spare:
            cores = sum(map(len, able.values()))
            raise NoPlanError(
                f"{lot.seat} gets no core of its own: {cores} may be planned, for {len(lots)} devices;"
                " plan fewer ranks, or allow or reserve otherwise"
            )


def _homes(
    machine: Machine, able: Mapping[int, Sequence[FreeCore]], seats: Sequence[Seat], notes: list[str]
) -> dict[int, int]:
    """Device → the node of its cores: its own, else the nearest with a core left; of an unknown one, where fewest share."""
    homes: dict[int, int] = {}
    taken: Counter[int] = Counter()
    orders = {node: by_distance(machine, node, able) for node in {seat.node for seat in seats} if node is not None}
    for seat in seats:
        if seat.node is None:
            continue
        order = orders[seat.node]
        home = next((node for node in order if taken[node] < len(able[node])), order[0])
        homes[seat.number] = home
        taken[home] += 1
        if home != seat.node:
            far = distance_words(machine, seat.node, home)
            notes.append(f"{seat}: {node_words(seat.node)} has no core to plan, {node_words(home)} is next{far}")
    for seat in seats:
        if seat.node is None:
            home = min(able, key=lambda node: ((taken[node] + 1) / len(able[node]), node))
            homes[seat.number] = home
            taken[home] += 1
            if len(machine.nodes) > 1:
                notes.append(f"{seat}: no source knows its node, {node_words(home)} is taken as it has most room")
    return homes


def _spare(
    machine: Machine, able: Mapping[int, Sequence[FreeCore]], counts: Mapping[int, int]
) -> dict[int, list[list[FreeCore]]]:
    """Home node → cores of nodes in the same package without a device, dealt among its devices."""
    used = sorted(counts)
    pooled: dict[int, list[FreeCore]] = {}
    for node, cores in able.items():
        beside = by_distance(machine, node, [home for home in used if _same_package(machine, node, home)])
        if node not in counts and beside:
            nearest = min(beside, key=lambda home: (len(pooled.get(home, ())), beside.index(home)))
            pooled.setdefault(nearest, []).extend(cores)
    return {home: dealt_cores(cores, counts[home]) for home, cores in pooled.items()}


def _same_package(machine: Machine, one: int, other: int) -> bool:
    first, second = machine.node(one), machine.node(other)
    return first is not None and second is not None and bool(set(first.packages) & set(second.packages))


def dealt_cores(cores: Sequence[FreeCore], shares: int) -> list[list[FreeCore]]:
    """The cores in so many shares: whole caches where that is nearly even, else equal runs of neighbours."""
    if shares < 1:
        return []
    groups = by_group(cores)
    if len(groups) >= shares and len(groups) > 1:
        whole: list[list[FreeCore]] = []
        for at in range(shares):
            each, more = divmod(len(groups), shares)
            start = at * each + min(at, more)
            whole.append([core for group in groups[start : start + each + (at < more)] for core in group])
        if min(map(len, whole)) >= _LEAST_WHOLE * (len(cores) // shares):
            return whole
    each, more = divmod(len(cores), shares)
    starts = [at * each + min(at, more) for at in range(shares + 1)]
    return [list(cores[start:end]) for start, end in pairwise(starts)]
