"""The memory of the ranks among the watched processes, a little each sample: which processes are ranks, and what was found of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

from numascope.host.root import HostRoot
from numascope.observe.jobs import find_jobs
from numascope.observe.memory_look import RankMemory
from numascope.observe.memory_scan import MemoryScan, MemoryTarget
from numascope.observe.sample import ProcessFacts
from numascope.observe.seen_memory import SeenMemory, grouped
from numascope.observe.select import Wanted, select_jobs

_RANKS_AGAIN_NS: Final = 5_000_000_000
"""Who is a rank is asked so often at most, where processes come and go all the time."""

_MOST_AT_ONCE_NS: Final = 2_000_000_000
"""CPU time for a look at all ranks at one go, for a verb that looks once: a hundred ranks or so."""


class MemoryWatch:
    """Looks at each rank once a minute; one thread at a time may use it. `nodes` are those that have memory."""

    def __init__(
        self, root: HostRoot, wanted: Sequence[Wanted], nodes: Sequence[int], scan: MemoryScan | None = None
    ) -> None:
        self._wanted = tuple(wanted)
        lone_node = nodes[0] if len(nodes) == 1 else None
        seed = int.from_bytes(os.urandom(8))
        self._scan = MemoryScan(root, seed, lone_node=lone_node) if scan is None else scan
        self._processes: Mapping[int, ProcessFacts] = {}
        self._targets: tuple[MemoryTarget, ...] = ()
        self._targets_ns: int | None = None
        self._last: dict[int, RankMemory] = {}
        self._seen: Mapping[int, SeenMemory] = {}

    def look(self, processes: Mapping[int, ProcessFacts], now_ns: int) -> Mapping[int, SeenMemory]:
        """Goes on for one budget; rank's process → what was found last, the same object while that is the same."""
        self._choose(processes, now_ns)
        found = self._scan.tick(self._targets, now_ns / 1e9)
        if found != self._last:
            self._seen = {
                pid: self._seen[pid] if self._last.get(pid) is one else _seen(one) for pid, one in sorted(found.items())
            }
            self._last = dict(found)
        return self._seen

    def finish(self, now_ns: int) -> None:
        """Looks at all at one go who were not looked at for a minute, as of the last sample; for two seconds of CPU at most."""
        self._scan.finish(self._targets, now_ns / 1e9, _MOST_AT_ONCE_NS)

    def close(self) -> None:
        """Gives the descriptors of an unfinished look back."""
        self._scan.close()

    def _choose(self, processes: Mapping[int, ProcessFacts], now_ns: int) -> None:
        """Finds the ranks anew where processes came, went or changed."""
        is_due = self._targets_ns is None or now_ns - self._targets_ns >= _RANKS_AGAIN_NS
        if not is_due or processes == self._processes:
            return
        # Without the pids that the user gave (a launcher ended, its ranks live on) all that is watched is meant.
        jobs = select_jobs(processes, self._wanted) or find_jobs(processes)
        ranks = {rank.pid: frozenset((rank.pid, *rank.helpers)) for job in jobs for rank in job.ranks}
        self._targets = tuple(
            MemoryTarget(pid, processes[pid].starttime_ticks, members)
            for pid, members in ranks.items()
            if pid in processes
        )
        self._processes, self._targets_ns = processes, now_ns


def _seen(found: RankMemory) -> SeenMemory:
    return SeenMemory(
        found.starttime_ticks,
        round((found.looked_s or 0.0) * 1e9),
        found.share,
        grouped(found.policies, found.pid),
    )
