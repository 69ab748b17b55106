"""Who is not watched but uses CPU time: processes and then the threads of the busy ones, in turn, within 5 ms of CPU time a tick."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.host import procfs
from numascope.host.parse_proc import StatRecord, parse_schedstat
from numascope.host.root import HostRoot
from numascope.observe.busy_threads import BUSY, BusyThreads, ticks_ns
from numascope.observe.looks import OLD_S, Allowance, Look, alternating, in_turn, share_between

_BUDGET_S: Final = 0.005
_CLOCKS_S: Final = 0.004
"""Of it for finding out who was busy; to name these there are a number of looks besides."""

_LEAST_CLOCKS: Final = 128
_FILE: Final = 4
"""A small file costs about as much as four CPU clocks."""

_LEAST_FILES: Final = _LEAST_CLOCKS // _FILE
_FEW_THREADS: Final = 16
_MOST_THREADS: Final = 256
"""Threads of one process: first a few of each, then many of one that has many, while there is time."""

_LATER_S: Final = 3.0
"""How much longer a process waits for its turn that was idle, or on CPUs which nobody asks about."""

_OLD_SCANS: Final = 2.5
"""A look is old after so many scans, at the pace of the last two: before that nobody may have scanned for long."""


class Stranger(NamedTuple):
    """A process that is not of the job, or of one with several threads a busy thread; `cpu` is where it last ran, `busy` 1.0 one CPU.

    `busy` None: seen once only, and running at that moment. `tid` None: `pid` has but one thread, or only its main thread was seen.
    """

    pid: int
    comm: str
    cpu: int
    busy: float | None
    tid: int | None = None
    thread: str = ""
    is_kernel: bool = False


@dataclass(slots=True)
class _Process:
    look: Look
    named_s: float
    """When it had its turn to be named; at first when it was first seen."""
    comm: str = ""
    starttime_ticks: int | None = None
    cpu: int | None = None
    """Where its main thread ran when `stat` was read; None: it is to be read once."""
    threads: BusyThreads | None = None
    rows: tuple[Stranger, ...] = ()
    again: bool = False
    """It ran, but how much or where is to be seen in the next scan."""

    def rest(self) -> None:
        """Nothing of it is worth a name."""
        self.threads, self.rows, self.again = None, (), False

    def begin(self) -> None:
        """What is known of it is too old, or another process's that had this number."""
        self.rest()
        self.starttime_ticks, self.cpu, self.again = None, None, True


class _Moved(NamedTuple):
    """A process that was busy since the last look."""

    pid: int
    process: _Process
    busy: float
    stat: StatRecord | None


class StrangerScan:
    """Remembers what each process had used when it was last looked at; every scan goes on where the last one stopped.

    `clock` tells how far looks are apart, `cost` what a scan has cost so far; by CPU time a scan gets as far on a crowded machine.
    """

    def __init__(
        self, root: HostRoot, clock: Callable[[], float] = time.monotonic, cost: Callable[[], float] = time.thread_time
    ) -> None:
        self._root = root
        self._clock = clock
        self._cost = cost
        self._own = os.getpid()
        # Numbers of another pid namespace's /proc mean somebody else to clock_gettime(2).
        self._has_clocks = root.is_live and root.link("proc/self") == str(self._own)
        times = parse_schedstat(root.read_if_there("proc/self/schedstat") or b"")
        self._ticks_only = times is None or not times.run_ns
        self._known: dict[int, _Process] = {}
        self._last_pid = 0
        self._began_s = -math.inf
        self._old_s = math.inf

    def scan(self, watched: Collection[int], cpus: CpuSet) -> tuple[Stranger, ...]:
        """Those found busy when last looked at, and those that run on `cpus` at first sight; the busiest first.

        5 ms of its own CPU time, or 32 files where they take longer. First everybody's CPU time, then the name and the threads of those that
        had most, those on `cpus` before others, then whom it has not seen yet. numascope itself is never a stranger.
        """
        self._began_s, before_s = self._clock(), self._began_s
        cost_s = self._cost()
        skipped = {self._own, *watched}
        pids = [pid for pid in sorted(procfs.pids(self._root)) if pid not in skipped]
        for gone in self._known.keys() - set(pids):
            del self._known[gone]
        moved = self._find_moved(pids, cpus, Allowance(self._cost, cost_s + _CLOCKS_S, _LEAST_CLOCKS))
        allowance = Allowance(self._cost, cost_s + _BUDGET_S, _LEAST_FILES)
        moved.sort(key=lambda one: _turn(one, cpus))
        for one in moved:
            if not allowance.more():
                break
            self._name(one, cpus, allowance)
        for one in moved:
            if one.process.threads is not None and allowance.more():
                self._look_into(one.pid, one.process, _MOST_THREADS, cpus, allowance)
        for pid in [pid for pid, process in self._known.items() if process.cpu is None]:
            if not allowance.more():
                break
            self._meet(pid, cpus)
        if before_s > -math.inf:
            self._old_s = max(OLD_S, _OLD_SCANS * (self._began_s - before_s))
        rows = [row for process in self._known.values() for row in process.rows]
        return tuple(sorted(rows, key=lambda row: -(row.busy or 0.0)))

    def _find_moved(self, pids: Sequence[int], cpus: CpuSet, allowance: Allowance) -> list[_Moved]:
        """Looks at the CPU time of each process, as far as allowed; those named or on `cpus` have every other turn."""
        first = {
            pid: one.look.at_s + (0.0 if one.rows or one.again else _LATER_S)
            for pid, one in self._known.items()
            if one.rows or one.again or one.threads or one.cpu in cpus
        }
        rest = (pid for pid in in_turn(pids, self._last_pid) if pid not in first)
        moved = []
        for pid in alternating(sorted(first, key=first.__getitem__), rest):
            if not allowance.more():
                break
            if pid not in first:
                self._last_pid = pid
            one = self._glance(pid, cpus, allowance)
            if one is not None:
                moved.append(one)
        return moved

    def _glance(self, pid: int, cpus: CpuSet, allowance: Allowance) -> _Moved | None:
        process, now_s = self._known.get(pid), self._clock()
        if process is not None and not process.look.is_due(now_s):
            return None
        stat = None
        used_ns = procfs.process_clock_ns(pid) if self._has_clocks else None
        if used_ns is None:
            allowance.more(_FILE - 1)
            stat = procfs.stat_of(self._root, pid)
            if stat is None:
                return None
            used_ns = ticks_ns(stat)
        now = Look(used_ns, now_s)
        if process is None:
            process = self._known[pid] = _Process(now, self._began_s)
            if stat is not None:
                self._see(pid, process, stat, cpus)
            return None
        busy = share_between(process.look, now, self._old_s)
        process.look = now
        if busy is None or _is_another(process, stat):
            process.begin()
            if stat is not None:
                self._see(pid, process, stat, cpus)
        elif busy > BUSY:
            process.again = True  # until it has had its turn
            return _Moved(pid, process, busy, stat)
        else:
            process.rest()
        return None

    def _name(self, moved: _Moved, cpus: CpuSet, allowance: Allowance) -> None:
        pid, process, stat = moved.pid, moved.process, moved.stat or procfs.stat_of(self._root, moved.pid)
        if stat is None:
            del self._known[pid]
            return
        if _is_another(process, stat):
            process.begin()
            self._see(pid, process, stat, cpus)
            return
        process.starttime_ticks, process.cpu, process.comm, process.again = (
            stat.starttime_ticks,
            stat.cpu,
            stat.comm,
            False,
        )
        process.named_s = self._began_s
        if stat.threads <= 1:
            process.threads = None
            process.rows = (Stranger(pid, stat.comm, stat.cpu, moved.busy, is_kernel=stat.is_kernel_thread),)
            return
        if process.threads is None:
            process.threads = BusyThreads(self._root, pid, self._clock, ticks_only=self._ticks_only)
        self._look_into(pid, process, _FEW_THREADS, cpus, allowance)

    def _look_into(self, pid: int, process: _Process, most: int, cpus: CpuSet, allowance: Allowance) -> None:
        if process.threads is not None:
            found = process.threads.look(most, cpus, allowance, self._old_s)
            process.rows = tuple(Stranger(pid, process.comm, one.cpu, one.busy, one.tid, one.comm) for one in found)

    def _meet(self, pid: int, cpus: CpuSet) -> None:
        stat = procfs.stat_of(self._root, pid)
        if stat is None:
            del self._known[pid]
        else:
            self._see(pid, self._known[pid], stat, cpus)

    def _see(self, pid: int, process: _Process, stat: StatRecord, cpus: CpuSet) -> None:
        """The first look at `stat`: whoever runs on `cpus` at this moment has a name already."""
        process.starttime_ticks, process.cpu = stat.starttime_ticks, stat.cpu
        if stat.state == "R" and stat.cpu in cpus:
            process.rows = (Stranger(pid, stat.comm, stat.cpu, None, is_kernel=stat.is_kernel_thread),)


def _is_another(process: _Process, stat: StatRecord | None) -> bool:
    """Whether the number that had been that process's is another's now."""
    return stat is not None and process.starttime_ticks not in (None, stat.starttime_ticks)


def _turn(moved: _Moved, cpus: CpuSet) -> tuple[float, float]:
    """Who was named longest ago comes first; of those with one age the busiest."""
    process = moved.process
    wanted = process.cpu is None or process.cpu in cpus or process.threads is not None
    return process.named_s + (0.0 if wanted else _LATER_S), -moved.busy
