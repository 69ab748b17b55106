"""What MindSpore's own generator makes (`gen_bind_json.py` of its documentation), with its flags, its defaults and its defects named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from numascope.cpuset import EMPTY, CpuSet, union
from numascope.machine.objects import Machine
from numascope.plan.make.made import Made, NoPlanError, RoleCpus, Share
from numascope.plan.make.msrun_doubts import doubts_of
from numascope.plan.make.near import NO_NODE, has_no_nodes
from numascope.plan.make.seats import Seat

SchedulerBase = Literal["free", "global", "device0"]

Slot = tuple[int, int]
"""First and last position in a device's list of CPUs, both included."""


class MsrunWish(NamedTuple):
    """The generator's own options; ranges are positions in each device's list of CPUs."""

    allowed: CpuSet
    seats: tuple[Seat, ...]
    knows_nodes: bool = True
    """False: devices were given by number or count alone, and the generator then asks nobody where they sit."""
    runtime: Slot = (4, 8)
    minddata: Slot = (9, 12)
    main: Slot = (13, 19)
    scheduler: Slot = (20, 23)
    pynative: Slot | None = None
    scheduler_base: SchedulerBase = "free"


def make_msrun(machine: Machine, wish: MsrunWish) -> Made:
    """The plan of the generator; NoPlanError where it ends with an error, in its order of asking."""
    notes: list[str] = []
    cpus = tuple(wish.allowed & machine.cpus.online)
    if not cpus:
        raise NoPlanError("none of the allowed CPUs is online here")
    if has_no_nodes(machine):
        raise NoPlanError("this kernel has no NUMA nodes, and the generator ends without any: take --policy balanced")
    nodes = near_nodes(machine, wish.seats) if wish.knows_nodes else None
    if nodes is None:
        nodes = _nodes_in_order(machine, wish.seats, notes)
        lists = _equal(wish.seats, cpus, last_takes_rest=False)
    else:
        lists = chunks(machine, wish.seats, nodes, cpus)
    lists = lists or _equal(wish.seats, cpus, last_takes_rest=True)
    if not lists:
        raise NoPlanError(f"{len(cpus)} CPUs are allowed, fewer than the {len(wish.seats)} devices")
    shares = tuple(_share(seat, lists[seat.number], nodes[seat.number], wish) for seat in wish.seats)
    scheduler = _scheduler(cpus, lists, wish, notes)
    slices = {number: CpuSet.of(found) for number, found in lists.items()}
    notes += doubts_of(machine, shares, slices, scheduler)
    return Made("msrun", shares, scheduler, tuple(notes))


def near_nodes(machine: Machine, seats: Sequence[Seat]) -> dict[int, int] | None:
    """Device → node: its own for the first that is near it, for each further one the next that no device is near, if any is left.

    None where not one device's node is known: devices and nodes are then paired in order.
    """
    known = {seat.number: seat.node for seat in seats if seat.node is not None}
    if not known:
        return None
    spare = iter([node.id for node in machine.nodes if node.id not in known.values()])
    given: dict[int, int] = {}
    for seat in seats:
        node = known.get(seat.number)
        if node is None:
            node = next(spare, None)
        if node in given.values():
            node = next(spare, node)
        if node is None:
            return None
        given[seat.number] = node
    return given


def chunks(
    machine: Machine, seats: Sequence[Seat], nodes: Mapping[int, int], cpus: Sequence[int]
) -> dict[int, tuple[int, ...]]:
    """Device → the next CPUs of its node, an equal number each, filled up from nodes that no device was given; empty where that cannot be."""
    each = len(cpus) // len(seats)
    if each < 1:
        return {}
    usable = CpuSet.of(cpus)
    lists: dict[int, list[int]] = {node: [] for node in {one.id for one in machine.nodes} & set(nodes.values())}
    for node in machine.nodes:
        lists.setdefault(node.id if node.id in lists else NO_NODE, []).extend(node.cpus & usable)
    found: dict[int, tuple[int, ...]] = {}
    for seat in seats:
        if nodes[seat.number] not in lists:
            return {}
        own = lists[nodes[seat.number]]
        taken, own[:] = own[:each], own[each:]
        pool = lists.get(NO_NODE, [])
        lacking = each - len(taken)
        taken, pool[:] = taken + pool[:lacking], pool[lacking:]
        found[seat.number] = tuple(taken)
    return found


def _nodes_in_order(machine: Machine, seats: Sequence[Seat], notes: list[str]) -> dict[int, int]:
    if len(machine.nodes) < len(seats):
        raise NoPlanError(
            f"no device's node is known, and the generator then wants a node for each of {len(seats)} devices:"
            f" there are {len(machine.nodes)}, name nodes with --device N=node:N"
        )
    notes.append("no device's node was asked: memory nodes and CPUs are given out in order, which may be far from it")
    return {seat.number: node.id for seat, node in zip(seats, machine.nodes, strict=False)}


def _equal(seats: Sequence[Seat], cpus: Sequence[int], *, last_takes_rest: bool) -> dict[int, tuple[int, ...]]:
    """Device → equal consecutive shares of all CPUs; empty where there are fewer CPUs than devices."""
    each = len(cpus) // len(seats)
    if each < 1:
        return {}
    found = {seat.number: tuple(cpus[at * each : (at + 1) * each]) for at, seat in enumerate(seats)}
    if last_takes_rest:
        found[seats[-1].number] = tuple(cpus[(len(seats) - 1) * each :])
    return found


def _share(seat: Seat, cpus: Sequence[int], node: int, wish: MsrunWish) -> Share:
    slots = [("runtime", wish.runtime), ("minddata", wish.minddata), ("main", wish.main)]
    if wish.pynative is not None:
        slots.append(("pynative", wish.pynative))
    roles = tuple(RoleCpus(role, _picked(cpus, slot, role, f"device{seat.number}")) for role, slot in slots)
    return Share(seat, roles, CpuSet.of([node]))


def _picked(cpus: Sequence[int], slot: Slot, role: str, owner: str) -> CpuSet:
    if slot[1] >= len(cpus):
        raise NoPlanError(
            f"{owner} gets {len(cpus)} CPUs, and its {role} is to have those at positions {slot[0]}-{slot[1]}:"
            f" give --{'scheduler' if owner == 'scheduler' else role}-range, fewer devices, or another policy"
        )
    return CpuSet.of(cpus[slot[0] : slot[1] + 1])


def _scheduler(cpus: Sequence[int], lists: Mapping[int, Sequence[int]], wish: MsrunWish, notes: list[str]) -> CpuSet:
    base = cpus
    if wish.scheduler_base == "device0":
        base = lists[wish.seats[0].number]
    elif wish.scheduler_base == "free":
        used = union(CpuSet.of(one) for one in lists.values())
        free = [cpu for cpu in cpus if cpu not in used]
        if len(free) > wish.scheduler[1]:
            base = free
        else:
            notes.append(
                f"{len(free)} CPUs are in no device's slice, too few for the scheduler:"
                " its positions are counted from the first CPU of all"
            )
    return _picked(base, wish.scheduler, "main", "scheduler") if base else EMPTY
