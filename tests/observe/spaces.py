"""Address spaces made up: of any size, with any pages in memory, on any node; nothing of them exists."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from numascope.host.maps import ANONYMOUS, AddressSpace, Region
from numascope.host.pagemap import PAGE_BYTES, WINDOW_BYTES, Found, Run

GIB = 1 << 30
MIB = 1 << 20
BASE = 0x7F00_0000_0000


def space(*sizes: int) -> AddressSpace:
    """Regions of these sizes, from BASE on, a GiB of nothing between them."""
    start, regions = BASE, []
    for size in sizes:
        regions.append(Region(start, start + size, ANONYMOUS))
        start += size + GIB
    return AddressSpace(tuple(regions))


class MadeUp:
    """Stands for the kernel: which runs are in memory, and which node each page is on; counts what it is asked."""

    def __init__(self, runs: Sequence[Run], node_of: Callable[[int], int], *, can_skip: bool) -> None:
        self.can_skip = can_skip
        self._runs = sorted(runs)
        self._starts = [first for first, _ in self._runs]
        self._node_of = node_of
        self.calls = 0
        self.asked = 0
        self.longest = 0

    def _within(self, start: int, end: int) -> Iterator[Run]:
        at = max(0, bisect_right(self._starts, start) - 1)
        while at < len(self._runs) and self._runs[at][0] < end:
            first, last = max(start, self._runs[at][0]), min(end, self._runs[at][1])
            if first < last:
                yield first, last
            at += 1

    def scan(self, start: int, end: int, most_pages: int = 0) -> Found:
        """As PageMap's."""
        self.calls += 1
        found: list[Run] = []
        pages = 0
        for first, last in self._within(start, end):
            if len(found) >= 512 or (most_pages and pages >= most_pages):
                return Found(found, first)
            room = (most_pages - pages) if most_pages else (last - first) // PAGE_BYTES
            stop = min(last, first + room * PAGE_BYTES)
            found.append((first, stop))
            pages += (stop - first) // PAGE_BYTES
            if stop < last:
                return Found(found, stop)
        return Found(found, end)

    def runs(self, start: int, end: int) -> list[Run]:
        """As PageMap's."""
        assert end - start <= WINDOW_BYTES
        self.calls += 1
        return list(self._within(start, end))

    def ask(self, addresses: Sequence[int]) -> list[int]:
        """As PageNodes'."""
        self.asked += len(addresses)
        self.longest = max(self.longest, len(addresses))
        runs, starts, node_of = self._runs, self._starts, self._node_of
        places = [bisect_right(starts, one) - 1 for one in addresses]
        return [
            node_of(one) if at >= 0 and one < runs[at][1] else -2 for one, at in zip(addresses, places, strict=True)
        ]

    def truth(self, node: int, step: int = 1) -> float:
        """The share of a node; every `step`th page is looked at."""
        pages = [one for first, end in self._runs for one in range(first, end, step * PAGE_BYTES)]
        return sum(self._node_of(one) == node for one in pages) / len(pages)
