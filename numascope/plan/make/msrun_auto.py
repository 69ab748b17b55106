"""What msrun computes for `--bind_core=True` and `--bind_numa=True` on a machine (mindspore/parallel/cluster/process_entity/_bind.py, runtime/thread_bind_core.py of 2.10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.plan.make.lscpu import unread_nodes
from numascope.plan.make.made import NoPlanError
from numascope.plan.make.msrun import chunks
from numascope.plan.make.seats import Seat


def auto_cores(
    machine: Machine, allowed: CpuSet, seats: Sequence[Seat], workers: int, visible: Sequence[int] | None = None
) -> dict[int, CpuSet]:
    """Device of a worker → CPUs: an equal share of its node, counted by all devices; without their nodes equal runs of all CPUs.

    `visible` is the sorted ASCEND_RT_VISIBLE_DEVICES, by which worker i has the i-th of these devices, and else device i.
    Empty where there are fewer CPUs than devices, or than workers where no device is seen: nobody is bound. NoPlanError
    where msrun itself ends, which it does where the node of some devices is known and that of others is not.
    """
    cpus = tuple(allowed & machine.cpus.online)
    each = len(cpus) // (len(seats) or workers)
    if each < 1:
        return {}
    if not seats:
        ends = [*(at * each for at in range(workers)), len(cpus)]
        runs = {worker: cpus[ends[worker] : ends[worker + 1]] for worker in range(workers)}
        return {device: CpuSet.of(runs[device]) for device in _devices(workers, visible) if device in runs}
    nodes = {seat.number: seat.node for seat in seats if seat.node is not None}
    if not nodes or unread_nodes(machine):
        shares = {seat.number: cpus[at * each : (at + 1) * each] for at, seat in enumerate(seats)}
    else:
        lost = next((seat for seat in seats if seat.number not in nodes), None)
        shares = chunks(machine, seats, nodes, cpus) if lost is None else {}
        if not shares:
            whose = "a device" if lost is None else str(lost)
            raise NoPlanError(f"msrun --bind_core=True ends with KeyError here: it finds no node with CPUs for {whose}")
    return {device: CpuSet.of(shares[device]) for device in _devices(workers, visible) if device in shares}


def _devices(workers: int, visible: Sequence[int] | None) -> Sequence[int]:
    """The devices of the local workers."""
    return range(workers) if visible is None else visible[:workers]


def auto_nodes(
    machine: Machine, seats: Sequence[Seat], workers: int, visible: Sequence[int] | None = None
) -> dict[int, CpuSet]:
    """Device of a worker → node: the first near a node keeps it, the others draw from nodes that no device is near.

    Empty where there are fewer nodes than workers. NoPlanError where the draw runs dry, for a device that no worker has too:
    that ends msrun itself.
    """
    able = [node.id for node in machine.nodes if node.cpus and node.memory_kib != 0]
    if len(able) < workers:
        return {}
    near = {seat.number: seat.node for seat in seats if seat.node is not None}
    if near:
        found = _near_nodes(near, able)
    else:
        numbers = [seat.number for seat in seats] or range(workers)
        found = {number: able[at % len(able)] for at, number in enumerate(numbers)}
    return {device: CpuSet.of([found[device]]) for device in _devices(workers, visible) if device in found}


def _near_nodes(near: Mapping[int, int], able: Sequence[int]) -> dict[int, int]:
    spare = iter([node for node in able if node not in near.values()])
    found: dict[int, int] = {}
    for number, home in near.items():
        node = home if home in able and home not in found.values() else next(spare, None)
        if node is None:
            raise NoPlanError(
                f"msrun --bind_numa=True ends with StopIteration here: no node is left for device {number},"
                " as all others are near a device"
            )
        found[number] = node
    return found
