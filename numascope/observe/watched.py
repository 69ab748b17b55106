"""One watched process and its threads between two samples: kept descriptors, last bytes seen, and what to read again."""

from __future__ import annotations

import errno
from itertools import compress
from operator import is_not, ne
from typing import Final

from numascope.host.affinity import AffinityReader
from numascope.host.parse_proc import parse_schedstat, parse_stat, parse_whereabouts, same_name
from numascope.host.procfs import TaskFiles
from numascope.host.root import AbsentError, DeniedError, HostRoot
from numascope.observe.busy_threads import ticks_ns
from numascope.observe.columns import Columns
from numascope.observe.descriptors import DescriptorBudget
from numascope.observe.kept_times import KeptTimes
from numascope.observe.process_time import ProcessTime
from numascope.observe.sample import ThreadKey
from numascope.observe.waiting import ROTATION

HIDDEN: Final = "hidden from this user (/proc is mounted with hidepid)"


class WatchedProcess:
    """The threads of one process; those that slept since the last sample cost no Python of their own."""

    def __init__(
        self, root: HostRoot, pid: int, affinity: AffinityReader, budget: DescriptorBudget, *, ticks_only: bool
    ) -> None:
        self.pid = pid
        self.columns = Columns()
        self.vanished = 0
        self.waited_ns = 0
        """How long its threads had waited for a CPU that have got one since the last look."""
        self.execed = False
        self.rebound = False
        self._refused: str | None = None
        self._unmasked: str | None = None
        if not budget.take():
            raise DeniedError(errno.EMFILE, "no descriptor is left (ulimit -n)", f"proc/{pid}/task")
        try:
            self._files = TaskFiles(root, pid)
        except OSError:
            budget.give_back()
            raise
        self._kept = KeptTimes(self._files, budget)
        self._affinity = affinity
        self._masks = affinity.table()
        self._budget = budget
        self._ticks_only = ticks_only
        self._clock_ns: int | None = None
        self._time = ProcessTime(pid)
        self._ran: set[int] = set()
        self._began_ns: int | None = None
        self._start_stack = 0
        self._turns: dict[int, list[list[int]]] = {}
        self._lately: list[int] | None = None
        """The places of the threads that ran within the last ten samples; None: to be found by going through all."""

    @property
    def unseen_ns(self) -> int | None:
        """CPU time of threads that ended which no look has; None: unknown."""
        return self._time.unseen_ns

    @property
    def denied(self) -> str | None:
        """Why threads, or their masks, could not be read when last tried; None: they could."""
        return self._refused or self._unmasked

    def close(self) -> None:
        """Gives all descriptors back."""
        self._part(list(range(len(self.columns.tids))))
        self._files.close()
        self._budget.give_back()

    def read_times(self, number: int) -> bool:
        """Begins a look: who is here, which masks changed, and who got the CPU since the last; False once no thread is left."""
        self.vanished, self.execed, self.waited_ns, self._unmasked = 0, False, 0, None
        self._began_ns = self._time.now_ns()
        columns = self.columns
        old = columns.allowed
        columns.allowed, missing = self._masks.read(columns.tids)
        self.rebound = old is not columns.allowed and any(compress(columns.allowed, map(is_not, old, columns.allowed)))
        # As many as before and each still answers: they are the same threads, and need not be listed.
        if (missing or self._files.count() != len(columns.tids)) and not self._meet_and_part(number):
            return False
        self._ran = self._find_who_ran(number, self._began_ns)
        return True

    def read_states(self, number: int, rotation: int) -> bool:
        """Ends it: state and place of who ran, and of every `rotation`-th of the threads that stood still; False once all are gone."""
        columns, ran = self.columns, self._ran
        ran.update(at for at, state in enumerate(columns.states) if state == "R")
        due = ran.union(self._turn(number, rotation))
        if self._ticks_only:
            due.update(range(len(columns.tids)))
        gone = [at for at in due if not self._read_stat(at, number, ran=at in ran)]
        self.vanished += len(gone)
        self._part(gone)
        if self.execed:
            self._time.begin_anew()
        elif not self._ticks_only:
            self._time.claim(self._began_ns)
        if not columns.tids and self._files.count():
            self._refused = self._refused or f"threads of {self.pid}: {HIDDEN}"
            return True
        return any(state not in "ZX" for state in columns.states)

    def _turn(self, number: int, rotation: int) -> list[int]:
        """The places whose turn it is in this sample: each once in `rotation` of them."""
        turns = self._turns.get(rotation)
        if turns is None:
            turns = self._turns[rotation] = [[] for _ in range(rotation)]
            for at, tid in enumerate(self.columns.tids):
                turns[tid % rotation].append(at)
        return turns[number % rotation]

    # Who is here

    def _meet_and_part(self, number: int) -> bool:
        self._moved()
        alive = set(self._files.tids())
        if not alive:
            return False
        columns = self.columns
        self._part([at for at, tid in enumerate(columns.tids) if tid not in alive and not self._files.has(tid)])
        new = sorted(alive.difference(columns.tids))
        for tid in new:
            try:
                self._meet(tid, number)
            except AbsentError:
                self.vanished += 1
            except DeniedError as error:
                self._refused = f"threads of {self.pid}: {error.strerror}"
        if new:
            columns.keep(sorted(range(len(columns.tids)), key=columns.tids.__getitem__))
        columns.allowed, missing = self._masks.read(columns.tids)
        if missing:
            gone = self._ended_since()
            self.vanished += len(gone)
            self._part(gone)
        return True

    def _ended_since(self) -> list[int]:
        """The places of threads that ended after they were listed; of others that have no mask it may not be read."""
        gone = []
        for at, tid in enumerate(self.columns.tids):
            if self.columns.allowed[at] is None:
                try:
                    self.columns.allowed[at] = self._affinity.read(tid)
                except AbsentError:
                    gone.append(at)
                except DeniedError as error:
                    self._unmasked = f"affinity of threads of {self.pid}: {error.strerror}"
        return gone

    def _meet(self, tid: int, number: int) -> None:
        raw = self._files.read(tid, "stat")
        stat, self._refused = parse_stat(raw), None
        if stat is None:
            raise AbsentError(errno.EPROTO, "stat is not in the kernel's format", f"{self.pid}/task/{tid}/stat")
        sched = self._files.counters(tid)  # before any column grows: it says so where the thread is gone
        self._start_stack = self._start_stack or stat.start_stack  # one that differs is another program's
        columns = self.columns
        columns.tids.append(tid)
        columns.keys.append(ThreadKey(self.pid, tid, stat.starttime_ticks, 0))
        columns.comms.append(stat.comm)
        columns.states.append(stat.state)
        columns.cpus.append(stat.cpu)
        columns.allowed.append(None)  # read with all the others
        columns.run_ns.append(ticks_ns(stat) if self._ticks_only else None)
        columns.wait_ns.append(None)
        columns.slices.append(None)
        columns.migrations.append(sched.migrations)
        columns.scheduling.append(stat.scheduling)
        columns.counters.append(sched.counters)
        columns.seen.append(number)
        columns.last_ran.append(number - ROTATION)
        columns.schedstats.append(None if self._ticks_only else self._kept.open(tid))
        columns.raw_times.append(b"")
        columns.raw_stats.append(raw)
        if not self._ticks_only:
            self._take_times(len(columns.tids) - 1, self._kept.read(tid, columns.schedstats[-1]), number)
            columns.last_ran[-1] = number - ROTATION  # that it ran before it was met says nothing of now

    def _part(self, gone: list[int]) -> None:
        """Forgets the threads at these places."""
        if gone:
            self._moved()
            left_out = set(gone)
            for at in gone:
                self._kept.close(self.columns.schedstats[at])
                self._time.ended(self.columns.run_ns[at] or 0)
            self.columns.keep([at for at in range(len(self.columns.tids)) if at not in left_out])

    def _moved(self) -> None:
        """Threads come or go: what is known by place is to be found anew."""
        self._turns.clear()
        self._lately = None

    # What they do

    def _find_who_ran(self, number: int, clock_ns: int | None) -> set[int]:
        """The places of the threads that got the CPU since the last sample, by reading as few as prove that.

        The process's CPU clock is the sum of its threads' times, ended ones included: once those that ran lately account
        for all of it, the others slept.
        """
        if self._ticks_only or (clock_ns is not None and clock_ns == self._clock_ns):
            return set()
        self._clock_ns = clock_ns
        oldest, last_ran = number - ROTATION, self.columns.last_ran
        lately = range(len(last_ran)) if self._lately is None else self._lately
        lately = [at for at in lately if last_ran[at] > oldest]
        changed = self._read_times(lately, number)
        if not self._time.is_explained(clock_ns):
            woken = self._read_times([at for at, ran in enumerate(last_ran) if ran <= oldest], number)
            lately += woken
            changed += woken
        self._lately = lately
        self._time.bound(number)
        return set(changed)

    def _read_times(self, places: list[int], number: int) -> list[int]:
        """Which of these threads ran since they were last read; their times are brought to now."""
        columns = self.columns
        raws = self._kept.read_all([columns.tids[at] for at in places], [columns.schedstats[at] for at in places])
        changed = list(
            compress(zip(places, raws, strict=True), map(ne, raws, [columns.raw_times[at] for at in places]))
        )
        for at, raw in changed:
            self._take_times(at, raw, number)
        return [at for at, _ in changed]

    def _take_times(self, at: int, raw: bytes, number: int) -> None:
        columns = self.columns
        columns.raw_times[at] = raw
        times = parse_schedstat(raw)
        if times is None:
            return
        before = columns.run_ns[at]
        if before is not None and times.run_ns < before:  # exec by another thread of the group took this key
            self._begin_epoch(at)
            self._time.ended(before)
            before = 0
        self._time.ran(times.run_ns - (before or 0))
        self.waited_ns += max(0, times.wait_ns - (columns.wait_ns[at] or times.wait_ns))
        columns.last_ran[at] = number
        columns.run_ns[at], columns.wait_ns[at], columns.slices[at] = times

    def _begin_epoch(self, at: int) -> None:
        key = self.columns.keys[at]
        self.columns.keys[at] = key._replace(epoch=key.epoch + 1)
        self.execed = self.execed or key.tid == self.pid

    def _read_stat(self, at: int, number: int, *, ran: bool) -> bool:
        """Brings name, state and CPU to now; False where the thread is gone, or another has taken its number."""
        columns = self.columns
        tid = columns.tids[at]
        if columns.schedstats[at] is not None and not columns.raw_times[at]:
            return False  # a kept descriptor that gives nothing was that of a thread which ended
        try:
            raw = self._files.read(tid, "stat")
            if ran:
                columns.migrations[at], columns.counters[at] = self._files.counters(tid)
        except AbsentError:
            return False
        except DeniedError as error:
            self._refused = f"threads of {self.pid}: {error.strerror}"
            return True
        columns.seen[at], self._refused = number, None
        if raw == columns.raw_stats[at]:
            return True
        before, columns.raw_stats[at] = columns.raw_stats[at], raw
        if tid != self.pid and not self._ticks_only and same_name(raw, before):
            return self._take_whereabouts(at, raw)
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
        columns.scheduling[at] = stat.scheduling
        if self._ticks_only:
            columns.run_ns[at] = ticks_ns(stat)
        return True

    def _take_whereabouts(self, at: int, raw: bytes) -> bool:
        """Of a thread that has the name that it had; False where it is another one all the same."""
        columns, seen = self.columns, parse_whereabouts(raw)
        if seen is None or seen.starttime_ticks != columns.keys[at].starttime_ticks:
            return False
        columns.states[at], _, columns.cpus[at], columns.scheduling[at] = seen
        return True
