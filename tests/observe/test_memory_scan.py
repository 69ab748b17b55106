"""The scan of all ranks: whose turn it is, how much is done a tick, what is forgotten. Time and its cost are counted, not measured."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from processes import program

from numascope.host import procfs
from numascope.host.root import HostRoot
from numascope.observe.memory_scan import MemoryScan, MemoryTarget

pytestmark = pytest.mark.live

ROOT = HostRoot()


class StepClock:
    """Each reading is a millisecond of CPU later: work is measured in how often it looks at the clock."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        """Nanoseconds."""
        self.now_ns += 1_000_000
        return self.now_ns


def target(pid: int) -> MemoryTarget:
    stat = procfs.stat_of(ROOT, pid)
    assert stat is not None
    return MemoryTarget(pid, stat.starttime_ticks)


@pytest.fixture
def others() -> Iterator[list[MemoryTarget]]:
    with program("ready(); sleep()") as one, program("ready(); sleep()") as two:
        yield [target(one.pid), target(two.pid)]


def scan_with(budget_ns: int = 10**15) -> MemoryScan:
    return MemoryScan(ROOT, 7, every_s=60.0, budget_ns=budget_ns, clock=StepClock())


def test_all_are_looked_at_and_then_left_alone_for_a_minute(others: list[MemoryTarget]) -> None:
    scan = scan_with()
    first = scan.tick(others, 100.0)
    assert {one.pid for one in others} == first.keys()
    assert {one.looked_s for one in first.values()} == {100.0}
    assert scan.tick(others, 159.0) == first
    assert {one.looked_s for one in scan.tick(others, 161.0).values()} == {161.0}


def test_a_tick_does_no_more_than_its_budget_and_a_look_goes_on_in_the_next(others: list[MemoryTarget]) -> None:
    scan = scan_with(budget_ns=1)
    ticks = 0
    while len(scan.tick(others, 100.0 + ticks)) < 2:
        ticks += 1
        assert ticks < 1_000
    assert ticks > 4
    scan.close()


def test_a_rank_that_is_asked_for_is_next(others: list[MemoryTarget]) -> None:
    scan = scan_with()
    scan.tick(others, 100.0)
    scan.ask(others[1].pid)
    looked = {pid: one.looked_s for pid, one in scan.tick(others, 101.0).items()}
    assert looked == {others[0].pid: 100.0, others[1].pid: 101.0}
    scan.ask(4_194_305)


def test_who_is_no_longer_watched_is_forgotten_and_descriptors_come_back(others: list[MemoryTarget]) -> None:
    before = len(os.listdir("/proc/self/fd"))
    scan = scan_with(budget_ns=1)
    for _ in range(3):
        scan.tick(others, 100.0)
    assert scan.tick([], 101.0) == {}
    assert len(os.listdir("/proc/self/fd")) == before
    assert scan_with().tick([others[0]], 100.0).keys() == {others[0].pid}


def test_a_pid_that_was_used_again_is_not_taken_for_the_one_that_was_meant(others: list[MemoryTarget]) -> None:
    old = others[0]._replace(starttime_ticks=others[0].starttime_ticks - 1)
    assert scan_with().tick([old], 100.0) == {}
