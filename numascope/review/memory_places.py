"""Where the memory of each rank lies against where it belongs, look by look; what follows from a look is worked out once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from numascope.cpuset import EMPTY, CpuSet
from numascope.host.system.node_memory import MemorySettings, NodeMemory
from numascope.machine.objects import Machine
from numascope.observe.interval import Interval
from numascope.observe.memory_why import reasons
from numascope.observe.sample import EMPTY_SAMPLE, Sample
from numascope.observe.seen_memory import SeenMemory
from numascope.review.report import MemoryView, Placement, RankView

_HALF_LIFE_S: Final = 60.0
_IN_USE_SHARE: Final = 0.1
"""A node on which less of a process's CPU time is spent is none of its own: a thread strays now and then."""


@dataclass
class _Rank:
    """What is remembered of one process."""

    starttime_ticks: int
    seen: SeenMemory
    before: SeenMemory | None = None
    use: dict[int, float] = field(default_factory=dict)
    """Node → CPU time spent there, of late."""
    used_ns: int = 0
    view: MemoryView | None = None


class MemoryPlaces:
    """Follows the samples; remembers for each rank the look before the last, and on which nodes it ran."""

    def __init__(self) -> None:
        self._ranks: dict[int, _Rank] = {}
        self._sample: Sample = EMPTY_SAMPLE
        self._machine: Machine | None = None
        self._with_memory = EMPTY

    def see(self, sample: Sample, machine: Machine) -> None:
        """Takes in what a sample tells of memory, before its ranks are viewed."""
        self._sample = sample
        if machine is not self._machine:
            self._machine = machine
            self._with_memory = CpuSet.of(node.id for node in machine.nodes if node.memory_kib != 0)
        for pid in self._ranks.keys() - sample.memory.keys():
            del self._ranks[pid]
        for pid, seen in sample.memory.items():
            old = self._ranks.get(pid)
            if old is None or old.starttime_ticks != seen.starttime_ticks:
                self._ranks[pid] = _Rank(seen.starttime_ticks, seen)
            elif old.seen is not seen and old.seen.looked_ns != seen.looked_ns:
                old.before, old.seen, old.view = old.seen, seen, None

    def view(
        self, pid: int, planned: CpuSet, active: Sequence[Placement], placements: Sequence[Placement]
    ) -> MemoryView | None:
        """Where its memory lies; `planned` are the nodes that a plan gives it, without these those count on which it runs."""
        rank = self._ranks.get(pid)
        if rank is None:
            return None
        home = planned or self._in_use(rank, pid, active, placements)
        if rank.view is None or rank.view.home != home:
            rank.view = self._made(rank, home)
        return rank.view

    def _in_use(self, rank: _Rank, pid: int, active: Sequence[Placement], placements: Sequence[Placement]) -> CpuSet:
        """The nodes on which a process spends its CPU time; of one that was not seen to run those that it may use."""
        now_ns = self._sample.monotonic_ns
        passed_s = max(0.0, (now_ns - rank.used_ns) / 1e9) if rank.used_ns else 0.0
        rank.used_ns = now_ns
        kept = 0.5 ** (passed_s / _HALF_LIFE_S)
        use = {node: spent * kept for node, spent in rank.use.items()}
        for one in active:
            if one.key.pid == pid and one.busy and one.node is not None:
                use[one.node] = use.get(one.node, 0.0) + one.busy * max(passed_s, 0.05)
        rank.use = use
        total = sum(use.values())
        if total > 0.0:
            return CpuSet.of(node for node, spent in use.items() if spent >= _IN_USE_SHARE * total)
        return self._allowed(one for one in placements if one.key.pid == pid)

    def _allowed(self, placements: Iterable[Placement]) -> CpuSet:
        node_of = {} if self._machine is None else self._machine.node_of
        allowed = {one.allowed for one in placements if one.allowed is not None}
        return CpuSet.of(node_of[cpu] for cpus in allowed for cpu in cpus if cpu in node_of)

    def _made(self, rank: _Rank, home: CpuSet) -> MemoryView:
        is_everywhere = not home or self._with_memory <= home
        share = rank.seen.share
        off = None if is_everywhere else share.off(home)
        before = None if is_everywhere or rank.before is None else rank.before.share.off(home)
        why = () if is_everywhere else reasons(rank.seen, home, self._nodes(), self._settings())
        own = None if is_everywhere else share.off_beside_files(home)
        return MemoryView(rank.seen, home, off, is_everywhere, own, _trend(before, off), why)

    def _nodes(self) -> list[NodeMemory]:
        """The nodes' memory as of this sample, as whoever gives reasons wants it."""
        nodes = () if self._machine is None else self._machine.nodes
        counters = self._sample.nodes
        return [
            NodeMemory(
                node.id, node.memory_kib, now.free_kib, now.cache_kib, now.hit, now.miss, now.foreign, now.other_node
            )
            for node in nodes
            if (now := counters.get(node.id)) is not None
        ]

    def _settings(self) -> MemorySettings:
        told = self._sample.balancing
        return MemorySettings(told.zone_reclaim_mode, told.numa_balancing, {})


def asks_in_vain(rank: RankView) -> bool:
    """The plan asks something of a rank's memory, and policy or place of it cannot be read."""
    unread = rank.memory is not None and rank.memory.is_unread
    return rank.memory_verdict == "unknown" or (bool(rank.memory_verdict) and unread)


def unread_notes(ranks: Sequence[RankView]) -> list[str]:
    """Each reason once why it cannot be told where memory lies, with the way to get it."""
    views = [rank.memory for rank in ranks if rank.memory is not None and rank.memory.is_unread]
    return list(dict.fromkeys(f"where memory lies: {one.seen.share.reason}" for one in views))


def _trend(before: Interval | None, now: Interval | None) -> int:
    """1 more, -1 less, as far as that is beyond both intervals; else 0."""
    if before is None or now is None:
        return 0
    return 1 if now.low > before.high else -1 if now.high < before.low else 0
