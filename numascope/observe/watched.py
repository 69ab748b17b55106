"""One watched process and its threads between two samples: kept descriptors, last bytes seen, and what to read again."""

from __future__ import annotations

import errno
import os
from itertools import compress
from operator import is_not, ne
from typing import Final

from numascope.cpuset import CpuSet
from numascope.host.affinity import AffinityReader
from numascope.host.parse_proc import StatRecord, parse_schedstat, parse_stat
from numascope.host.procfs import TaskFiles, process_clock_ns
from numascope.host.root import AbsentError, DeniedError, HostRoot
from numascope.observe.descriptors import DescriptorBudget
from numascope.observe.sample import ThreadKey

ROTATION: Final = 10
"""What stands still is read again every tenth sample, so that nothing shown is older."""

_QUIET_ROTATION: Final = 40
"""Where no thread can be waiting for a CPU, one that did not run has the state that it had: only its name may be new."""

_TICK_NS: Final = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class Columns:
    """Parallel lists, one entry a thread by rising tid: the columns of a sample, and what stands behind them."""

    __slots__ = (
        "allowed", "comms", "cpus", "keys", "last_ran", "migrations", "raw_stats", "raw_times", "run_ns", "schedstats", "seen",
        "slices", "states", "tids", "wait_ns",
    )  # fmt: skip

    def __init__(self) -> None:
        self.tids: list[int] = []
        self.keys: list[ThreadKey] = []
        self.comms: list[str] = []
        self.states: list[str] = []
        self.cpus: list[int | None] = []
        self.allowed: list[CpuSet | None] = []
        self.run_ns: list[int | None] = []
        self.wait_ns: list[int | None] = []
        self.slices: list[int | None] = []
        self.migrations: list[int | None] = []
        self.seen: list[int] = []
        self.last_ran: list[int] = []
        self.schedstats: list[int | None] = []
        self.raw_times: list[bytes] = []
        self.raw_stats: list[bytes] = []

    def keep(self, order: list[int]) -> None:
        """Leaves the entries at these places, in this order."""
        for name in self.__slots__:
            column = getattr(self, name)
            column[:] = [column[at] for at in order]


class WatchedProcess:
    """The threads of one process; those that slept since the last sample cost no Python of their own."""

    def __init__(
        self, root: HostRoot, pid: int, affinity: AffinityReader, budget: DescriptorBudget, *, ticks_only: bool
    ) -> None:
        self.pid = pid
        self.columns = Columns()
        self.vanished = 0
        self.execed = False
        self.rebound = False
        self.denied: str | None = None
        self._files = TaskFiles(root, pid)
        self._affinity = affinity
        self._budget = budget
        self._ticks_only = ticks_only
        self._clock_ns: int | None = None
        self._total_run_ns = 0
        self._start_stack = 0
        self._most_dead_ns: int | None = None
        """At most this much of the process's CPU time is that of threads that ended; None: to be found by reading all."""

    def close(self) -> None:
        """Gives all descriptors back."""
        self._part(list(range(len(self.columns.tids))))
        self._files.close()

    def refresh(self, number: int, *, waiting: bool) -> bool:
        """Reads what may have changed since the last sample; False once no thread is left.

        `waiting` says whether any thread of this machine may be waiting in a run queue.
        """
        self.vanished, self.execed = 0, False
        columns = self.columns
        old = columns.allowed
        columns.allowed, missing = self._affinity.read_all(columns.tids)
        self.rebound = any(map(is_not, old, columns.allowed))
        # As many as before and each still answers: they are the same threads, and need not be listed.
        if missing or self._files.count() != len(columns.tids):
            if not self._meet_and_part(number):
                return False
            columns.allowed, _ = self._affinity.read_all(columns.tids)
        ran = self._find_who_ran(number)
        rotation = ROTATION if waiting else _QUIET_ROTATION
        ran.update(at for at, state in enumerate(columns.states) if state == "R")
        due = ran.union(at for at, tid in enumerate(columns.tids) if (tid + number) % rotation == 0)
        if self._ticks_only:
            due.update(range(len(columns.tids)))
        gone = [at for at in due if not self._read_stat(at, number, ran=at in ran)]
        self.vanished += len(gone)
        self._part(gone)
        return any(state not in "ZX" for state in columns.states)

    # Who is here

    def _meet_and_part(self, number: int) -> bool:
        alive = set(self._files.tids())
        if not alive:
            return False
        columns = self.columns
        self._part([at for at, tid in enumerate(columns.tids) if tid not in alive])
        new = sorted(alive.difference(columns.tids))
        for tid in new:
            try:
                self._meet(tid, number)
            except AbsentError:
                self.vanished += 1
        if new:
            columns.keep(sorted(range(len(columns.tids)), key=columns.tids.__getitem__))
        return bool(columns.tids)

    def _meet(self, tid: int, number: int) -> None:
        raw = self._files.read(tid, "stat")
        stat = parse_stat(raw)
        if stat is None:
            raise AbsentError(errno.EPROTO, "stat is not in the kernel's format", f"{self.pid}/task/{tid}/stat")
        try:
            self._affinity.read(tid)
        except DeniedError as error:
            self.denied = f"affinity of threads of {self.pid}: {error.strerror}"
        migrations = self._files.migrations(tid)  # before any column grows: it says so where the thread is gone
        self._start_stack = stat.start_stack or self._start_stack
        columns = self.columns
        columns.tids.append(tid)
        columns.keys.append(ThreadKey(self.pid, tid, stat.starttime_ticks, 0))
        columns.comms.append(stat.comm)
        columns.states.append(stat.state)
        columns.cpus.append(stat.cpu)
        columns.allowed.append(None)  # read with all the others
        columns.run_ns.append(_ticks_ns(stat) if self._ticks_only else None)
        columns.wait_ns.append(None)
        columns.slices.append(None)
        columns.migrations.append(migrations)
        columns.seen.append(number)
        columns.last_ran.append(number - ROTATION)
        columns.schedstats.append(self._open_schedstat(tid))
        columns.raw_times.append(b"")
        columns.raw_stats.append(raw)
        if not self._ticks_only:
            self._take_times(len(columns.tids) - 1, self._times(tid, columns.schedstats[-1]), number)
            columns.last_ran[-1] = number - ROTATION  # that it ran before it was met says nothing of now

    def _part(self, gone: list[int]) -> None:
        """Forgets the threads at these places."""
        if gone:
            left_out = set(gone)
            self._most_dead_ns = None
            for at in gone:
                self._close_schedstat(self.columns.schedstats[at])
                self._total_run_ns -= self.columns.run_ns[at] or 0
            self.columns.keep([at for at in range(len(self.columns.tids)) if at not in left_out])

    def _open_schedstat(self, tid: int) -> int | None:
        if self._ticks_only or not self._budget.take():
            return None
        try:
            return self._files.open_schedstat(tid)
        except OSError:
            self._budget.give_back()
            return None

    def _close_schedstat(self, descriptor: int | None) -> None:
        if descriptor is not None:
            os.close(descriptor)
            self._budget.give_back()

    # What they do

    def _find_who_ran(self, number: int) -> set[int]:
        """The places of the threads that got the CPU since the last sample, by reading as few as prove that.

        The process's CPU clock is the sum of its threads' times, ended ones included: once those that ran lately account
        for all of it, the others slept.
        """
        columns = self.columns
        clock_ns = process_clock_ns(self.pid)
        if self._ticks_only or (clock_ns is not None and clock_ns == self._clock_ns):
            return set()
        self._clock_ns = clock_ns
        oldest = number - ROTATION
        changed = self._read_times([at for at, ran in enumerate(columns.last_ran) if ran > oldest], number)
        if clock_ns is None or self._most_dead_ns is None or clock_ns - self._most_dead_ns > self._total_run_ns:
            changed += self._read_times([at for at, ran in enumerate(columns.last_ran) if ran <= oldest], number)
        after_ns = process_clock_ns(self.pid)
        if after_ns is not None:
            # Each look bounds it from above, the closer the less time the look took.
            most_ns = after_ns - self._total_run_ns
            self._most_dead_ns = most_ns if self._most_dead_ns is None else min(most_ns, self._most_dead_ns)
        return set(changed)

    def _read_times(self, places: list[int], number: int) -> list[int]:
        """Which of these threads ran since they were last read; their times are brought to now."""
        columns = self.columns
        kept = [columns.schedstats[at] for at in places]
        try:
            raws = [os.pread(descriptor, 128, 0) for descriptor in kept]  # type: ignore[arg-type]  # None: just below
        except (OSError, TypeError):
            raws = [self._times(columns.tids[at], columns.schedstats[at]) for at in places]
        changed = list(
            compress(zip(places, raws, strict=True), map(ne, raws, [columns.raw_times[at] for at in places]))
        )
        for at, raw in changed:
            self._take_times(at, raw, number)
        return [at for at, _ in changed]

    def _times(self, tid: int, kept: int | None) -> bytes:
        """The bytes of schedstat, empty where they cannot be read; whether the thread is gone is told by its `stat`."""
        try:
            return os.pread(kept, 128, 0) if kept is not None else self._files.read(tid, "schedstat")
        except OSError:
            return b""

    def _take_times(self, at: int, raw: bytes, number: int) -> None:
        columns = self.columns
        columns.raw_times[at] = raw
        times = parse_schedstat(raw)
        if times is None:
            return
        before = columns.run_ns[at]
        if before is not None and times.run_ns < before:  # exec by another thread of the group took this key
            self._begin_epoch(at)
        self._total_run_ns += times.run_ns - (before or 0)
        columns.last_ran[at] = number
        columns.run_ns[at], columns.wait_ns[at], columns.slices[at] = times

    def _begin_epoch(self, at: int) -> None:
        key = self.columns.keys[at]
        self.columns.keys[at] = key._replace(epoch=key.epoch + 1)
        self._most_dead_ns = None
        self.execed = self.execed or key.tid == self.pid

    def _read_stat(self, at: int, number: int, *, ran: bool) -> bool:
        """Brings name, state and CPU to now; False where the thread is gone, or another has taken its number."""
        columns = self.columns
        tid = columns.tids[at]
        try:
            raw = self._files.read(tid, "stat")
            if ran:
                columns.migrations[at] = self._files.migrations(tid)
        except AbsentError:
            return False
        columns.seen[at] = number
        if raw == columns.raw_stats[at]:
            return True
        columns.raw_stats[at] = raw
        stat = parse_stat(raw)
        if stat is None or stat.starttime_ticks != columns.keys[at].starttime_ticks:
            return False
        is_new_program = tid == self.pid and stat.start_stack not in (0, self._start_stack)
        if is_new_program:
            self._start_stack = stat.start_stack
        if is_new_program or stat.comm != columns.comms[at]:
            columns.comms[at] = stat.comm
            self._begin_epoch(at)
        columns.states[at] = stat.state
        columns.cpus[at] = stat.cpu
        if self._ticks_only:
            columns.run_ns[at] = _ticks_ns(stat)
        return True


def _ticks_ns(stat: StatRecord) -> int:
    """CPU time in clock ticks, as ns, for kernels that keep no schedstat."""
    return (stat.utime_ticks + stat.stime_ticks) * _TICK_NS
