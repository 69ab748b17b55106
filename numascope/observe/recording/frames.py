"""Frames to bytes: a sample whole, or only what changed since the one before. Pure.

A set of CPUs stands once in a table of its frame, in hexadecimal, and is referred to by its number. The rows of a delta are
those that changed, its counters differences: a frame costs what happened in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from numascope.cpuset import CpuSet
from numascope.observe.recording import wire
from numascope.observe.recording.columns import changed_rows, differences, moved, spliced
from numascope.observe.sample import CpuTicks, NodeCounters, ProcessFacts, Sample, Threads
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
            rows=_rows(threads, range(len(threads.keys)), sample.number),
            facts=[_facts(one) for one in sample.processes.values()],
            cpus=_counters({}, _of_cpus(sample.cpu_ticks)),
            nodes=_counters({}, _of_nodes(sample.nodes)),
            strangers=_strangers(strangers),
        )
    )


def encode_delta(
    sample: Sample, strangers: Sequence[Stranger], before: Sample, strangers_before: Sequence[Stranger]
) -> bytes | None:
    """The payload of a delta against the frame before; None where only a keyframe can say it (rows in another order)."""
    try:
        rows = _row_changes(before, sample)
        return _ENCODER.encode(
            wire.Delta(
                moment=_moment(sample, before),
                rows=rows,
                facts=_fact_changes(before.processes, sample.processes),
                cpus=_counter_changes(_of_cpus(before.cpu_ticks), _of_cpus(sample.cpu_ticks)),
                nodes=_counter_changes(_of_nodes(before.nodes), _of_nodes(sample.nodes)),
                strangers=None if tuple(strangers) == tuple(strangers_before) else _strangers(strangers),
            )
        )
    except (_OtherOrderError, OverflowError):
        return None


class _OtherOrderError(Exception):
    """The rows that both samples have stand in another order."""


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


# Threads


def _numbered(allowed: Sequence[CpuSet | None]) -> tuple[list[int | None], list[str]]:
    """The number of each set, and the table of the sets."""
    numbers: dict[CpuSet, int] = {}
    found = [None if cpus is None else numbers.setdefault(cpus, len(numbers)) for cpus in allowed]
    return found, [f"{cpus.bits:x}" for cpus in numbers]


def _rows(threads: Threads, rows: Sequence[int], number: int) -> wire.Rows:
    """These rows, whole."""
    keys = [threads.keys[row] for row in rows]
    texts: dict[str, int] = {}
    allowed, masks = _numbered([threads.allowed[row] for row in rows])
    return wire.Rows(
        pids=differences([key.pid for key in keys]),
        tids=differences([key.tid for key in keys]),
        starts=differences([key.starttime_ticks for key in keys]),
        epochs=[key.epoch for key in keys],
        comms=[texts.setdefault(threads.comms[row], len(texts)) for row in rows],
        states=[texts.setdefault(threads.states[row], len(texts)) for row in rows],
        cpus=[threads.cpus[row] for row in rows],
        allowed=allowed,
        run_ns=[threads.run_ns[row] for row in rows],
        wait_ns=[threads.wait_ns[row] for row in rows],
        slices=[threads.slices[row] for row in rows],
        migrations=[threads.migrations[row] for row in rows],
        seen=[number - threads.seen[row] for row in rows],
        texts=list(texts),
        masks=masks,
    )


def _row_changes(before: Sample, sample: Sample) -> wire.RowChanges | None:
    old, new = before.threads, sample.threads
    if old is new:
        return None
    gone: list[int] = []
    born: list[int] = []
    if old.keys is not new.keys and old.keys != new.keys:
        gone = [row for row, key in enumerate(old.keys) if key not in new.row_of]
        born = [row for row, key in enumerate(new.keys) if key not in old.row_of]
        if tuple(spliced(old.keys, gone, born, [new.keys[row] for row in born])) != new.keys:
            raise _OtherOrderError
    splice = _Splice(gone, born)
    return wire.RowChanges(
        gone=differences(gone),
        born_at=differences(born),
        born=_rows(new, born, sample.number) if born else None,
        comms=splice.renamed(old.comms, new.comms),
        states=splice.renamed(old.states, new.states),
        allowed=splice.rebound(old.allowed, new.allowed),
        cpus=splice.counted(old.cpus, new.cpus),
        run_ns=splice.counted(old.run_ns, new.run_ns),
        wait_ns=splice.counted(old.wait_ns, new.wait_ns),
        slices=splice.counted(old.slices, new.slices),
        migrations=splice.counted(old.migrations, new.migrations),
        seen=splice.seen(old.seen, new.seen, sample.number),
    )


class _Splice(NamedTuple):
    """Brings an old column to the rows of the new one, so that the two can be compared; born rows then never differ."""

    gone: list[int]
    born: list[int]

    def counted(self, old: Sequence[int | None], new: Sequence[int | None]) -> wire.Counted | None:
        base = spliced(old, self.gone, self.born, [new[row] for row in self.born])
        rows = changed_rows(base, new)
        if not rows:
            return None
        return wire.Counted(differences(rows), moved([base[row] for row in rows], [new[row] for row in rows]))

    def seen(self, old: Sequence[int], new: Sequence[int], number: int) -> wire.Counted | None:
        """As moves from this sample's number, which is what nearly all changed ones became."""
        rows = changed_rows(spliced(old, self.gone, self.born, [new[row] for row in self.born]), new)
        return wire.Counted(differences(rows), [new[row] - number for row in rows]) if rows else None

    def renamed(self, old: Sequence[str], new: Sequence[str]) -> wire.Renamed | None:
        rows = changed_rows(spliced(old, self.gone, self.born, [new[row] for row in self.born]), new)
        return wire.Renamed(differences(rows), [new[row] for row in rows]) if rows else None

    def rebound(self, old: Sequence[CpuSet | None], new: Sequence[CpuSet | None]) -> wire.Rebound | None:
        rows = changed_rows(spliced(old, self.gone, self.born, [new[row] for row in self.born]), new)
        return wire.Rebound(differences(rows), *_numbered([new[row] for row in rows])) if rows else None


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
    )


def _fact_changes(before: Mapping[int, ProcessFacts], after: Mapping[int, ProcessFacts]) -> wire.FactChanges | None:
    if before is after:
        return None
    gone = [pid for pid in before if pid not in after]
    changed = [one for pid, one in after.items() if (old := before.get(pid)) is not one and (old is None or old != one)]
    return wire.FactChanges(gone, [_facts(one) for one in changed]) if gone or changed else None


_Counters = Mapping[int, tuple[int | None, ...]]


def _of_cpus(ticks: Mapping[int, CpuTicks]) -> _Counters:
    return {cpu: (one.busy, one.total) for cpu, one in ticks.items()}


def _of_nodes(nodes: Mapping[int, NodeCounters]) -> _Counters:
    return {node: (one.free_kib, one.hit, one.miss, one.foreign, one.other_node) for node, one in nodes.items()}


_UNKNOWN: Final = (None,) * 5


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
