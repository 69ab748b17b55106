"""How much a node can take before the kernel starts to reclaim there: free memory above the watermarks, and free huge pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from numascope.host import parse
from numascope.host.pagemap import PAGE_BYTES
from numascope.host.root import HostRoot
from numascope.host.system.lists import NODE_DIRECTORY, read_value

_MOST_ZONEINFO: Final = 16 << 20
"""Some 100 bytes for each CPU in each zone."""

_HEAD: Final = re.compile(rb"^Node ([0-9]{1,5}), zone +(\S+)$", re.MULTILINE)
_FIGURE: Final = re.compile(rb"^ +(?:pages )?(free|high|managed) +([0-9]{1,18})$", re.MULTILINE)
_PROTECTION: Final = re.compile(rb"protection: \(([0-9, ]*)\)")
_PAGE_KIB: Final = PAGE_BYTES >> 10


class NodeRoom(NamedTuple):
    """What is free on a node, and how much of it the kernel keeps: below its high watermark it begins to reclaim. KiB."""

    free_kib: int
    kept_kib: int

    @property
    def room_kib(self) -> int:
        """What can be taken without making the kernel reclaim."""
        return max(0, self.free_kib - self.kept_kib)


def read_node_rooms(root: HostRoot) -> Mapping[int, NodeRoom]:
    """The nodes with memory; DeniedError, AbsentError where this kernel has no /proc/zoneinfo."""
    return parse_zoneinfo(root.read("proc/zoneinfo", _MOST_ZONEINFO))


def parse_zoneinfo(raw: bytes) -> dict[int, NodeRoom]:
    """Sums the zones of each node: of each, what is free, and of it what lies below its high watermark and its reserve for lower zones.

    mm/vmstat.c `zoneinfo_show_print`; the last number of `protection` is what a zone keeps from movable allocations.
    """
    found: dict[int, NodeRoom] = {}
    heads = list(_HEAD.finditer(raw))
    for head, after in zip(heads, [*(one.start() for one in heads[1:]), len(raw)], strict=True):
        node, text = int(head[1]), raw[head.end() : after]
        figures: dict[bytes, int] = {}
        for one in _FIGURE.finditer(text):
            figures.setdefault(one[1], int(one[2]))
        if not figures.get(b"managed"):
            continue
        free = figures.get(b"free", 0)
        protection = _PROTECTION.search(text)
        last = protection[1].split(b",")[-1].strip() if protection is not None else b""
        kept = min(free, figures.get(b"high", 0) + (parse.decimal(last) or 0))
        old = found.get(node, NodeRoom(0, 0))
        found[node] = NodeRoom(old.free_kib + free * _PAGE_KIB, old.kept_kib + kept * _PAGE_KIB)
    return found


def free_huge_pages(root: HostRoot, node: int, page_kib: int) -> int:
    """Huge pages of hugetlbfs of that size that are free on a node; 0 where it has none of that size."""
    place = f"{NODE_DIRECTORY}/node{node}/hugepages/hugepages-{page_kib}kB/free_hugepages"
    return read_value(root, place, parse.decimal) or 0
