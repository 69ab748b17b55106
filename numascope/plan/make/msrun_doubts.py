"""The known defects of what MindSpore's generator makes, as far as they show on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from numascope.cpuset import EMPTY, CpuSet, union
from numascope.machine.objects import Machine
from numascope.plan.make.lscpu import unread_nodes
from numascope.plan.make.made import Share
from numascope.plan.make.near import distance_words


def doubts_of(machine: Machine, shares: Sequence[Share], slices: Mapping[int, CpuSet], scheduler: CpuSet) -> list[str]:
    """One sentence for each kind of defect, naming devices and CPUs; `slices` are the whole lists that positions count in."""
    return [
        *_unreadable(machine),
        *_far(machine, shares),
        *_spilled(machine, shares),
        *_overlaps(shares),
        *_scheduler(slices, shares, scheduler),
        *_split_cores(machine, shares),
        *_idle(shares, slices),
        *_isolated(machine, shares),
    ]


def _unreadable(machine: Machine) -> Iterator[str]:
    """It reads lscpu's lists of a node, and takes each piece to be a range."""
    odd = unread_nodes(machine)
    if odd:
        yield f"gen_bind_json.py and msrun themselves fail here: they cannot read lscpu's CPUs of node {odd}"


def _far(machine: Machine, shares: Sequence[Share]) -> Iterator[str]:
    for share in shares:
        node = share.memory.first if share.memory else None
        if share.seat.node is not None and node is not None and node != share.seat.node:
            words = distance_words(machine, share.seat.node, node)
            yield f"{share.seat} is near node {share.seat.node} and gets node {node}{words}"


def _spilled(machine: Machine, shares: Sequence[Share]) -> Iterator[str]:
    for share in shares:
        outside = CpuSet.of(cpu for cpu in share.cpus if share.memory and machine.node_of.get(cpu) not in share.memory)
        if outside:
            yield f"device {share.seat.number}: memory is bound to node {share.memory}, CPUs {outside} are on another"


def _overlaps(shares: Sequence[Share]) -> Iterator[str]:
    for share in shares:
        for at, one in enumerate(share.roles):
            for other in share.roles[at + 1 :]:
                if one.cpus & other.cpus:
                    yield f"device {share.seat.number}: {one.role} and {other.role} share CPUs {one.cpus & other.cpus}"


def _scheduler(slices: Mapping[int, CpuSet], shares: Sequence[Share], scheduler: CpuSet) -> Iterator[str]:
    for share in shares:
        number = share.seat.number
        for one in share.roles:
            if one.cpus & scheduler:
                yield f"the scheduler's CPUs {one.cpus & scheduler} are {one.role} of device {number} too"
        if slices[number] & scheduler and not share.cpus & scheduler:
            yield f"the scheduler's CPUs {slices[number] & scheduler} lie in the slice of device {number}, in no role"


def _split_cores(machine: Machine, shares: Sequence[Share]) -> Iterator[str]:
    """Both threads of a core do each other's work slower, whoever has them."""
    owner: dict[int, tuple[int, str]] = {}
    for share in shares:
        for one in share.roles:
            for cpu in one.cpus:
                owner.setdefault(cpu, (share.seat.number, one.role))
    split = [core.cpus for core in machine.cores if len({owner[cpu] for cpu in core.cpus if cpu in owner}) > 1]
    if split:
        first = ",".join(str(one) for one in split[:3])
        yield f"{len(split)} cores are split between two roles or devices, such as {first}"


def _idle(shares: Sequence[Share], slices: Mapping[int, CpuSet]) -> Iterator[str]:
    planned = union(share.cpus for share in shares)
    idle = union(slices.values()) - planned
    if idle:
        yield f"{len(idle)} CPUs of the devices' slices are in no role: {idle}"


def _isolated(machine: Machine, shares: Sequence[Share]) -> Iterator[str]:
    away = union(share.cpus for share in shares) & (machine.cpus.isolated | machine.cpus.partitioned or EMPTY)
    if away:
        yield f"CPUs {away} are isolated: the kernel balances no threads on them"
