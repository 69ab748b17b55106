"""Processes that are not watched but use CPU time: looked at in turn, within a few milliseconds a tick."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.host import procfs
from numascope.host.root import HostRoot

_BUDGET_S: Final = 0.002
_LEAST_S: Final = 0.4
"""CPU time of a process comes in ticks of 10 ms: a shorter look would be mostly rounding."""

_BUSY: Final = 0.01
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


class Stranger(NamedTuple):
    """A process that is not of the job; `cpu` is where its main thread last ran, `busy` its CPU use in all, 1.0 one CPU.

    `busy` None: seen once only, and running at that moment.
    """

    pid: int
    comm: str
    cpu: int
    busy: float | None


class _Look(NamedTuple):
    starttime_ticks: int
    cpu_ticks: int
    at_s: float


class StrangerScan:
    """Remembers what each process had used when it was last looked at; every scan goes on where the last one stopped."""

    def __init__(self, root: HostRoot) -> None:
        self._root = root
        self._looks: dict[int, _Look] = {}
        self._found: dict[int, Stranger] = {}
        self._kernel_threads: set[int] = set()
        self._last_pid = 0

    def scan(self, watched: Collection[int], cpus: CpuSet) -> tuple[Stranger, ...]:
        """Those found busy when last looked at, and those that run on `cpus` at first sight; the busiest first.

        Kernel threads are looked at once and then left out; numascope itself is never a stranger.
        """
        pids = sorted(procfs.pids(self._root))
        at = next((index for index, pid in enumerate(pids) if pid > self._last_pid), 0)
        deadline = time.monotonic() + _BUDGET_S
        own = os.getpid()
        for pid in pids[at:] + pids[:at]:
            if time.monotonic() > deadline:
                break
            self._last_pid = pid
            if pid != own and pid not in watched and pid not in self._kernel_threads:
                self._look(pid, cpus)
        alive = set(pids)
        self._kernel_threads &= alive
        self._found = {pid: one for pid, one in self._found.items() if pid in alive and pid not in watched}
        self._looks = {pid: look for pid, look in self._looks.items() if pid in alive}
        return tuple(sorted(self._found.values(), key=lambda one: -(one.busy or 0.0)))

    def _look(self, pid: int, cpus: CpuSet) -> None:
        then = self._looks.get(pid)
        if then is not None and time.monotonic() - then.at_s < _LEAST_S:
            return
        stat = procfs.stat_of(self._root, pid)
        if stat is None:
            return
        if stat.is_kernel_thread:
            self._kernel_threads.add(pid)
            return
        now = _Look(stat.starttime_ticks, stat.utime_ticks + stat.stime_ticks, time.monotonic())
        self._looks[pid] = now
        self._found.pop(pid, None)
        if then is None or then.starttime_ticks != now.starttime_ticks:
            if stat.state == "R" and stat.cpu in cpus:
                self._found[pid] = Stranger(pid, stat.comm, stat.cpu, None)
            return
        busy = (now.cpu_ticks - then.cpu_ticks) / _TICKS_PER_S / (now.at_s - then.at_s)
        if busy > _BUSY:
            self._found[pid] = Stranger(pid, stat.comm, stat.cpu, busy)
