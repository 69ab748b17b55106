"""Thread by thread: evidence extended, verdict judged, rates over the window; a thread that slept keeps its old row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress
from operator import is_not, ne
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.observe.rates import difference
from numascope.observe.roles import Role
from numascope.observe.sample import Sample, ThreadKey, Threads
from numascope.plan.objects import Target
from numascope.review.activity import IDLE, Kept, MaskChange, Spots, activity_between, remembered
from numascope.review.affinity import judge, weigh
from numascope.review.cast import Cast, Part
from numascope.review.evidence import NOTHING, Look, extend, is_contradicted
from numascope.review.pending import Pending
from numascope.review.report import Outside, Placement


class _Ledger(NamedTuple):
    """What is kept of a thread: its evidence, the mask and target it holds for, and the number of its last run seen."""

    outside: Outside
    allowed: CpuSet | None
    target: CpuSet | None
    ran: bool
    kept: Kept
    flips: tuple[int, ...]
    """When its mask was seen to change, or its migrations to contradict it, within the window (ns)."""


_RESTLESS_FLIPS: Final = 2
"""Masks change once when somebody changes them; twice within a window is a thread that is never where it is looked at."""

_NOBODY: Final = Placement(
    key=ThreadKey(0, 0, 0, 0), comm="", label="", role=Role("unnamed", "unknown", ""), rank=None, target=None, allowed=None,
    cpu=None, cpu_stale=False, node=None, state="", verdict="unknown", severity=None, busy=None, wait_ms_per_s=None,
    migrations_per_s=None, outside=NOTHING, reason="", activity=IDLE,
)  # fmt: skip
"""Stands in a row until its thread is placed."""


@dataclass(frozen=True, slots=True)
class Window:
    """The samples that rates are taken between: the oldest of the window, the one before the last, and the last."""

    first: Sample
    before: Sample | None
    now: Sample

    @property
    def interval_s(self) -> float | None:
        """Length of the window; None at the first sample."""
        length = (self.now.monotonic_ns - self.first.monotonic_ns) / 1e9
        return length if length > 0 else None


class Placer:
    """Places every thread of one sample after another; keeps evidence as long as a thread's mask and target stand."""

    def __init__(self, machine: Machine, pending_for_s: float) -> None:
        self.see_machine(machine)
        self._pending = Pending(pending_for_s)
        self._ledgers: dict[ThreadKey, _Ledger] = {}
        self._placements: tuple[Placement, ...] = ()
        self._restless: set[int] = set()
        """Rows that are placed anew each time: what they show is a rate that falls, or a state that ends, by itself."""
        self._cast: Cast | None = None

    def see_machine(self, machine: Machine) -> None:
        """CPUs went or came: from now on it is this machine."""
        self.machine = machine
        self._spots = Spots(machine)

    def place(self, window: Window, cast: Cast) -> tuple[Placement, ...]:
        """The placements of the window's last sample, in its order."""
        keys = window.now.threads.keys
        pending = self._pending.modules(window.now, cast)
        placements = list(self._placements)
        if self._stands(window, cast):
            due = self._due(window)
        else:
            alive = window.now.threads.row_of
            self._ledgers = {key: ledger for key, ledger in self._ledgers.items() if key in alive}
            self._pending.forget(alive)
            self._restless = set()
            placements = [_NOBODY] * len(keys)
            due = list(range(len(keys)))
        for row in due:
            part = cast.parts[row]
            ledger = self._ledgers[keys[row]] = self._ledger(window, row, keys[row], part)
            is_pending = part.target is not None and (part.rank, part.role.name) in pending
            placement = placements[row] = self._placement(window, row, part, ledger, pending=is_pending)
            (self._restless.discard if _rests(placement) else self._restless.add)(row)
        self._placements, self._cast = tuple(placements), cast
        return self._placements

    def _stands(self, window: Window, cast: Cast) -> bool:
        """Whether every row is the same thread in the same part as in all samples of the window."""
        keys = window.now.threads.keys
        same = window.before is not None and window.before.threads.keys is keys and window.first.threads.keys is keys
        return same and cast is self._cast and len(self._placements) == len(keys)

    def _due(self, window: Window) -> list[int]:
        """The rows of threads that did something in the window, or of which something changed; found without Python a row."""
        now, then = window.now.threads, window.first.threads
        before = window.before.threads if window.before is not None else then
        rows = range(len(now.keys))
        due = set(self._restless)
        due.update(compress(rows, map(ne, now.run_ns, then.run_ns)))
        due.update(compress(rows, map(ne, now.wait_ns, then.wait_ns)))
        due.update(compress(rows, map(ne, now.states, before.states)))
        due.update(compress(rows, map(is_not, now.allowed, before.allowed)))
        due.update(compress(rows, map(is_not, now.scheduling, before.scheduling)))
        return sorted(due)

    def _ledger(self, window: Window, row: int, key: ThreadKey, part: Part) -> _Ledger:
        threads = window.now.threads
        allowed = threads.allowed[row]
        target = None if part.target is None else part.target.judged_by(allowed)
        old = self._ledgers.get(key)
        at = None if window.before is None else window.before.threads.row_of.get(key)
        if old is None or at is None or window.before is None:
            return _Ledger(NOTHING, allowed, target, ran=False, kept=Kept(), flips=())
        then = window.before.threads
        before = Look(then.cpus[at], then.allowed[at], then.run_ns[at], then.migrations[at])
        after = Look(threads.cpus[row], allowed, threads.run_ns[row], threads.migrations[row])
        kept = self._kept(old, before, after, window.before, window.now)
        if target is None or old.target != target:
            return _Ledger(NOTHING, allowed, target, ran=False, kept=kept, flips=())
        oldest_ns = window.now.monotonic_ns - self._window_ns(window)
        flips = tuple(at_ns for at_ns in old.flips if at_ns >= oldest_ns)
        if old.allowed != allowed or is_contradicted(before, after):
            flips = (*flips, window.now.monotonic_ns)
        if old.allowed != allowed and len(flips) < _RESTLESS_FLIPS:
            # One change is somebody's act: what was proven for the old mask says nothing of the new one, and in the interval
            # of the change the thread may have run before it.
            return _Ledger(NOTHING, allowed, target, ran=False, kept=kept, flips=flips)
        ran = old.ran or bool(difference(before.run_ns, after.run_ns))
        return _Ledger(extend(old.outside, before, after, target), allowed, target, ran=ran, kept=kept, flips=flips)

    def _kept(self, old: _Ledger, before: Look, after: Look, then: Sample, now: Sample) -> Kept:
        """The moves and changes of the mask that were seen, with those since the last sample."""
        kept = old.kept
        if before.cpu != after.cpu:
            kept = kept._replace(moves=self._spots.moved(kept.moves, before.cpu, after.cpu))
        if before.allowed is not after.allowed and before.allowed != after.allowed:
            kept = remembered(kept, MaskChange(then.wall_s, now.wall_s, before.allowed, after.allowed))
        return kept

    def _window_ns(self, window: Window) -> int:
        """The length of the window, one interval at least."""
        return max(window.now.monotonic_ns - window.first.monotonic_ns, 1_000_000_000)

    def _placement(self, window: Window, row: int, part: Part, ledger: _Ledger, *, pending: bool) -> Placement:
        threads, key = window.now.threads, window.now.threads.keys[row]
        cpu = threads.cpus[row]
        base, at, interval_s = _base(window, key)
        busy, wait, migrations = _rates(base, at, threads, row, interval_s)
        if busy and cpu in self.machine.cpus.nohz_full and _never_slept(base, at, threads, row):
            busy = 1.0 - (wait or 0.0) / 1000
        target = _as_judged(part.target, threads.allowed[row])
        verdict, reason = judge(
            target,
            threads.allowed[row],
            cpu,
            ledger.outside,
            pending=pending,
            isolated=self.machine.cpus.isolated,
            flips=len(ledger.flips),
        )
        allowed = threads.allowed[row]
        stale = not ledger.ran and not busy and cpu is not None and allowed is not None and cpu not in allowed
        return Placement(
            key=key,
            comm=threads.comms[row],
            label=part.label,
            role=part.role,
            rank=part.rank,
            target=target,
            allowed=allowed,
            cpu=cpu,
            cpu_stale=stale,
            node=None if cpu is None else self.machine.node_of.get(cpu),
            state=threads.states[row],
            verdict=verdict,
            severity=weigh(verdict, part.role, busy),
            busy=busy,
            wait_ms_per_s=wait,
            migrations_per_s=migrations,
            outside=ledger.outside,
            reason=reason,
            activity=activity_between(base, at, threads, row, interval_s, ledger.kept),
        )


def _as_judged(target: Target | None, allowed: CpuSet | None) -> Target | None:
    """The target, or where the thread has the other answer of its framework, that."""
    cpus = None if target is None else target.judged_by(allowed)
    if target is None or cpus is None or cpus is target.cpus:
        return target
    return replace(target, planned=cpus, cpus=cpus, why=f"{target.why}, as it was bound before")


def _rests(placement: Placement) -> bool:
    if placement.verdict == "loose" and placement.allowed is not None and placement.target is not None:
        return not placement.allowed <= placement.target.cpus  # else it is so for what it did in this window only
    return placement.busy == 0.0 and not placement.wait_ms_per_s and placement.verdict != "pending"


def _base(window: Window, key: ThreadKey) -> tuple[Threads | None, int | None, float | None]:
    """What a thread's rates are taken against: the start of the window, or the sample in which it came; its row there, and the time since."""
    at = window.first.threads.row_of.get(key)
    if at is not None or window.before is None:
        return window.first.threads, at, window.interval_s
    threads = window.before.threads
    return threads, threads.row_of.get(key), (window.now.monotonic_ns - window.before.monotonic_ns) / 1e9


def _never_slept(then: Threads | None, at: int | None, now: Threads, row: int) -> bool:
    """Whether a thread wanted its CPU all the time, so that what it did not wait it ran: without a tick its CPU time moves but once a second."""
    return (
        then is not None
        and at is not None
        and then.states[at] == now.states[row] == "R"
        and then.counters[at].voluntary is not None
        and (then.counters[at].voluntary, then.cpus[at]) == (now.counters[row].voluntary, now.cpus[row])
    )


def _rates(
    then: Threads | None, at: int | None, now: Threads, row: int, interval_s: float | None
) -> tuple[float | None, float | None, float | None]:
    """CPUs used, run-queue wait (ms per s) and migrations per s."""
    if then is None or at is None or not interval_s:
        return None, None, None
    ran = difference(then.run_ns[at], now.run_ns[row])
    waited = difference(then.wait_ns[at], now.wait_ns[row])
    moved = difference(then.migrations[at], now.migrations[row])
    return (
        None if ran is None else min(1.0, ran / 1e9 / interval_s),
        None if waited is None else min(1000.0, waited / 1e6 / interval_s),
        None if moved is None else moved / interval_s,
    )
