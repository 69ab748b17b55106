"""Old sets given back: each thread its own, if it is still that thread and still has the set that we wrote."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, CpuSet
from numascope.errors import InputError
from numascope.host.here import online_cpus
from numascope.host.root import AbsentError
from numascope.review.change import Thread, Undone
from numascope.steer import records
from numascope.steer.apply import Hand
from numascope.steer.inherit import Old, Ward, find_heirs
from numascope.steer.journal import Entry, OpenEntry
from numascope.steer.setting import Done, Face, Faces, Order, set_thread

_MOST_PASSES: Final = 20
_BETWEEN_S: Final = 0.003


class _Step(NamedTuple):
    """A thread that is to be set, with its undo record."""

    undone: Undone
    intent: records.Intent
    order: Order


class _Limits(NamedTuple):
    """What a process may use now, and what is online."""

    process: CpuSet
    online: CpuSet


def plan_revert(entry: Entry, hand: Hand, *, force: bool = False) -> tuple[Undone, ...]:
    """What a revert would do, thread by thread (`set` where it would set); nothing is written."""
    reversal = _Reversal(entry, hand, force=force)
    with Faces(hand.root) as faces:
        steps = reversal.steps([*reversal.recorded(), *reversal.heirs(faces)], faces)
    return tuple(one.undone if isinstance(one, _Step) else one for one in steps)


def revert_entry(entry: Entry, into: OpenEntry, hand: Hand, *, force: bool = False) -> tuple[Undone, ...]:
    """Puts back what is still as it was written, and journals that itself; run again it goes on where it was interrupted."""
    reversal = _Reversal(entry, hand, force=force)
    with Faces(hand.root) as faces:
        found = reversal.do([*reversal.recorded(), *reversal.heirs(faces)], into, faces)
    if not found:
        return ()
    for _ in range(_MOST_PASSES):
        # Whoever was created by a thread that had its new set still, while others were put back.
        time.sleep(_BETWEEN_S)
        with Faces(hand.root) as faces:
            try:
                late = reversal.do(reversal.heirs(faces), into, faces)
            except InputError as error:
                found[-1] = replace(found[-1], why=f"{found[-1].why} stopped: {error}".strip())
                break
        if not late:
            break
        found += late
    return tuple(found)


class _Reversal:
    """One entry being put back."""

    def __init__(self, entry: Entry, hand: Hand, *, force: bool) -> None:
        self.entry = entry
        self.hand = hand
        self.force = force
        self.online = online_cpus(hand.root)
        self.limits: dict[int, _Limits] = {}
        self.met: set[Thread] = set()

    def recorded(self) -> list[Ward]:
        """The threads that the entry names and that are not back yet."""
        return [Ward.of(one) for one in self.entry.changes if one.is_open]

    def heirs(self, faces: Faces) -> list[Ward]:
        """Those who inherited a new set and were not looked at yet."""
        found = find_heirs(self.entry, self.hand.root, self.hand.kernel, faces)
        return [one for one in found if one.thread not in self.met]

    def do(self, wards: list[Ward], into: OpenEntry, faces: Faces) -> list[Undone]:
        """Records on the disk, then thread by thread."""
        steps = self.steps(wards, faces)
        due = [one for one in steps if isinstance(one, _Step)]
        if due:
            into.intend([one.intent for one in due])
        elif wards:
            into.begin()
        found = [
            _with(one.undone, set_thread(faces, one.order, self.hand.kernel)) if isinstance(one, _Step) else one
            for one in steps
        ]
        note = into.record([_written(one) for one in found])
        return found if note is None else [replace(one, why=f"{one.why} {note}".strip()) for one in found]

    def steps(self, wards: Iterable[Ward], faces: Faces) -> list[_Step | Undone]:
        """What is to be done with each."""
        found = []
        for ward in wards:
            self.met.add(ward.thread)
            found.append(self.step(ward, faces))
        return found

    def step(self, ward: Ward, faces: Faces) -> _Step | Undone:
        pid, tid, starttime_ticks = ward.thread
        try:
            files = faces.files(pid)
            who = files.identity(tid)
            if who is None or who.starttime_ticks != starttime_ticks or who.state in "ZX":
                return _undone(ward, None, Done("gone", None))
            mask = files.allowed_mask(tid)
            seen = self.hand.kernel.get_affinity(tid)
        except AbsentError:
            return _undone(ward, None, Done("gone", None))
        except OSError as error:
            return _undone(ward, None, Done("refused", None, f"its mask cannot be read: {error.strerror}"))
        if mask is None:
            return _undone(ward, seen, Done("refused", seen, "its status names no Cpus_allowed"))
        if ward.old is None:
            why = "born later, and the threads of its process had several old sets: which is its own is not known"
            return _undone(ward, seen, Done("changed", seen, why))
        return self.order(ward, ward.old, Face(ward.thread, who.comm), mask, seen)

    def order(self, ward: Ward, old: Old, face: Face, mask: CpuSet, seen: CpuSet) -> _Step | Undone:
        limits = self.limits_of(ward.thread.pid)
        if not ward.has(mask, limits.process):
            if mask == old.before or (old.was_cpuset and limits.process <= mask):
                return _undone(ward, seen, Done("already", seen))
            if not self.force:
                return _undone(ward, seen, Done("changed", seen, _changed(ward, mask)))
        if not old.before & limits.online and not old.was_cpuset:
            why = f"no CPU of {old.before} is online: it stays in the journal, revert again once one is"
            return _undone(ward, seen, Done("pending", seen, why))
        expected = limits.process if old.was_cpuset else old.before & limits.process
        if not expected:
            why = f"no CPU of {old.before} is in its cpuset: it stays in the journal, revert again once one is"
            return _undone(ward, seen, Done("pending", seen, why))
        written = self.hand.undo_mask(old.before, was_cpuset=old.was_cpuset)
        is_cpuset = limits.process <= mask
        intent = records.Intent(
            pid=ward.thread.pid,
            tid=ward.thread.tid,
            starttime=ward.thread.starttime_ticks,
            process_starttime=ward.process_starttime,
            comm=face.comm or "",
            label=ward.label,
            rank=ward.rank,
            role=ward.role,
            before=records.hex_mask(mask),
            before_was_cpuset=is_cpuset,
            after=records.hex_mask(written),
        )
        order = Order(face, seen, self.hand.undo_mask(mask, was_cpuset=is_cpuset), written, expected)
        return _Step(_undone(ward, seen, Done("set", None)), intent, order)

    def limits_of(self, pid: int) -> _Limits:
        if pid not in self.limits:
            self.limits[pid] = _Limits(self.hand.limit(pid), self.online)
        return self.limits[pid]


def _changed(ward: Ward, mask: CpuSet) -> str:
    """Who set it since, as far as the journal knows, and what to do."""
    if ward.set_again_by is None:
        return f"somebody set it to {mask} since: --force overrides"
    return f"entry {ward.set_again_by} set it since: revert {ward.set_again_by} first, or --force overrides"


def _undone(ward: Ward, now: CpuSet | None, done: Done) -> Undone:
    old = ward.old
    return Undone(
        thread=ward.thread,
        label=ward.label,
        rank=ward.rank,
        role=ward.role,
        now=now,
        back=None if old is None else old.before,
        was_cpuset=old is not None and old.was_cpuset,
        inherited=ward.inherited,
        outcome=done.outcome,
        read_back=done.read_back,
        why=done.why,
    )


def _with(undone: Undone, done: Done) -> Undone:
    return replace(undone, outcome=done.outcome, read_back=done.read_back, why=done.why)


def _written(one: Undone) -> records.Done:
    read_back = None if one.read_back is None else records.hex_mask(one.read_back or EMPTY)
    return records.Done(*one.thread, one.outcome, read_back, one.why)
