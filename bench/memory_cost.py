"""What it costs to learn where memory lies, at 1 and 4 GiB, beside `numastat -p` and `cat numa_maps`: CPU, wall time, and the target's longest stall.

The target maps, touches and unmaps 64 KiB without end, as an allocator does: for that it needs its mmap lock, and waits for
whoever holds it. Its longest wait while nothing looks at it is the row to compare with.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

from commands import NUMASCOPE, cpu_s, start
from stalls import Stalled, stalled

from numascope.host.root import HostRoot
from numascope.observe.memory_look import look_steps

SIZES_GIB = (1, 4)
"""Unless the command line names others."""

TIMES = 9
REST_S = 0.3

_MAPS = """
while True:
    began = clock()
    piece = mmap.mmap(-1, 65536, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    piece[0] = piece[40000] = 1
    piece.close()
    keep(clock() - began)
"""


class Cost(NamedTuple):
    """Medians: CPU and wall time of whoever looks, and the target's longest stall meanwhile; seconds."""

    cpu_s: float
    wall_s: float
    stall_s: float


def measured(target: Stalled, act: Callable[[], float]) -> Cost:
    """What an act costs, which gives its CPU seconds."""
    costs = []
    for _ in range(TIMES):
        target.reset()
        began_s = time.perf_counter()
        cpu = act()
        wall = time.perf_counter() - began_s
        costs.append(Cost(cpu, wall, target.longest_s()))
        time.sleep(REST_S / 3)
    return Cost(*(statistics.median(column) for column in zip(*costs, strict=True)))


def nothing() -> float:
    """Looks at nothing for a while."""
    time.sleep(REST_S)
    return 0.0


def one_look(root: HostRoot, pid: int) -> float:
    """A look as the dashboard takes it once a minute, all its steps at once; CPU seconds."""
    began_ns = time.thread_time_ns()
    for _ in look_steps(root, pid, Random(1), time.thread_time_ns):  # noqa: S311  (a sample, no secret)
        pass
    return (time.thread_time_ns() - began_ns) / 1e9


def rows_of(target: Stalled) -> Iterator[tuple[str, Cost]]:
    """Each way to learn where the target's memory lies."""
    root, pid = HostRoot(), str(target.pid)
    yield "nothing", measured(target, nothing)
    yield "cat numa_maps", measured(target, lambda: cpu_s(start("cat", f"/proc/{pid}/numa_maps")))
    if shutil.which("numastat"):
        yield "numastat -p", measured(target, lambda: cpu_s(start("numastat", "-p", pid)))
    one_look(root, target.pid)
    yield "numascope, a look", measured(target, lambda: one_look(root, target.pid))
    yield "numascope memory", measured(target, lambda: cpu_s(start(*NUMASCOPE, "memory", pid)))


def main() -> None:
    """Prints a table for each size, and how each cost grew from the smallest to the largest."""
    looks: dict[str, list[Cost]] = {}
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 30
    sizes = [int(word) for word in sys.argv[1:] if word.isdecimal()] or SIZES_GIB
    for size in (one for one in sizes if one < free):
        print(f"where {size} GiB in pages of 4 KiB lie (medians of {TIMES})         CPU       wall   longest stall")
        with stalled(_MAPS, size << 30) as target:
            for name, cost in rows_of(target):
                looks.setdefault(name, []).append(cost)
                cells = "".join(f"{1000 * value:8.1f} ms" for value in cost)
                print(f"  {name:<48}{cells}")
    for name in ("cat numa_maps", "numastat -p", "numascope, a look"):
        first, *_, last = [*looks.get(name, []), *looks.get(name, [])] or [Cost(1, 1, 1)] * 2
        print(f"  {name + ', CPU at the largest / the smallest':<58} {last.cpu_s / first.cpu_s:6.2f}")


if __name__ == "__main__":
    main()
