"""How many more pages a node may be given: free memory above its watermarks, so that the kernel need not reclaim for us; free huge pages.

Where the user wants page cache pushed out, what of it is clean counts too: then the kernel reclaims, in our own call of
`move_pages` and in kswapd; it never kills for such an allocation (`__GFP_THISNODE` in `__alloc_pages_may_oom` of mm/page_alloc.c).
"""

from __future__ import annotations

from collections.abc import Mapping

from numascope.cpuset import CpuSet
from numascope.host.pagemap import PAGE_BYTES
from numascope.host.root import HostRoot
from numascope.host.system.node_memory import NodeMemory, read_node_memory
from numascope.host.system.node_room import free_huge_pages, read_node_rooms

_PAGE_KIB = PAGE_BYTES >> 10


class Rooms:
    """The room on nodes, counted down as pages are sent there, and read anew with `refresh`."""

    def __init__(self, root: HostRoot, *, push_out: bool = False) -> None:
        self._root = root
        self._push_out = push_out
        try:
            self._kept_kib: Mapping[int, int] = {node: one.kept_kib for node, one in read_node_rooms(root).items()}
        except OSError:
            self._kept_kib = {}
        self._pages: dict[tuple[int, int], int] = {}
        self._closed: set[tuple[int, int]] = set()

    def refresh(self) -> None:
        """Reads what is free now."""
        self._pages = {
            (one.node, PAGE_BYTES): max(0, self._takeable_kib(one, one.free_kib)) // _PAGE_KIB
            for one in read_node_memory(self._root)
            if one.free_kib is not None
        }

    def _takeable_kib(self, one: NodeMemory, free_kib: int) -> int:
        cache_kib = one.clean_cache_kib if self._push_out else None
        return free_kib + (cache_kib or 0) - self._kept_kib.get(one.node, 0)

    def kib(self, nodes: CpuSet) -> dict[int, int]:
        """What each of these nodes can take; without those that the kernel says nothing of."""
        return {node: self._pages[node, PAGE_BYTES] * _PAGE_KIB for node in nodes if (node, PAGE_BYTES) in self._pages}

    def huge(self, nodes: CpuSet, page_kib: int) -> int:
        """Free huge pages of that size on these nodes."""
        return sum(self.of(node, page_kib << 10) for node in nodes)

    def of(self, node: int, page_bytes: int) -> int:
        """Pages of that size that a node can take."""
        key = (node, page_bytes)
        if key in self._closed:
            return 0
        if key not in self._pages and page_bytes > PAGE_BYTES:
            self._pages[key] = free_huge_pages(self._root, node, page_bytes >> 10)
        return self._pages.get(key, 0)

    def roomiest(self, nodes: CpuSet, page_bytes: int) -> tuple[int, int]:
        """Of these nodes the one that can take most pages of that size, and how many."""
        return max(((node, self.of(node, page_bytes)) for node in nodes), key=lambda one: (one[1], -one[0]))

    def take(self, node: int, page_bytes: int, pages: int) -> None:
        """Counts pages that are sent there."""
        self._pages[node, page_bytes] = self.of(node, page_bytes) - pages

    def close(self, node: int, page_bytes: int) -> None:
        """The kernel found no room there after all: nothing more of that size is sent to it."""
        self._closed.add((node, page_bytes))
