"""The thread columns to what stands for them in a frame. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numascope.cpuset import CpuSet
from numascope.host.parse_sched import SchedCounters, Scheduling
from numascope.observe.recording import wire
from numascope.observe.recording.columns import changed_rows, differences, moved, spliced
from numascope.observe.sample import Sample, Threads


class OtherOrderError(Exception):
    """The rows that both samples have stand in another order."""


def packed_scheduling(one: Scheduling) -> str:
    """Policy, real-time priority and nice value with blanks between them."""
    return f"{one.policy} {one.rt_priority} {one.nice}"


def spread(counters: Sequence[SchedCounters], slices: Sequence[int | None]) -> list[list[int | None]]:
    """Of each row: slices that no switch ended, involuntary switches, NUMA faults, pages moved, and the preferred node plus one.

    A thread is switched out once for each slice, so the first is nearly always 0 or 1, and voluntary switches follow from it.
    """
    return [
        [None if one.voluntary is None else unended(one, count) for one, count in zip(counters, slices, strict=True)],
        [one.involuntary for one in counters],
        [one.numa_faults for one in counters],
        [one.numa_pages_moved for one in counters],
        [None if one.preferred_node is None else one.preferred_node + 1 for one in counters],
    ]


def unended(one: SchedCounters, slices: int | None) -> int:
    """Slices less switches, what is unknown taken as 0, in the signed 64 bits that the kernel itself counts in."""
    return ((slices or 0) - (one.voluntary or 0) - (one.involuntary or 0) + (1 << 63)) % (1 << 64) - (1 << 63)


def numbered(allowed: Sequence[CpuSet | None]) -> tuple[list[int | None], list[str]]:
    """The number of each set, and the table of the sets."""
    numbers: dict[CpuSet, int] = {}
    found = [None if cpus is None else numbers.setdefault(cpus, len(numbers)) for cpus in allowed]
    return found, [f"{cpus.bits:x}" for cpus in numbers]


def encode_rows(threads: Threads, rows: Sequence[int], number: int) -> wire.Rows:
    """These rows, whole."""
    keys = [threads.keys[row] for row in rows]
    texts: dict[str, int] = {}
    allowed, masks = numbered([threads.allowed[row] for row in rows])
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
        scheduling=[texts.setdefault(packed_scheduling(threads.scheduling[row]), len(texts)) for row in rows],
        counters=spread([threads.counters[row] for row in rows], [threads.slices[row] for row in rows]),
        seen=[number - threads.seen[row] for row in rows],
        texts=list(texts),
        masks=masks,
    )


def encode_row_changes(before: Sample, sample: Sample) -> wire.RowChanges | None:
    """How the columns changed between two samples, None where nothing did; OtherOrderError."""
    old, new = before.threads, sample.threads
    if old is new:
        return None
    gone: list[int] = []
    born: list[int] = []
    if old.keys is not new.keys and old.keys != new.keys:
        gone = [row for row, key in enumerate(old.keys) if key not in new.row_of]
        born = [row for row, key in enumerate(new.keys) if key not in old.row_of]
        if tuple(spliced(old.keys, gone, born, [new.keys[row] for row in born])) != new.keys:
            raise OtherOrderError
    splice = _Splice(gone, born)
    return wire.RowChanges(
        gone=differences(gone),
        born_at=differences(born),
        born=encode_rows(new, born, sample.number) if born else None,
        comms=splice.renamed(old.comms, new.comms),
        states=splice.renamed(old.states, new.states),
        allowed=splice.rebound(old.allowed, new.allowed),
        cpus=splice.counted(old.cpus, new.cpus),
        run_ns=splice.counted(old.run_ns, new.run_ns),
        wait_ns=splice.counted(old.wait_ns, new.wait_ns),
        slices=splice.counted(old.slices, new.slices),
        migrations=splice.counted(old.migrations, new.migrations),
        scheduling=splice.rescheduled(old.scheduling, new.scheduling),
        counters=splice.spread(old, new),
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

    def rescheduled(self, old: Sequence[Scheduling], new: Sequence[Scheduling]) -> wire.Renamed | None:
        rows = changed_rows(spliced(old, self.gone, self.born, [new[row] for row in self.born]), new)
        return wire.Renamed(differences(rows), [packed_scheduling(new[row]) for row in rows]) if rows else None

    def spread(self, old: Threads, new: Threads) -> wire.Spread | None:
        base = spliced(old.counters, self.gone, self.born, [new.counters[row] for row in self.born])
        rows = changed_rows(base, new.counters)
        if not rows:
            return None
        slices = spliced(old.slices, self.gone, self.born, [new.slices[row] for row in self.born])
        then = spread([base[row] for row in rows], [slices[row] for row in rows])
        now = spread([new.counters[row] for row in rows], [new.slices[row] for row in rows])
        return wire.Spread(differences(rows), [moved(*pair) for pair in zip(then, now, strict=True)])

    def rebound(self, old: Sequence[CpuSet | None], new: Sequence[CpuSet | None]) -> wire.Rebound | None:
        rows = changed_rows(spliced(old, self.gone, self.born, [new[row] for row in self.born]), new)
        return wire.Rebound(differences(rows), *numbered([new[row] for row in rows])) if rows else None
