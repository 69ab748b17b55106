"""Which threads of a process use CPU time, and where: looked at in turn, a bounded number at a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from itertools import islice
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.host.parse_proc import StatRecord, parse_schedstat
from numascope.host.procfs import TaskFiles
from numascope.host.root import HostRoot
from numascope.observe.looks import LEAST_S, Allowance, Look, alternating, in_turn, share_between

BUSY: Final = 0.01
"""Less than this share of a CPU is nothing to name."""

_FEW_THREADS: Final = 64
"""Of so many at most each is looked for where it runs at first sight, which costs a second file."""

_SOONER_S: Final = LEAST_S / 2
"""Whoever asks for threads keeps that time himself, but a thread may have its turn a little sooner in it than the last time."""
_TICK_NS: Final = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class BusyThread(NamedTuple):
    """A thread by where it last ran and its CPU use, 1.0 one CPU; `busy` None: seen once only, and running then."""

    tid: int
    comm: str
    cpu: int
    busy: float | None


class _Thread(NamedTuple):
    look: Look
    row: BusyThread | None


def ticks_ns(stat: StatRecord) -> int:
    """CPU time by `stat`, in steps of a clock tick."""
    return (stat.utime_ticks + stat.stime_ticks) * _TICK_NS


class BusyThreads:
    """Remembers what each thread of one process had used when it was last looked at; `ticks_only`: the kernel keeps no `schedstat`."""

    def __init__(self, root: HostRoot, pid: int, clock: Callable[[], float], *, ticks_only: bool) -> None:
        self._root = root
        self._pid = pid
        self._clock = clock
        self._ticks_only = ticks_only
        self._tids: list[int] = []
        self._known: dict[int, _Thread] = {}
        self._hot: set[int] = set()
        """Those to look at again soon."""
        self._last_tid = 0

    def look(self, most: int, cpus: CpuSet, allowance: Allowance, old_s: float) -> tuple[BusyThread, ...]:
        """Those found busy when last looked at, and of few those that run on `cpus` at first sight.

        Looks at `most` threads, the busy ones in every other turn.
        """
        try:
            files = TaskFiles(self._root, self._pid)
        except OSError:
            return ()
        with closing(files):
            self._list(files)
            first = sorted(filter(self._is_due, self._hot), key=lambda tid: self._known[tid].look.at_s)
            rest = (tid for tid in in_turn(self._tids, self._last_tid) if tid not in self._hot and self._is_due(tid))
            for tid in islice(alternating(first, rest), most):
                if not allowance.more():
                    break
                if tid not in self._hot:
                    self._last_tid = tid
                try:
                    self._look(files, tid, cpus, old_s)
                except OSError:
                    self._known.pop(tid, None)
                    self._hot.discard(tid)
                    self._tids = []
        rows = (self._known[tid].row for tid in sorted(self._hot))
        return tuple(row for row in rows if row is not None)

    def _is_due(self, tid: int) -> bool:
        one = self._known.get(tid)
        return one is None or one.look.is_due(self._clock(), _SOONER_S)

    def _list(self, files: TaskFiles) -> None:
        """Lists the threads, where there are not as many as before or one of them was gone."""
        if not self._tids or files.count() != len(self._tids):
            self._tids = sorted(files.tids())
            self._known = {tid: self._known[tid] for tid in self._tids if tid in self._known}
            self._hot &= self._known.keys()

    def _look(self, files: TaskFiles, tid: int, cpus: CpuSet, old_s: float) -> None:
        then, now_s = self._known.get(tid), self._clock()
        times = None if self._ticks_only else parse_schedstat(files.read(tid, "schedstat"))
        stat = files.stat(tid) if times is None else None
        used_ns = times.run_ns if times is not None else 0 if stat is None else ticks_ns(stat)
        now = Look(used_ns, now_s)
        busy = None if then is None else share_between(then.look, now, old_s)
        again = then is not None and busy is None  # it ran, but how much of that time is for the next scan to see
        row = None
        # Of many, whom nothing is known of yet is most likely idle.
        if (busy is None and (again or len(self._tids) <= _FEW_THREADS)) or (busy or 0.0) > BUSY:
            stat = stat or files.stat(tid)
            if stat is not None and (busy is not None or (stat.state == "R" and stat.cpu in cpus)):
                row = BusyThread(tid, stat.comm, stat.cpu, busy)
        self._known[tid] = _Thread(now, row)
        (self._hot.add if row is not None or again else self._hot.discard)(tid)
