"""Where the memory of all ranks lies, once a minute each and on demand: a little work a tick, one rank after another."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from random import Random
from typing import Final, NamedTuple

from numascope.host.root import HostRoot
from numascope.observe.memory import Clock
from numascope.observe.memory_look import RankMemory, is_alone_in_cgroup, lone_node_steps, look_steps
from numascope.observe.residence import Steps

EVERY_S: Final = 60.0
BUDGET_NS: Final = 2_000_000
"""CPU time a tick: a rank of 100 GiB takes some 30 ticks of it once a minute, a small one ten."""

_MOST_BUDGETS: Final = 5
"""Where several processes are due, as at the start, a tick may take as many budgets, but no more than this."""


class MemoryTarget(NamedTuple):
    """A process to look at; `members` are the processes of its rank: where only these are in its cgroup, that one's count is taken."""

    pid: int
    starttime_ticks: int
    members: frozenset[int] = frozenset()


class MemoryScan:
    """Looks at processes in turn and keeps the last of each; every random choice follows from `seed`.

    With `lone_node`, the only node that has memory, there is nothing to find out but how much is resident.
    """

    def __init__(
        self,
        root: HostRoot,
        seed: int,
        *,
        every_s: float = EVERY_S,
        budget_ns: int = BUDGET_NS,
        clock: Clock = time.thread_time_ns,
        lone_node: int | None = None,
    ) -> None:
        self._root = root
        self._random = Random(seed)  # noqa: S311  (a sample, no secret)
        self._every_s = every_s
        self._budget_ns = budget_ns
        self._clock = clock
        self._lone_node = lone_node
        self._found: dict[tuple[int, int], RankMemory] = {}
        self._due_s: dict[tuple[int, int], float] = {}
        self._current: tuple[tuple[int, int], Steps[RankMemory | None]] | None = None

    def tick(self, targets: Iterable[MemoryTarget], now_s: float) -> Mapping[int, RankMemory]:
        """Works for at most the budget and one step more; pid → what was found last. `now_s` is a clock that only rises.

        One budget for each process that is due, up to five: a job is looked at as a whole soon after its start.
        """
        wanted = self._taken(targets, now_s)
        due = sum(due_s <= now_s for due_s in self._due_s.values())
        self._work(wanted, now_s, min(_MOST_BUDGETS, max(1, due)) * self._budget_ns)
        return {pid: one for (pid, _), one in self._found.items()}

    def finish(self, targets: Iterable[MemoryTarget], now_s: float, most_ns: int) -> None:
        """Looks at all who are due now, at one go, as far as that takes no more than so much CPU time."""
        self._work(self._taken(targets, now_s), now_s, most_ns)

    def _taken(self, targets: Iterable[MemoryTarget], now_s: float) -> Mapping[tuple[int, int], MemoryTarget]:
        """The targets by who they are; new ones are due at once, those that are none any more are forgotten."""
        wanted = {(one.pid, one.starttime_ticks): one for one in targets}
        self._forget(wanted)
        for key in wanted:
            self._due_s.setdefault(key, now_s)
        return wanted

    def _work(self, wanted: Mapping[tuple[int, int], MemoryTarget], now_s: float, budget_ns: int) -> None:
        until_ns = self._clock() + budget_ns
        while self._current is not None or self._begin(wanted, now_s):
            self._step(now_s)
            if self._clock() >= until_ns:
                break

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
        if not self._due_s:
            return False
        key = min(self._due_s, key=lambda one: self._due_s[one])
        if self._due_s[key] > now_s:
            return False
        self._due_s[key] = now_s + self._every_s
        self._current = key, self._look(wanted[key])
        return True

    def _look(self, one: MemoryTarget) -> Steps[RankMemory | None]:
        if self._lone_node is not None:
            return lone_node_steps(self._root, one.pid, self._lone_node)
        own = is_alone_in_cgroup(self._root, one.pid, one.members)
        return look_steps(self._root, one.pid, self._random, self._clock, cgroup_is_own=own)

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
