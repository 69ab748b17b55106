"""Whether a rank's memory policy is the planned one; a policy of another process can be seen but not set. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numascope.cpuset import BadIdListError, CpuSet
from numascope.observe.rates import difference
from numascope.observe.sample import NodeCounters, ProcessFacts
from numascope.review.report import Finding, MemoryView, NodeRates

_SPILL_PAGES_PER_S: Final = 100.0

SPILLED_SHARE: Final = 0.05
"""More than that off the planned nodes, surely, is `spilled` (DESIGN's limit)."""

_BINDING_MODES = frozenset({"bind", "prefer", "preferred", "prefer (many)"})


def judge_policy(process: ProcessFacts | None, wanted: CpuSet | None) -> tuple[str, str]:
    """(`ok`, `unbound`, `elsewhere`, `unknown`, or empty where nothing is planned) and where that is known from (numa_maps)."""
    if process is None:
        return ("" if wanted is None else "unknown"), "the process is gone"
    if process.policy is None:
        source = "numa_maps may not be read" if process.policy_denied else "this kernel gives no numa_maps"
        return ("" if wanted is None else "unknown"), source
    source = f"numa_maps of {process.pid}"
    if wanted is None:
        return "", source
    if process.policy in ("default", "local"):
        return "unbound", source
    mode, _, nodes = process.policy.partition(":")
    try:
        held = CpuSet.parse(nodes)
    except BadIdListError:
        return "unknown", source
    binds = mode.partition("=")[0] in _BINDING_MODES
    return ("ok" if binds and held and held <= wanted else "elsewhere"), source


def judge_place(verdict: str, view: MemoryView | None) -> str:
    """The verdict on a policy as the verdict on the memory: `spilled` where the policy is right and the pages are not."""
    off = None if view is None else view.off_own
    return "spilled" if verdict == "ok" and off is not None and off.low > SPILLED_SHARE else verdict


def node_rates(
    then: Mapping[int, NodeCounters], now: Mapping[int, NodeCounters], interval_s: float | None
) -> Mapping[int, NodeRates]:
    """Each node's counters as pages per second between two samples, and its free memory now."""

    def rate(before: int | None, after: int | None) -> float | None:
        pages = difference(before, after)
        return None if pages is None or not interval_s else pages / interval_s

    found = {}
    for number, node in now.items():
        old = then.get(number, node)
        found[number] = NodeRates(
            free_kib=node.free_kib,
            hit=rate(old.hit, node.hit),
            miss=rate(old.miss, node.miss),
            foreign=rate(old.foreign, node.foreign),
            other_node=rate(old.other_node, node.other_node),
            cache_kib=node.cache_kib,
        )
    return found


def spilling_nodes(nodes: Mapping[int, NodeRates]) -> list[Finding]:
    """Nodes that pages were meant for but that did not get them (`numa_foreign` of numastat), whosever pages they are."""
    found = []
    for number, rates in sorted(nodes.items()):
        if rates.foreign is not None and rates.foreign >= _SPILL_PAGES_PER_S:
            free = "free memory unknown" if rates.free_kib is None else f"{rates.free_kib / 2**20:.1f} GiB free"
            found.append(
                Finding(
                    rule="spilling",
                    severity="info",
                    subject=f"node {number}",
                    text=f"{rates.foreign:.0f} pages/s that were meant for it went to other nodes",
                    evidence=f"numa_foreign of node {number}; {free}",
                    remedy="make room there, or plan memory on a node that has some",
                )
            )
    return found
