"""What msrun computes for `--bind_core=True` and `--bind_numa=True` on a machine (mindspore/parallel/cluster/process_entity/_bind.py)."""

from __future__ import annotations

from collections.abc import Sequence

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.plan.make.made import NoPlanError
from numascope.plan.make.msrun import chunks
from numascope.plan.make.seats import Seat


def auto_cores(machine: Machine, allowed: CpuSet, seats: Sequence[Seat], workers: int) -> dict[int, CpuSet]:
    """Worker → CPUs: an equal share of its device's node, counted by all devices; without their nodes equal runs of all CPUs.

    Empty where there are fewer CPUs than workers: nobody is bound.
    """
    cpus = tuple(allowed & machine.cpus.online)
    nodes = {seat.number: seat.node for seat in seats if seat.node is not None}
    if seats and len(nodes) == len(seats):
        found = chunks(machine, seats, nodes, cpus)
        if found:
            return {number: CpuSet.of(taken) for number, taken in found.items() if number < workers}
    each = len(cpus) // workers if workers > 0 else 0
    if each < 1:
        return {}
    ends = [*(at * each for at in range(workers)), len(cpus)]
    return {worker: CpuSet.of(cpus[ends[worker] : ends[worker + 1]]) for worker in range(workers)}


def auto_nodes(machine: Machine, seats: Sequence[Seat], workers: int) -> dict[int, CpuSet]:
    """Worker → node: the first near a node keeps it, the others draw from nodes that no device is near.

    Empty where there are fewer nodes than workers; NoPlanError where the draw runs dry, which ends msrun itself.
    """
    able = [node.id for node in machine.nodes if node.cpus and node.memory_kib != 0]
    if len(able) < workers:
        return {}
    near = {seat.number: seat.node for seat in seats if seat.node is not None}
    if len(near) < workers:
        return {worker: CpuSet.of(able[worker : worker + 1]) for worker in range(workers)}
    spare = iter([node for node in able if node not in near.values()])
    found: dict[int, CpuSet] = {}
    for worker in range(workers):
        home = near[worker]
        node = home if home in able and CpuSet.of([home]) not in found.values() else next(spare, None)
        if node is None:
            raise NoPlanError(
                f"msrun --bind_numa=True ends with StopIteration here: no node is left for worker {worker},"
                " as all others are near a device"
            )
        found[worker] = CpuSet.of([node])
    return found
