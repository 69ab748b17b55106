"""What a move of memory costs its process: time, and the longest stall of a thread that touches its pages, by batch size and beside `migratepages`.

It wants two nodes with memory; in the test bed:

    tests/testbed/vm run --machine two-socket -- .venv/bin/python bench/move_cost.py

The target touches each of its pages in turn, without end. While a page moves, whoever touches it waits until the kernel is
through with it and with all that it moves along with it. Its longest wait while nothing moves is the row to compare with.
"""

from __future__ import annotations

import contextlib
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from stalls import Stalled, stalled

from numascope.host.root import HostRoot
from numascope.host.system.node_memory import read_node_memory
from numascope.steer.page_batch import move_batch
from numascope.steer.page_carry import BATCH_PAGES, PageHand, Road, carry
from numascope.steer.page_owner import OwnerWatch, read_owner
from numascope.steer.pages import PageLister
from numascope.steer.syscalls import LinuxPages

SIZE_MIB = 128
"""Unless the command line names another."""

TIMES = 5
LIMIT_GIB_S = 1.0
BATCHES = (64, BATCH_PAGES, 4096)

_TOUCHES = """
while True:
    for at in range(0, size, 4096):
        began = clock()
        memory[at] = 1
        keep(clock() - began)
"""


class Cost(NamedTuple):
    """Medians: wall time, the target's longest stall meanwhile (seconds), and the part of the memory that moved."""

    wall_s: float
    stall_s: float
    moved: float


class Target(NamedTuple):
    """A process whose memory is on the first node."""

    process: Stalled
    nodes: tuple[int, int]

    def addresses(self, node: int) -> list[int]:
        """Its own pages on a node."""
        lister = PageLister(HostRoot(), self.process.pid)
        try:
            runs = [one for one in lister.runs() if one.is_alone and one.node == node]
        finally:
            lister.close()
        return [at for one in runs for at in range(one.start, one.start + one.pages * 4096, 4096)]

    def back(self) -> None:
        """Puts its memory on the first node again."""
        lister = PageLister(HostRoot(), self.process.pid)
        try:
            addresses = self.addresses(self.nodes[1])
            for at in range(0, len(addresses), BATCH_PAGES):
                move_batch(
                    self.process.pid, addresses[at : at + BATCH_PAGES], self.nodes[0], LinuxPages(), lister.asker
                )
        finally:
            lister.close()

    def measure(self, act: Callable[[], None]) -> Cost:
        """What an act costs that moves its memory to the second node."""
        costs = []
        for _ in range(TIMES):
            before = len(self.addresses(self.nodes[0]))
            self.process.reset()
            began_s = time.perf_counter()
            act()
            wall = time.perf_counter() - began_s
            stall = self.process.longest_s()
            costs.append(Cost(wall, stall, 1 - len(self.addresses(self.nodes[0])) / before))
            self.back()
        return Cost(*(statistics.median(column) for column in zip(*costs, strict=True)))


@contextlib.contextmanager
def target_on(nodes: tuple[int, int], size_mib: int) -> Iterator[Target]:
    """A process with so much memory in pages of 4 KiB."""
    with stalled(_TOUCHES, size_mib << 20, ("numactl", f"--preferred={nodes[0]}")) as process:
        yield Target(process, nodes)


def moved_by_us(target: Target, batch_pages: int, limit_gib_s: float) -> None:
    """As `apply --memory move` moves them, the journal aside."""
    root = HostRoot()
    owner = read_owner(root, target.process.pid, "")
    assert owner is not None
    lister, watch = PageLister(root, target.process.pid), OwnerWatch(root, owner, target.process.pid)
    try:
        hand = PageHand(root, limit_gib_s * 2**30, batch_pages=batch_pages)
        road = Road(watch, target.process.pid, lister.asker)
        carry(target.addresses(target.nodes[0]), 4096, target.nodes[1], road, hand)
    finally:
        watch.close()
        lister.close()


def migratepages(target: Target) -> None:
    """The tool of package numactl, by migrate_pages(2): a whole process in one call."""
    subprocess.run(["migratepages", str(target.process.pid), *map(str, target.nodes)], check=True)


def nothing() -> None:
    """Moves nothing for a while."""
    time.sleep(1.0)


def rows_of(target: Target) -> Iterator[tuple[str, Cost]]:
    """Each way to move the target's memory."""
    yield "nothing", target.measure(nothing)
    for batch in BATCHES:
        name = f"numascope, {batch} pages a batch" + (", as by default" if batch == BATCH_PAGES else "")
        yield name, target.measure(lambda batch=batch: moved_by_us(target, batch, LIMIT_GIB_S))
    slow = LIMIT_GIB_S / 20
    yield (
        f"numascope, {BATCH_PAGES} pages, {slow:g} GiB/s",
        target.measure(lambda: moved_by_us(target, BATCH_PAGES, slow)),
    )
    if shutil.which("migratepages"):
        yield "migratepages", target.measure(lambda: migratepages(target))


def main() -> None:
    """Prints a table, and what the longest stalls are to each other."""
    nodes = [one.node for one in read_node_memory(HostRoot()) if one.total_kib]
    if len(nodes) < 2 or shutil.which("numactl") is None:
        sys.exit("two nodes with memory are needed, and numactl: see the head of this file")
    size = next((int(word) for word in sys.argv[1:] if word.isdecimal()), SIZE_MIB)
    print(f"{size} MiB in pages of 4 KiB moved, at most {LIMIT_GIB_S:g} GiB/s (medians of {TIMES})")
    print(f"  {'':<44}{'moved':>8}{'wall':>12}{'longest stall':>16}")
    costs: dict[str, Cost] = {}
    with target_on((nodes[0], nodes[1]), size) as target:
        for name, cost in rows_of(target):
            costs[name] = cost
            print(
                f"  {name:<44}{100 * cost.moved:6.0f} %{1000 * cost.wall_s:9.0f} ms{1000 * cost.stall_s:13.1f} ms",
                flush=True,
            )
    ours = next(cost for name, cost in costs.items() if "default" in name)
    if "migratepages" in costs:
        print(
            f"  longest stall, migratepages / ours at the default: {costs['migratepages'].stall_s / ours.stall_s:.1f}"
        )


if __name__ == "__main__":
    main()
