"""Why memory goes to a node or past it: what is free there, what is page cache, how allocations went, and what the kernel is told to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from numascope.host import parse
from numascope.host.parse_proc import parse_numastat
from numascope.host.root import HostRoot
from numascope.host.system.lists import NODE_DIRECTORY, numbers_of, read_value

_MEMINFO: Final = {
    "MemTotal": "total", "MemFree": "free", "FilePages": "file", "Shmem": "shared", "Active(file)": "active",
    "Inactive(file)": "inactive", "Dirty": "dirty", "Writeback": "writeback",
}  # fmt: skip
_BALANCING: Final = ("numa_pte_updates", "numa_hint_faults", "numa_hint_faults_local", "numa_pages_migrated")


class NodeMemory(NamedTuple):
    """A node's memory in KiB and its allocations since boot in pages (numastat); None where the kernel does not say."""

    node: int
    total_kib: int | None
    free_kib: int | None
    cache_kib: int | None
    """Page cache: files read or mapped, without shared memory."""
    hit: int | None
    miss: int | None
    foreign: int | None
    """Pages that were meant for this node and went to another."""
    other_node: int | None
    clean_cache_kib: int | None = None
    """Of the page cache what the kernel can drop without writing it out first."""


class MemorySettings(NamedTuple):
    """What the kernel is told (Documentation/admin-guide/sysctl), and its counters of NUMA balancing since boot (/proc/vmstat)."""

    zone_reclaim_mode: int | None
    """0: a full node's allocations go to the next one, though it could drop page cache."""
    numa_balancing: int | None
    """0 off; bit 0: pages follow the threads that use them."""
    balancing: Mapping[str, int]


def read_node_memory(root: HostRoot) -> tuple[NodeMemory, ...]:
    """Every node by rising number; none where the kernel has no NUMA support."""
    return tuple(_node(root, number) for number in numbers_of(root, NODE_DIRECTORY, "node"))


def read_page_cache_kib(root: HostRoot) -> dict[int, int]:
    """Node → its page cache; nodes of which the kernel does not say it are absent."""
    return {one.node: one.cache_kib for one in read_node_memory(root) if one.cache_kib is not None}


def _node(root: HostRoot, number: int) -> NodeMemory:
    directory = f"{NODE_DIRECTORY}/node{number}"
    sizes = _sizes(root.read_if_there(f"{directory}/meminfo", 1 << 14) or b"")
    counts = parse_numastat(root.read_if_there(f"{directory}/numastat", 1 << 12) or b"")
    files, shared = sizes.get("file"), sizes.get("shared")
    lists = [sizes[name] for name in ("active", "inactive") if name in sizes]
    unwritten = sizes.get("dirty", 0) + sizes.get("writeback", 0)
    return NodeMemory(
        number,
        sizes.get("total"),
        sizes.get("free"),
        None if files is None else max(0, files - (shared or 0)),
        counts.get("numa_hit"),
        counts.get("numa_miss"),
        counts.get("numa_foreign"),
        counts.get("other_node"),
        max(0, sum(lists) - unwritten) if lists else None,
    )


def _sizes(raw: bytes) -> dict[str, int]:
    """The wanted lines of a node's `meminfo`: `Node 0 MemFree:  12947652 kB`."""
    found: dict[str, int] = {}
    for line in raw.splitlines():
        words = line.split()
        if len(words) == 5 and words[4] == b"kB":
            name = _MEMINFO.get(words[2].removesuffix(b":").decode("ascii", "replace"))
            size = parse.decimal(words[3])
            if name is not None and size is not None:
                found.setdefault(name, size)
    return found


def read_memory_settings(root: HostRoot) -> MemorySettings:
    """The settings and the counters of now."""
    counters = parse_numastat(root.read_if_there("proc/vmstat", 1 << 16) or b"")
    return MemorySettings(
        read_value(root, "proc/sys/vm/zone_reclaim_mode", parse.decimal),
        read_value(root, "proc/sys/kernel/numa_balancing", parse.decimal),
        {name: counters[name] for name in _BALANCING if name in counters},
    )
