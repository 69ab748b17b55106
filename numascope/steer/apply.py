"""Changes done: undo records on the disk first, then thread by thread, each checked before and after and read back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from numascope.cpuset import EMPTY, CpuSet
from numascope.host.here import online_cpus, possible_cpus
from numascope.host.root import AbsentError, HostRoot
from numascope.host.system.cgroups import cpuset_of
from numascope.review.change import Change, Result
from numascope.steer import records
from numascope.steer.journal import OpenEntry
from numascope.steer.setting import Done, Face, Faces, Order, set_thread
from numascope.steer.syscalls import Kernel, LinuxKernel

_MOST_PROCESSES: Final = 128
"""Processes of one batch: each costs a descriptor while the batch is done."""


@dataclass
class Hand:
    """With what the kernel is read and written; `limits` is asked for a process's cpuset."""

    root: HostRoot
    kernel: Kernel = field(default_factory=LinuxKernel)
    _possible: CpuSet | None = field(default=None, init=False)

    def undo_mask(self, mask: CpuSet, *, was_cpuset: bool) -> CpuSet:
        """What gives a thread this mask back; every possible CPU to one that had its whole cpuset, so that it follows it again.

        Given its cpuset's own CPUs by name it would not grow with it (Linux 6.2 and later keep the mask that was asked for).
        """
        if not was_cpuset:
            return mask
        if self._possible is None:
            self._possible = possible_cpus(self.root)  # fixed since boot
        return mask | self._possible

    def limit(self, pid: int) -> CpuSet:
        """The CPUs that a process may use now: online and in its cpuset; only the former where its cpuset cannot be read."""
        online = online_cpus(self.root)
        cpuset = cpuset_of(self.root, pid).cpus
        return online if cpuset is None else online & cpuset


@dataclass(frozen=True, slots=True)
class _Planned:
    """A change with what is written of it and what is to be done."""

    change: Change
    intent: records.Intent
    order: Order


def apply_changes(changes: Sequence[Change], entry: OpenEntry, hand: Hand) -> tuple[Result, ...]:
    """What became of each change; InputError, before anything is changed, where the undo records cannot be written."""
    results: list[Result] = []
    for batch in _batches(changes):
        with Faces(hand.root) as faces:
            results += _apply_batch(batch, entry, hand, faces)
    return tuple(results)


def _batches(changes: Sequence[Change]) -> Iterator[list[Change]]:
    """The changes by process, in batches of so many processes."""
    batch: list[Change] = []
    count = 0
    for _, members in groupby(sorted(changes, key=lambda one: one.key.pid), key=lambda one: one.key.pid):
        if count == _MOST_PROCESSES:
            yield batch
            batch, count = [], 0
        batch.extend(members)
        count += 1
    if batch:
        yield batch


def _apply_batch(batch: Sequence[Change], entry: OpenEntry, hand: Hand, faces: Faces) -> list[Result]:
    limit_of = _limits(hand)
    plans = [_plan(change, limit_of(change.key.pid), hand, faces) for change in batch]
    entry.intend([one.intent for one in plans if isinstance(one, _Planned)])
    results = [
        Result(change, *(_carry_out(one, faces, hand) if isinstance(one, _Planned) else one))
        for change, one in zip(batch, plans, strict=True)
    ]
    note = entry.record([_written(result) for result in results])
    return results if note is None else [_noted(result, note) for result in results]


def _limits(hand: Hand) -> Callable[[int], CpuSet]:
    known: dict[int, CpuSet] = {}

    def limit_of(pid: int) -> CpuSet:
        if pid not in known:
            known[pid] = hand.limit(pid)
        return known[pid]

    return limit_of


def _plan(change: Change, limit: CpuSet, hand: Hand, faces: Faces) -> _Planned | Done:
    """The undo record and the order for one change, or why there is none.

    A main thread may run another program by now, which gets no record. Whoever else is not the same any more is told before
    he is set, when the start time that is found again proves that the mask read here was his.
    """
    thread = change.thread
    face = Face(thread, change.comm, change.process.cmdline, change.process.start_stack)
    doubt = faces.doubt(face) if thread.pid == thread.tid else None
    if doubt is not None:
        return doubt
    try:
        mask = faces.files(thread.pid).allowed_mask(thread.tid)
        seen = hand.kernel.get_affinity(thread.tid)
    except AbsentError:
        return Done("gone", None)
    except OSError as error:
        return Done("refused", None, f"its mask cannot be read: {error.strerror}")
    if mask is None:
        return Done("refused", None, "its status names no Cpus_allowed: no undo record can be made")
    after = change.after & limit if limit else change.after
    if not after:
        return Done("refused", seen, f"no CPU of {change.after} is online and in its cpuset now")
    if seen == after:
        return Done("already", seen)
    if seen != change.before:
        return Done("raced", seen, f"somebody set it to {seen or 'no CPU that is online'} since it was looked at")
    was_cpuset = bool(limit) and limit <= mask
    intent = records.Intent(
        pid=thread.pid,
        tid=thread.tid,
        starttime=thread.starttime_ticks,
        process_starttime=change.process.starttime_ticks,
        comm=change.comm,
        label=change.label,
        rank=change.rank,
        role=change.role,
        before=records.hex_mask(mask),
        before_was_cpuset=was_cpuset,
        after=records.hex_mask(after),
    )
    return _Planned(change, intent, Order(face, seen, hand.undo_mask(mask, was_cpuset=was_cpuset), after, after))


def _carry_out(one: _Planned, faces: Faces, hand: Hand) -> Done:
    """Sets it; a set that was cut before it was written is `trimmed`, like one that the kernel cut."""
    done = set_thread(faces, one.order, hand.kernel)
    if done.outcome != "set" or one.order.after == one.change.after:
        return done
    return Done(
        "trimmed", done.read_back, f"of {one.change.after} only {done.read_back} is online and in its cpuset now"
    )


def _written(result: Result) -> records.Done:
    read_back = None if result.read_back is None else records.hex_mask(result.read_back or EMPTY)
    return records.Done(*result.change.thread, result.outcome, read_back, result.why)


def _noted(result: Result, note: str) -> Result:
    return Result(result.change, result.outcome, result.read_back, f"{result.why}; {note}" if result.why else note)
