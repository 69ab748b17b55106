"""Counters of the whole machine that move every tick: CPU time by CPU, page allocations and free memory by node."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from numascope.host.parse_proc import parse_numastat
from numascope.host.parse_stat import CpuTicks, parse_cpu_ticks
from numascope.host.root import HostRoot

_SOME: Final = re.compile(rb"some [^\n]*total=(\d+)")
_SIZES: Final = re.compile(rb"(MemFree|FilePages|Shmem):\s+(\d+) kB")


def cpu_ticks(root: HostRoot) -> dict[int, CpuTicks]:
    """CPU → clock ticks since boot; empty where /proc/stat cannot be read."""
    return parse_cpu_ticks(root.read_if_there("proc/stat") or b"")


def node_counters(root: HostRoot, node: int) -> tuple[int | None, int | None, dict[str, int]]:
    """A node's free memory and page cache without shared memory (KiB, from its own `meminfo`), and its `numastat` counters (pages since boot)."""
    directory = f"sys/devices/system/node/node{node}"
    sizes = {name: int(kib) for name, kib in _SIZES.findall(root.read_if_there(f"{directory}/meminfo") or b"")}
    files = sizes.get(b"FilePages")
    cache_kib = None if files is None else max(0, files - sizes.get(b"Shmem", 0))
    return sizes.get(b"MemFree"), cache_kib, parse_numastat(root.read_if_there(f"{directory}/numastat") or b"")


class RunQueues(NamedTuple):
    """What /proc/loadavg says of the whole machine: how many threads are runnable now, the reader among them, and the newest pid."""

    runnable: int
    newest_pid: int


def run_queues(root: HostRoot) -> RunQueues | None:
    """The last two fields of /proc/loadavg (proc_loadavg(5)); None where it cannot be read."""
    fields = (root.read_if_there("proc/loadavg") or b"").split()
    if len(fields) < 5:
        return None
    runnable = fields[3].partition(b"/")[0]
    return RunQueues(int(runnable), int(fields[4])) if runnable.isdigit() and fields[4].isdigit() else None


def cpu_pressure_us(root: HostRoot) -> int | None:
    """Time for which some thread waited for a CPU, of the whole machine, in µs since boot (Documentation/accounting/psi.rst); None without PSI."""
    found = _SOME.match(root.read_if_there("proc/pressure/cpu") or b"")
    return None if found is None else int(found[1])
