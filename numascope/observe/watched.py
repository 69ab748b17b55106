"""One watched process and its threads between two samples: kept descriptors, last bytes seen, and what to read again."""

from __future__ import annotations

import os
import resource
from typing import Final

from numascope.cpuset import CpuSet
from numascope.host.affinity import AffinityReader
from numascope.host.parse_proc import StatRecord, parse_schedstat
from numascope.host.procfs import TaskFiles, process_clock_ns
from numascope.host.root import AbsentError, DeniedError, HostRoot
from numascope.observe.sample import ThreadKey

ROTATION: Final = 10
"""What stands still is read again every tenth sample, so that nothing shown is older."""

_TICK_NS: Final = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class WatchedThread:
    """A thread's last values; `None` is unknown."""

    __slots__ = (
        "allowed", "comm", "cpu", "key", "migrations", "raw", "run_ns", "schedstat", "seen", "slices", "state", "wait_ns",
    )  # fmt: skip

    def __init__(self, key: ThreadKey, stat: StatRecord) -> None:
        self.key = key
        self.schedstat: int | None = None
        self.raw = b""
        self.run_ns: int | None = None
        self.wait_ns: int | None = None
        self.slices: int | None = None
        self.migrations: int | None = None
        self.allowed: CpuSet | None = None
        self.seen = 0
        self.comm = stat.comm
        self.state = stat.state
        self.cpu: int | None = stat.cpu


class DescriptorBudget:
    """How many descriptors may be kept: the soft limit is raised as needed, up to the hard one, and restored at the end."""

    _RESERVE: Final = 128

    def __init__(self) -> None:
        self._soft, self._hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._limit = self._soft
        self._kept = 0

    def take(self) -> bool:
        """Whether one more descriptor may be kept."""
        if self._kept + self._RESERVE >= self._limit and not self._raise():
            return False
        self._kept += 1
        return True

    def give_back(self) -> None:
        """One kept descriptor was closed."""
        self._kept -= 1

    def _raise(self) -> bool:
        ceiling = self._hard if self._hard != resource.RLIM_INFINITY else 1 << 20
        wanted = min(max(2 * self._limit, 1024), ceiling)
        if wanted <= self._limit:
            return False
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, self._hard))
        self._limit = wanted
        return True

    def restore(self) -> None:
        """Puts the soft limit back to what it was."""
        resource.setrlimit(resource.RLIMIT_NOFILE, (self._soft, self._hard))


class WatchedProcess:
    """The threads of one process; `refresh` brings them to now and costs little for those that slept."""

    def __init__(
        self, root: HostRoot, pid: int, affinity: AffinityReader, budget: DescriptorBudget, *, ticks_only: bool
    ) -> None:
        self.pid = pid
        self.threads: dict[int, WatchedThread] = {}
        self.vanished = 0
        self.execed = False
        self.denied: str | None = None
        self._files = TaskFiles(root, pid)
        self._affinity = affinity
        self._budget = budget
        self._ticks_only = ticks_only
        self._clock_ns: int | None = None

    def close(self) -> None:
        """Gives all descriptors back."""
        for thread in self.threads.values():
            self._close_schedstat(thread)
        self.threads.clear()
        self._files.close()

    def refresh(self, number: int) -> bool:
        """Reads what may have changed since the last sample; False once the process has no thread left."""
        self.vanished, self.execed = 0, False
        tids = self._files.tids()
        if not tids:
            return False
        clock_ns = process_clock_ns(self.pid)
        moved = clock_ns is None or clock_ns != self._clock_ns
        self._clock_ns = clock_ns
        alive = set(tids)
        for tid in [tid for tid in self.threads if tid not in alive]:
            self._forget(tid)
        for tid in tids:
            thread = self.threads.get(tid)
            try:
                if thread is None:
                    self._meet(tid, number)
                else:
                    self._refresh_thread(tid, thread, number, moved=moved)
            except AbsentError:
                self._forget(tid)
                self.vanished += 1
        return any(thread.state not in "ZX" for thread in self.threads.values())

    def _meet(self, tid: int, number: int, epoch: int = 0) -> None:
        stat = self._files.stat(tid)
        if stat is None:
            raise AbsentError
        thread = WatchedThread(ThreadKey(self.pid, tid, stat.starttime_ticks, epoch), stat)
        self.threads[tid] = thread
        if not self._ticks_only and self._budget.take():
            try:
                thread.schedstat = self._files.open_schedstat(tid)
            except OSError:
                self._budget.give_back()
        self._read_affinity(tid, thread)
        self._read_times(tid, thread)
        self._apply_stat(tid, thread, stat, number)

    def _refresh_thread(self, tid: int, thread: WatchedThread, number: int, *, moved: bool) -> None:
        self._read_affinity(tid, thread)
        ran = moved and self._read_times(tid, thread)
        if ran or thread.state == "R" or (tid + number) % ROTATION == 0 or self._ticks_only:
            stat = self._files.stat(tid)
            if stat is None or stat.starttime_ticks != thread.key.starttime_ticks:
                self._forget(tid)
                self._meet(tid, number)
            elif stat.comm != thread.comm:
                self._begin_epoch(tid, thread, stat, number)
            else:
                self._apply_stat(tid, thread, stat, number)

    def _begin_epoch(self, tid: int, thread: WatchedThread, stat: StatRecord, number: int) -> None:
        """A renamed or newly exec'ed thread keeps its key's numbers but starts anew in everything else."""
        self.execed = self.execed or tid == self.pid
        thread.key = thread.key._replace(epoch=thread.key.epoch + 1)
        thread.comm = stat.comm
        self._apply_stat(tid, thread, stat, number)

    def _apply_stat(self, tid: int, thread: WatchedThread, stat: StatRecord, number: int) -> None:
        thread.state = stat.state
        thread.cpu = stat.cpu
        thread.seen = number
        thread.migrations = self._files.migrations(tid)
        if self._ticks_only:
            thread.run_ns = (stat.utime_ticks + stat.stime_ticks) * _TICK_NS

    def _read_affinity(self, tid: int, thread: WatchedThread) -> None:
        try:
            thread.allowed = self._affinity.read(tid)
        except DeniedError as error:
            thread.allowed = None
            self.denied = f"affinity of threads of {self.pid}: {error.strerror}"

    def _read_times(self, tid: int, thread: WatchedThread) -> bool:
        """Whether the thread got the CPU since it was last read."""
        if self._ticks_only:
            return True
        try:
            if thread.schedstat is not None:
                raw = os.pread(thread.schedstat, 128, 0)
            else:
                raw = self._files.read(tid, "schedstat")
        except DeniedError:
            return True
        except OSError as error:
            raise AbsentError(error.errno, error.strerror) from error
        if raw == thread.raw:
            return False
        thread.raw = raw
        times = parse_schedstat(raw)
        if times is None:
            thread.run_ns = thread.wait_ns = thread.slices = None
            return True
        if thread.run_ns is not None and times.run_ns < thread.run_ns:  # exec by another thread of the group
            thread.key = thread.key._replace(epoch=thread.key.epoch + 1)
            self.execed = self.execed or tid == self.pid
        thread.run_ns, thread.wait_ns, thread.slices = times
        return True

    def _forget(self, tid: int) -> None:
        thread = self.threads.pop(tid, None)
        if thread is not None:
            self._close_schedstat(thread)

    def _close_schedstat(self, thread: WatchedThread) -> None:
        if thread.schedstat is not None:
            os.close(thread.schedstat)
            thread.schedstat = None
            self._budget.give_back()
