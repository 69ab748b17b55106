"""Values: which share of a process's memory lies on which node, how sure that is, and by kind."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.host.maps import FILE, Kind
from numascope.observe.interval import Interval, share_interval, widened

LEAST_HITS: Final = 100
"""Pages that have to answer, and independent pages that a sample has to be worth: below this a share is unknown."""


class NodeShare(NamedTuple):
    """What of the resident memory lies on a node: pages of the sample, and the share with its 95 % interval."""

    node: int
    pages: int
    interval: Interval
    kib: int


class Share(NamedTuple):
    """Memory by node; `nodes` is None where fewer than LEAST_HITS pages answered, `resident_kib` None where its size is not known."""

    pages_asked: int
    pages_resident: int
    resident_kib: int | None
    nodes: tuple[NodeShare, ...] | None
    worth: float = math.inf
    """Of how many independent pages the sample says as much; infinite where every page was counted."""
    missing: float = 0.0
    """The part of the resident memory that a bounded look did not find: it may lie on any node, and the intervals allow for that."""

    def on(self, nodes: CpuSet) -> Interval | None:
        """The share that lies on any of these nodes; None where it is unknown."""
        if self.nodes is None:
            return None
        share = min(1.0, math.fsum(one.interval.share for one in self.nodes if one.node in nodes))
        return widened(share_interval(share, self.worth), self.missing)

    def off(self, nodes: CpuSet) -> Interval | None:
        """The share that lies on none of these nodes."""
        on = self.on(nodes)
        return None if on is None else Interval(1.0 - on.share, 1.0 - on.high, 1.0 - on.low)


NOTHING: Final = Share(0, 0, None, None)


@dataclass(frozen=True, slots=True)
class MemoryShare:
    """Where the memory of a process lies: all of it, and by kind."""

    total: Share
    kinds: Mapping[Kind, Share] = field(default_factory=dict)
    source: str = ""
    """`PAGEMAP_SCAN` or `pagemap` (a sample), `memory.numa_stat`, `numa_maps`, `status` (one node has it all); empty where nothing could be read."""
    reason: str = ""
    """Why shares are unknown, in a sentence; empty where they are known."""
    notes: tuple[str, ...] = ()
    """What is not counted."""
    cost_ns: int = 0
    """CPU time that it took to find out."""

    @property
    def pages_asked(self) -> int:
        """Pages whose node was asked for."""
        return self.total.pages_asked

    @property
    def pages_resident(self) -> int:
        """Those of them that were in memory."""
        return self.total.pages_resident

    @property
    def nodes(self) -> tuple[NodeShare, ...] | None:
        """The share of each node; None where it is unknown."""
        return self.total.nodes

    def off(self, nodes: CpuSet) -> Interval | None:
        """The share that lies on none of these nodes; None where it is unknown."""
        return self.total.off(nodes)

    def off_beside_files(self, nodes: CpuSet) -> Interval | None:
        """The same of all that is no file: a file lies where it was read first, whatever the policy of who maps it.

        None where nothing of it is known; where nothing is known by kind, of all memory.
        """
        if not self.kinds:
            return self.off(nodes)
        parts = [
            (share.resident_kib, off)
            for kind, share in self.kinds.items()
            if kind.name != FILE.name and share.resident_kib and (off := share.off(nodes)) is not None
        ]
        whole_kib = sum(kib for kib, _ in parts)
        if not whole_kib:
            return None
        return Interval(*(sum(kib * off[at] for kib, off in parts) / whole_kib for at in range(3)))
