"""Counters of the whole machine that move every tick: CPU time by CPU, page allocations and free memory by node."""

from __future__ import annotations

import re
from typing import Final

from numascope.host.parse_proc import parse_cpu_ticks, parse_numastat
from numascope.host.root import HostRoot

_FREE: Final = re.compile(rb"MemFree:\s+(\d+) kB")


def cpu_ticks(root: HostRoot) -> dict[int, tuple[int, int]]:
    """CPU → (busy, total) clock ticks since boot; empty where /proc/stat cannot be read."""
    return parse_cpu_ticks(root.read_if_there("proc/stat") or b"")


def node_counters(root: HostRoot, node: int) -> tuple[int | None, dict[str, int]]:
    """A node's free memory (KiB, from its own `meminfo`) and its `numastat` counters (pages since boot)."""
    directory = f"sys/devices/system/node/node{node}"
    free = _FREE.search(root.read_if_there(f"{directory}/meminfo") or b"")
    return (None if free is None else int(free[1])), parse_numastat(root.read_if_there(f"{directory}/numastat") or b"")


def newest_pid(root: HostRoot) -> int | None:
    """The last pid that the kernel gave away (fifth field of /proc/loadavg): while it stands, no process was born."""
    fields = (root.read_if_there("proc/loadavg") or b"").split()
    return int(fields[4]) if len(fields) >= 5 and fields[4].isdigit() else None
