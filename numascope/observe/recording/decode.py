"""Bytes to frames: typed, bounded, and what did not change between two frames stays the very same object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from numascope.host.parse_stat import CpuTicks
from numascope.host.system.cgroup_load import CgroupLoad
from numascope.observe.balancing import Balancing
from numascope.observe.interrupts import Interrupt
from numascope.observe.recording import wire, wire_memory
from numascope.observe.recording.columns import advanced
from numascope.observe.recording.decode_threads import Sets, ThreadDecoder, check, kept, kept_threads
from numascope.observe.recording.format import DamagedError, printable
from numascope.observe.recording.frames import of_nodes
from numascope.observe.recording.memory import seen_memory
from numascope.observe.sample import EMPTY_SAMPLE, NodeCounters, ProcessFacts, Sample, Threads
from numascope.observe.strangers import Stranger

_KEY: Final = msgspec.msgpack.Decoder(wire.Key)
_DELTA: Final = msgspec.msgpack.Decoder(wire.Delta)
_Seen = tuple[Sample, tuple[Stranger, ...]]


class FrameDecoder:
    """Reads the frames of one recording in their order; ValueError, IndexError or msgspec.MsgspecError at one that is damaged."""

    def __init__(self) -> None:
        self._last: _Seen | None = None
        self._sets = Sets()
        self._rows = ThreadDecoder(self._sets)

    def key(self, payload: bytes) -> _Seen:
        """The frame of a keyframe."""
        key = _KEY.decode(payload)
        threads = self._rows.whole(key.rows, key.moment.number)
        facts: Mapping[int, ProcessFacts] = self._facts(key.facts)
        cpus, nodes = _of_cpus(_counted({}, key.cpus)), _of_nodes(_counted({}, key.nodes))
        if self._last is not None:
            old = self._last[0]
            threads = kept_threads(old.threads, threads)
            facts = kept(old.processes, {pid: kept(old.processes.get(pid), one) for pid, one in facts.items()})
            cpus, nodes = kept(old.cpu_ticks, cpus), kept(old.nodes, nodes)
        strangers = _strangers(key.strangers)
        last = None if self._last is None else self._last[0]
        self._last = _sample(key.moment, key.asides, None, last, threads, facts, cpus, nodes), strangers
        return self._last

    def delta(self, payload: bytes) -> _Seen:
        """The frame of a delta."""
        if self._last is None:
            raise DamagedError("what changed stands before any keyframe")
        delta = _DELTA.decode(payload)
        old, strangers = self._last
        threads, facts, cpus, nodes = old.threads, old.processes, old.cpu_ticks, old.nodes
        if delta.rows is not None:
            threads = self._rows.changed(threads, delta.rows, delta.moment.number)
        if delta.facts is not None:
            facts = self._changed_facts(facts, delta.facts)
        if delta.cpus is not None:
            cpus = _of_cpus(_counted(cpus, delta.cpus))
        if delta.nodes is not None:
            nodes = _of_nodes(_counted(of_nodes(nodes), delta.nodes))
        if delta.strangers is not None:
            strangers = _strangers(delta.strangers)
        self._last = _sample(delta.moment, delta.asides, old, old, threads, facts, cpus, nodes), strangers
        return self._last

    # Processes

    def _facts(self, found: Sequence[wire.Facts]) -> dict[int, ProcessFacts]:
        return {
            one.pid: ProcessFacts(
                pid=one.pid,
                ppid=one.ppid,
                starttime_ticks=one.starttime_ticks,
                sid=one.sid,
                comm=printable(one.comm),
                cmdline=tuple(map(printable, one.cmdline)),
                environ=None
                if one.environ is None
                else {printable(name): printable(value) for name, value in one.environ.items()},
                uid=one.uid,
                threads=one.threads,
                cpuset=None if one.cpuset is None else self._sets.of(one.cpuset),
                policy=None if one.policy is None else printable(one.policy),
                policy_denied=one.policy_denied,
                started_s=one.started_s,
                libraries=tuple(map(printable, one.libraries)),
                start_stack=one.start_stack,
                mems_allowed=None if one.mems_allowed is None else self._sets.of(one.mems_allowed),
                cgroup=None if one.cgroup is None else printable(one.cgroup),
                inner_pid=one.inner_pid,
                devices_held=None if one.devices_held is None else tuple(map(printable, one.devices_held)),
            )
            for one in found
        }

    def _changed_facts(self, old: Mapping[int, ProcessFacts], changes: wire.FactChanges) -> Mapping[int, ProcessFacts]:
        gone = set(changes.gone)
        facts = {pid: one for pid, one in old.items() if pid not in gone} | self._facts(changes.changed)
        if len(facts) > wire.MOST_PROCESSES:
            raise DamagedError(f"it has {len(facts)} processes")
        return dict(sorted(facts.items()))


def _counted(before: Mapping[int, tuple[int | None, ...]], counters: wire.Counters) -> dict[int, list[int | None]]:
    """Id → its counters now."""
    ids = list(before) if counters.ids is None else counters.ids
    olds = [before[one] for one in ids] if counters.ids is None else [(None,) * 6] * len(ids)
    width = len(counters.moves)
    if any(len(old) < width for old in olds):
        raise DamagedError("it has counters that nobody keeps")
    columns = [advanced([old[at] for old in olds], moves) for at, moves in enumerate(counters.moves)]
    for column in columns:
        check(column)
    return {one: [column[row] for column in columns] for row, one in enumerate(ids)}


def _of_cpus(counters: Mapping[int, Sequence[int | None]]) -> Mapping[int, CpuTicks]:
    found: dict[int, CpuTicks] = {}
    for cpu, ticks in counters.items():
        known = [one for one in ticks if one is not None]
        if len(known) != 6:
            raise DamagedError("a CPU has not its six ticks")
        found[cpu] = CpuTicks(*known)
    return found


def _of_nodes(counters: Mapping[int, Sequence[int | None]]) -> Mapping[int, NodeCounters]:
    if any(len(one) not in (5, 6) for one in counters.values()):  # five before page cache was kept
        raise DamagedError("a node has not its counters")
    return {node: NodeCounters(*one) for node, one in counters.items()}


def _strangers(rows: Sequence[wire.StrangerRow]) -> tuple[Stranger, ...]:
    return tuple(
        Stranger(one.pid, printable(one.comm), one.cpu, one.busy, one.tid, printable(one.thread), one.is_kernel)
        for one in rows
    )


def _cgroups(rows: Sequence[wire.CgroupRow]) -> Mapping[str, CgroupLoad]:
    return {
        printable(one.name): CgroupLoad(
            one.quota_cpus, printable(one.quota_path), one.periods, one.throttled_periods, one.throttled_us,
            one.cpu_some_us, one.memory_some_us, one.memory_full_us, one.pressure_is_own,
        )
        for one in rows
    }  # fmt: skip


def _interrupts(rows: Sequence[wire.InterruptRow]) -> tuple[Interrupt, ...]:
    return tuple(Interrupt(one.irq, printable(one.name), one.cpu, one.per_s) for one in rows)


def _balancing(row: wire_memory.BalancingRow) -> Balancing:
    return Balancing(
        row.zone_reclaim_mode, row.numa_balancing, row.pte_updates_per_s, row.hint_faults_per_s,
        row.hint_faults_local_per_s, row.pages_migrated_per_s,
    )  # fmt: skip


def _clocks(old: Mapping[int, int], moves: Mapping[int, int | None] | None) -> Mapping[int, int]:
    if not moves:
        return old
    return {cpu: khz for cpu, khz in sorted((dict(old) | dict(moves)).items()) if khz is not None}


def _sample(
    moment: wire.Moment,
    asides: wire.Asides,
    before: Sample | None,
    last: Sample | None,
    threads: Threads,
    facts: Mapping[int, ProcessFacts],
    cpus: Mapping[int, CpuTicks],
    nodes: Mapping[int, NodeCounters],
) -> Sample:
    """`before` is what a delta goes on from, `last` the frame before whatever it is: equal values stay the old objects."""
    base = EMPTY_SAMPLE if before is None else before
    seen = EMPTY_SAMPLE if last is None else last
    cgroups = base.cgroups if asides.cgroups is None else _cgroups(asides.cgroups)
    unseen = base.unseen_ns if asides.unseen_ns is None else asides.unseen_ns
    interrupts = base.interrupts if asides.interrupts is None else _interrupts(asides.interrupts)
    return Sample(
        number=moment.number,
        monotonic_ns=moment.monotonic_ns,
        wall_s=moment.wall_s,
        threads=threads,
        processes=facts,
        cpu_ticks=cpus,
        nodes=nodes,
        cgroups=kept(seen.cgroups, cgroups),
        unseen_ns=kept(seen.unseen_ns, unseen),
        clocks_khz=kept(seen.clocks_khz, _clocks(base.clocks_khz, asides.clocks_khz)),
        interrupts=kept(seen.interrupts, interrupts),
        memory=kept(seen.memory, seen_memory(base.memory, asides.memory)),
        balancing=base.balancing if asides.balancing is None else _balancing(asides.balancing),
        vanished=moment.vanished,
        denied=_texts(moment.denied, () if before is None else before.denied),
        ended=moment.ended,
        cost_ns=moment.cost_ns,
        own_ns=moment.own_ns,
        notes=_texts(moment.notes, () if before is None else before.notes),
    )


def _texts(texts: Sequence[str] | None, before: tuple[str, ...]) -> tuple[str, ...]:
    return before if texts is None else tuple(map(printable, texts))
