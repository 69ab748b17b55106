"""Which cores each device may have: its own node dealt among its devices, then nodes that no device is near."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.plan.make.even import dealt_cores
from numascope.plan.make.made import NoPlanError
from numascope.plan.make.near import NO_NODE, by_distance, distance_words, node_words
from numascope.plan.make.room import FreeCore, Room
from numascope.plan.make.seats import Seat, seats_words

_ENOUGH: Final = 12
"""Cores of a device with which it leaves the other packages alone: actors, main and data loading each have some."""

_Able = Mapping[int, Sequence[FreeCore]]


class Lot(NamedTuple):
    """A device's cores: those of its home node, and those of nodes that no device is near."""

    seat: Seat
    home: int
    near: tuple[FreeCore, ...]
    spare: tuple[FreeCore, ...]


def lots_of(machine: Machine, room: Room, seats: Sequence[Seat], notes: list[str], *, far: bool) -> list[Lot]:
    """A lot for each device, none with a core of another; NoPlanError where no CPU may be planned at all.

    `far` takes cores of packages without a device, too, where those near the devices are few.
    """
    able = {node: cores for node, cores in room.free.items() if cores}
    if not able:
        raise NoPlanError("no core is left to plan: every allowed CPU is isolated, busy, reserved or offline")
    homes = _homes(machine, able, seats, notes)
    counts = Counter(homes.values())
    near = {node: dealt_cores(cores, counts[node]) for node, cores in able.items()}
    pooled = _pooled_beside(machine, able, counts)
    if far:
        _pool_far(machine, able, counts, pooled, notes)
    spare = {home: dealt_cores(_cores_of(able, nodes), counts[home]) for home, nodes in pooled.items()}
    lots, taken = [], dict.fromkeys(able, 0)
    for seat in seats:
        home = homes[seat.number]
        at = taken[home]
        taken[home] += 1
        lots.append(Lot(seat, home, tuple(near[home][at]), tuple(spare[home][at]) if home in spare else ()))
    _refuse_empty(lots, able)
    return lots


def _refuse_empty(lots: Sequence[Lot], able: _Able) -> None:
    for lot in lots:
        if not lot.near and not lot.spare:
            cores = sum(map(len, able.values()))
            raise NoPlanError(
                f"{lot.seat} gets no core of its own: {cores} may be planned, for {len(lots)} devices;"
                " plan fewer ranks, allow more CPUs, or let ranks share cores with --policy exclusive"
            )


def _homes(machine: Machine, able: _Able, seats: Sequence[Seat], notes: list[str]) -> dict[int, int]:
    """Device → the node of its cores: its own, else the nearest with a core left; of an unknown one, where fewest share."""
    homes: dict[int, int] = {}
    taken: Counter[int] = Counter()
    away: dict[tuple[int, int], list[Seat]] = {}
    orders = {node: by_distance(machine, node, able) for node in {seat.node for seat in seats} if node is not None}
    for seat in seats:
        if seat.node is None:
            continue
        order = orders[seat.node]
        home = next((node for node in order if taken[node] < len(able[node])), order[0])
        homes[seat.number] = home
        taken[home] += 1
        if home != seat.node:
            away.setdefault((seat.node, home), []).append(seat)
    for (node, home), moved in away.items():
        left = " left" if node in able else ""
        next_words = "CPUs of no node are next" if home == NO_NODE else f"{node_words(home)} is next"
        far = distance_words(machine, node, home)
        notes.append(f"{seats_words(moved)}: {node_words(node)} has no core{left} to plan, {next_words}{far}")
    strays = [seat for seat in seats if seat.node is None]
    homes |= _stray_homes(able, strays, taken)
    if strays and len(machine.nodes) > 1:
        nodes = sorted({homes[seat.number] for seat in strays})
        where = f"{node_words(nodes[0])} is taken" if len(nodes) == 1 else f"nodes {CpuSet.of(nodes)} are dealt out"
        knows = "its node" if len(strays) == 1 else "their nodes"
        notes.append(
            f"{seats_words(strays)}: no source knows {knows}, {where} as there is most room;"
            f" say it with --device {strays[0].number}=node:N"
        )
    return homes


def _stray_homes(able: _Able, strays: Sequence[Seat], taken: Counter[int]) -> dict[int, int]:
    """Neighbours by number on one node, as they mostly sit; each node gets as many as it has most room for."""
    found: Counter[int] = Counter()
    for _ in strays:
        home = min(able, key=lambda node: ((taken[node] + found[node] + 1) / len(able[node]), node))
        found[home] += 1
    order = [node for node in sorted(found) for _ in range(found[node])]
    return {seat.number: node for seat, node in zip(strays, order, strict=True)}


def _pooled_beside(machine: Machine, able: _Able, counts: Mapping[int, int]) -> dict[int, list[int]]:
    """Home node → nodes in the same package without a device, each where the devices have fewest cores."""
    pooled: dict[int, list[int]] = {}
    packages = {node.id: set(node.packages) for node in machine.nodes}
    for node in able:
        if node in counts or node not in packages:
            continue
        same = [home for home in counts if packages.get(home, set()) & packages[node]]
        beside = by_distance(machine, node, same)
        if beside:
            poorest = min(beside, key=lambda home: _cores_each(able, counts, pooled, home))
            pooled.setdefault(poorest, []).append(node)
    return pooled


def _pool_far(
    machine: Machine, able: _Able, counts: Mapping[int, int], pooled: dict[int, list[int]], notes: list[str]
) -> None:
    """Gives homes whose devices have few cores, and none beside, the nearest other package without a device, node by node."""
    free = [node for node in able if node not in counts and not any(node in nodes for nodes in pooled.values())]
    wanting = [home for home in counts if home not in pooled]
    while wanting:
        home = min(wanting, key=lambda home: _cores_each(able, counts, pooled, home))
        nodes = [node for node in free if home not in pooled or _same_package(machine, node, pooled[home][0])]
        if _cores_each(able, counts, pooled, home) >= _ENOUGH or not nodes:
            wanting.remove(home)
            continue
        node = by_distance(machine, home, nodes)[0]
        free.remove(node)
        pooled.setdefault(home, []).append(node)
        far = distance_words(machine, home, node)
        notes.append(f"{node_words(node)} is near no device: it loads data for those of {node_words(home)}{far}")


def _cores_of(able: _Able, nodes: Sequence[int]) -> list[FreeCore]:
    return [core for node in nodes for core in able[node]]


def _cores_each(able: _Able, counts: Mapping[int, int], pooled: Mapping[int, Sequence[int]], home: int) -> float:
    return len(_cores_of(able, (home, *pooled.get(home, ())))) / counts[home]


def _same_package(machine: Machine, one: int, other: int) -> bool:
    first, second = machine.node(one), machine.node(other)
    return first is not None and second is not None and bool(set(first.packages) & set(second.packages))
