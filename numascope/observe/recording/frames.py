"""Frames to bytes: a sample whole, or only what changed since the one before. Pure.

A set of CPUs stands once in a table of its frame, in hexadecimal, and is referred to by its number. The rows of a delta are
those that changed, its counters differences: a frame costs what happened in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from numascope.host.parse_stat import CpuTicks
from numascope.observe.recording import wire, wire_memory
from numascope.observe.recording.columns import moved
from numascope.observe.recording.encode_threads import OtherOrderError, encode_row_changes, encode_rows
from numascope.observe.recording.memory import memory_rows
from numascope.observe.sample import NodeCounters, ProcessFacts, Sample
from numascope.observe.strangers import Stranger

_ENCODER: Final = msgspec.msgpack.Encoder()


class Frame(NamedTuple):
    """One step of a recording; `machine`, a capture archive, comes with the first frame and whenever the machine changed."""

    sample: Sample
    strangers: tuple[Stranger, ...]
    machine: bytes | None


def encode_key(sample: Sample, strangers: Sequence[Stranger]) -> bytes:
    """The payload of a keyframe; OverflowError where a number has more than 64 bits."""
    threads = sample.threads
    return _ENCODER.encode(
        wire.Key(
            moment=_moment(sample, None),
            rows=encode_rows(threads, range(len(threads.keys)), sample.number),
            facts=[_facts(one) for one in sample.processes.values()],
            cpus=_counters({}, _of_cpus(sample.cpu_ticks)),
            nodes=_counters({}, of_nodes(sample.nodes)),
            strangers=_strangers(strangers),
            asides=_asides(sample, None),
        )
    )


def encode_delta(
    sample: Sample, strangers: Sequence[Stranger], before: Sample, strangers_before: Sequence[Stranger]
) -> bytes | None:
    """The payload of a delta against the frame before; None where only a keyframe can say it (rows in another order)."""
    try:
        rows = encode_row_changes(before, sample)
        return _ENCODER.encode(
            wire.Delta(
                moment=_moment(sample, before),
                rows=rows,
                facts=_fact_changes(before.processes, sample.processes),
                cpus=_counter_changes(_of_cpus(before.cpu_ticks), _of_cpus(sample.cpu_ticks)),
                nodes=_counter_changes(of_nodes(before.nodes), of_nodes(sample.nodes)),
                strangers=None if tuple(strangers) == tuple(strangers_before) else _strangers(strangers),
                asides=_asides(sample, before),
            )
        )
    except (OtherOrderError, OverflowError):
        return None


def _moment(sample: Sample, before: Sample | None) -> wire.Moment:
    return wire.Moment(
        number=sample.number,
        monotonic_ns=sample.monotonic_ns,
        wall_s=sample.wall_s,
        vanished=sample.vanished,
        ended=sample.ended,
        cost_ns=sample.cost_ns,
        own_ns=sample.own_ns,
        denied=None if before is not None and before.denied == sample.denied else list(sample.denied),
        notes=None if before is not None and before.notes == sample.notes else list(sample.notes),
    )


# Processes, CPUs, nodes, strangers


def _facts(process: ProcessFacts) -> wire.Facts:
    return wire.Facts(
        pid=process.pid,
        ppid=process.ppid,
        starttime_ticks=process.starttime_ticks,
        sid=process.sid,
        comm=process.comm,
        cmdline=list(process.cmdline),
        environ=None if process.environ is None else dict(process.environ),
        uid=process.uid,
        threads=process.threads,
        cpuset=None if process.cpuset is None else f"{process.cpuset.bits:x}",
        policy=process.policy,
        policy_denied=process.policy_denied,
        started_s=process.started_s,
        libraries=list(process.libraries),
        start_stack=process.start_stack,
        mems_allowed=None if process.mems_allowed is None else f"{process.mems_allowed.bits:x}",
        cgroup=process.cgroup,
        inner_pid=process.inner_pid,
        devices_held=None if process.devices_held is None else list(process.devices_held),
    )


def _fact_changes(before: Mapping[int, ProcessFacts], after: Mapping[int, ProcessFacts]) -> wire.FactChanges | None:
    if before is after:
        return None
    gone = [pid for pid in before if pid not in after]
    changed = [one for pid, one in after.items() if (old := before.get(pid)) is not one and (old is None or old != one)]
    return wire.FactChanges(gone, [_facts(one) for one in changed]) if gone or changed else None


_Counters = Mapping[int, tuple[int | None, ...]]


def _of_cpus(ticks: Mapping[int, CpuTicks]) -> _Counters:
    return {cpu: tuple(one) for cpu, one in ticks.items()}


def of_nodes(nodes: Mapping[int, NodeCounters]) -> _Counters:
    """Node → its counters, in the order in which a frame has them."""
    return {
        node: (one.free_kib, one.hit, one.miss, one.foreign, one.other_node, one.cache_kib)
        for node, one in nodes.items()
    }


_UNKNOWN: Final = (None,) * 6


def _counters(before: _Counters, after: _Counters) -> wire.Counters:
    """All counters, from 0 where the ids are not those of before."""
    same = list(before) == list(after)
    width = max(map(len, after.values()), default=2)
    olds = [before[one] if same else _UNKNOWN for one in after]
    moves = [moved([old[at] for old in olds], [new[at] for new in after.values()]) for at in range(width)]
    return wire.Counters(None if same and before else list(after), moves)


def _counter_changes(before: _Counters, after: _Counters) -> wire.Counters | None:
    return None if before == after and list(before) == list(after) else _counters(before, after)


def _strangers(strangers: Sequence[Stranger]) -> list[wire.StrangerRow]:
    return [wire.StrangerRow(*one) for one in strangers]


def _asides(sample: Sample, before: Sample | None) -> wire.Asides:
    """All of it without a frame before, else what changed."""
    cgroups, unseen, clocks, interrupts = sample.cgroups, sample.unseen_ns, sample.clocks_khz, sample.interrupts
    known: Mapping[int, int] = {} if before is None else before.clocks_khz
    moves: dict[int, int | None] = {cpu: khz for cpu, khz in clocks.items() if known.get(cpu) != khz}
    moves.update((cpu, None) for cpu in known if cpu not in clocks)
    return wire.Asides(
        cgroups=None
        if before is not None and before.cgroups == cgroups
        else [wire.CgroupRow(name, *load) for name, load in cgroups.items()],
        unseen_ns=None if before is not None and before.unseen_ns == unseen else dict(unseen),
        clocks_khz=moves or None,
        interrupts=None
        if before is not None and before.interrupts == interrupts
        else [wire.InterruptRow(*one) for one in interrupts],
        memory=memory_rows({} if before is None else before.memory, sample.memory) or None,
        balancing=None
        if before is not None and before.balancing == sample.balancing
        else wire_memory.BalancingRow(*sample.balancing),
    )
