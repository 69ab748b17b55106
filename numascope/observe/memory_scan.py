"""Where the memory of all ranks lies, once a minute each and on demand: a little work a tick, one rank after another."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from random import Random
from typing import Final, NamedTuple

from numascope.host.root import HostRoot
from numascope.observe.memory import Clock
from numascope.observe.memory_look import RankMemory, look_steps
from numascope.observe.residence import Steps

EVERY_S: Final = 60.0
BUDGET_NS: Final = 2_000_000
"""CPU time a tick: a rank of 100 GiB takes some 30 ticks of it once a minute, a small one a tick or three."""


class MemoryTarget(NamedTuple):
    """A process to look at; `cgroup_is_own`: nobody but this rank is in its cgroup, so that the cgroup's count is the rank's."""

    pid: int
    starttime_ticks: int
    cgroup_is_own: bool = False


class MemoryScan:
    """Looks at processes in turn and keeps the last of each; every random choice follows from `seed`."""

    def __init__(
        self,
        root: HostRoot,
        seed: int,
        *,
        every_s: float = EVERY_S,
        budget_ns: int = BUDGET_NS,
        clock: Clock = time.thread_time_ns,
    ) -> None:
        self._root = root
        self._random = Random(seed)  # noqa: S311  (a sample, no secret)
        self._every_s = every_s
        self._budget_ns = budget_ns
        self._clock = clock
        self._found: dict[tuple[int, int], RankMemory] = {}
        self._due_s: dict[tuple[int, int], float] = {}
        self._current: tuple[tuple[int, int], Steps[RankMemory | None]] | None = None

    def tick(self, targets: Iterable[MemoryTarget], now_s: float) -> Mapping[int, RankMemory]:
        """Works for at most the budget and one step more; pid → what was found last. `now_s` is a clock that only rises."""
        wanted = {(one.pid, one.starttime_ticks): one for one in targets}
        self._forget(wanted)
        until_ns = self._clock() + self._budget_ns
        while self._current is not None or self._begin(wanted, now_s):
            self._step(now_s)
            if self._clock() >= until_ns:
                break
        return {pid: one for (pid, _), one in self._found.items()}

    def ask(self, pid: int) -> None:
        """The next look is at this process, whenever its last was."""
        for key in self._due_s:
            if key[0] == pid:
                self._due_s[key] = float("-inf")

    def close(self) -> None:
        """Gives the descriptors of an unfinished look back."""
        if self._current is not None:
            self._current[1].close()
            self._current = None

    def _forget(self, wanted: Mapping[tuple[int, int], MemoryTarget]) -> None:
        for key in self._due_s.keys() - wanted.keys():
            del self._due_s[key]
            self._found.pop(key, None)
        if self._current is not None and self._current[0] not in wanted:
            self.close()

    def _begin(self, wanted: Mapping[tuple[int, int], MemoryTarget], now_s: float) -> bool:
        """Takes up the process whose turn it is; False where nobody's is."""
        for key in wanted:
            self._due_s.setdefault(key, now_s)
        if not self._due_s:
            return False
        key = min(self._due_s, key=lambda one: self._due_s[one])
        if self._due_s[key] > now_s:
            return False
        self._due_s[key] = now_s + self._every_s
        own = wanted[key].cgroup_is_own
        self._current = key, look_steps(self._root, key[0], self._random, self._clock, cgroup_is_own=own)
        return True

    def _step(self, now_s: float) -> None:
        assert self._current is not None  # noqa: S101  (whoever calls began it)
        key, steps = self._current
        try:
            next(steps)
        except StopIteration as done:
            self._current = None
            found: RankMemory | None = done.value
            if found is not None and found.starttime_ticks == key[1]:
                self._found[key] = replace(found, looked_s=now_s)
