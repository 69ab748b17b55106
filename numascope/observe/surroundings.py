"""What the whole machine does while threads are watched: its CPUs' time and clocks, its nodes' pages, its devices' interrupts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.host.parse_stat import CpuTicks
from numascope.host.root import HostRoot
from numascope.host.system import counters
from numascope.observe.balancing import UNTOLD, Balancing, BalancingScan
from numascope.observe.frequency import FrequencyScan
from numascope.observe.interrupts import Interrupt, InterruptScan
from numascope.observe.sample import NodeCounters

_BUSY: Final = 0.5
"""A CPU that idles more than that has no clock worth a read."""


class Surroundings(NamedTuple):
    """One look around."""

    cpu_ticks: Mapping[int, CpuTicks]
    nodes: Mapping[int, NodeCounters]
    clocks_khz: Mapping[int, int]
    interrupts: tuple[Interrupt, ...]
    balancing: Balancing = UNTOLD


class SurroundingsWatch:
    """Remembers the last look; one thread at a time may use it."""

    def __init__(self, root: HostRoot, nodes: tuple[int, ...], clock_ns: Callable[[], int]) -> None:
        self._root = root
        self._nodes = nodes

        def clock_s() -> float:
            return clock_ns() / 1e9

        self._frequency = FrequencyScan(root, clock_s)
        self.interrupts = InterruptScan(root, clock_s)
        self._balancing = BalancingScan(root, clock_s) if len(nodes) > 1 else None
        self._ticks: Mapping[int, CpuTicks] = {}

    def look(self) -> Surroundings:
        """Everything now."""
        before, self._ticks = self._ticks, counters.cpu_ticks(self._root)
        busy = CpuSet.of(cpu for cpu, now in self._ticks.items() if _was_busy(before.get(cpu), now))
        return Surroundings(
            cpu_ticks=self._ticks,
            nodes={node: self._node(node) for node in self._nodes},
            clocks_khz=self._frequency.scan(busy),
            interrupts=self.interrupts.scan(CpuSet.of(self._ticks)),
            balancing=UNTOLD if self._balancing is None else self._balancing.scan(),
        )

    def _node(self, node: int) -> NodeCounters:
        free_kib, cache_kib, pages = counters.node_counters(self._root, node)
        return NodeCounters(
            free_kib=free_kib,
            hit=pages.get("numa_hit"),
            miss=pages.get("numa_miss"),
            foreign=pages.get("numa_foreign"),
            other_node=pages.get("other_node"),
            cache_kib=cache_kib,
        )


def _was_busy(before: CpuTicks | None, now: CpuTicks) -> bool:
    if before is None or now.total <= before.total:
        return False
    return (now.busy - before.busy) / (now.total - before.total) >= _BUSY
