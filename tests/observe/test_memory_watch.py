"""Memory in samples: whose it is, how little a tick does of it, and that a machine with one node costs next to nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from processes import program
from roots import CountingRoot

from numascope.host.root import HostRoot
from numascope.observe.facts import scan_facts
from numascope.observe.memory_scan import MemoryScan, MemoryTarget
from numascope.observe.memory_watch import MemoryWatch
from numascope.observe.sample import ProcessFacts
from numascope.observe.sampler import Sampler
from numascope.observe.select import Wanted

pytestmark = pytest.mark.live

ROOT = HostRoot()
S = 1_000_000_000


class StepClock:
    """Each reading is a millisecond of CPU later: work is measured in how often it looks at the clock."""

    def __init__(self) -> None:
        self.readings = 0

    def __call__(self) -> int:
        """Nanoseconds."""
        self.readings += 1
        return self.readings * 1_000_000


def two_nodes(wanted: list[int], clock: StepClock, *, budget_ns: int = 10**15) -> MemoryWatch:
    """As on a machine where there is something to find out."""
    scan = MemoryScan(ROOT, 7, budget_ns=budget_ns, clock=clock)
    return MemoryWatch(ROOT, [Wanted(pid) for pid in wanted], [0, 1], scan)


@pytest.fixture
def rank() -> Iterator[int]:
    with program("named('other', sleep); ready(); sleep()") as child:
        yield child.pid


def facts_of(*pids: int) -> dict[int, ProcessFacts]:
    found = scan_facts(ROOT)
    return {pid: found[pid] for pid in pids}


def test_a_rank_is_looked_at_once_a_minute_and_the_look_stays_the_same_object(rank: int) -> None:
    watch, facts = two_nodes([rank], StepClock()), facts_of(rank)

    first = watch.look(facts, 100 * S)
    assert watch.look(facts, 159 * S) is first
    later = watch.look(facts, 161 * S)

    assert [first[rank].looked_ns, later[rank].looked_ns] == [100 * S, 161 * S]
    assert first[rank].starttime_ticks == facts[rank].starttime_ticks
    assert sum(group.threads for group in first[rank].policies) == 2
    assert first[rank].share.nodes is not None or first[rank].share.reason


def test_processes_that_are_no_ranks_are_not_looked_at(rank: int) -> None:
    watch = two_nodes([rank], StepClock())
    assert watch.look(facts_of(rank, os.getpid()), 100 * S).keys() == {rank}


def test_ranks_whose_launcher_has_ended_are_still_looked_at() -> None:
    with program("ready(); sleep()", RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="localhost") as child:
        watch = two_nodes([4_194_304], StepClock())
        assert watch.look(facts_of(child.pid), 100 * S).keys() == {child.pid}


def test_a_tick_takes_no_more_than_its_budget_and_one_step(rank: int) -> None:
    """Work is counted in readings of the clock, each a millisecond: a budget of 2 ms is over with the second."""
    clock = StepClock()
    watch, facts = two_nodes([rank], clock, budget_ns=2_000_000), facts_of(rank)
    readings = [0]
    while not watch.look(facts, (100 + len(readings)) * S):
        readings.append(clock.readings)
        assert len(readings) < 1_000
    watch.close()

    assert len(readings) > 2
    assert max(after - before for before, after in pairwise(readings)) <= 5


@pytest.mark.parametrize(("ranks", "readings"), [(3, 3), (4, 4), (200, 20)])
def test_where_many_are_due_a_tick_takes_a_budget_for_each_but_five_at_most(ranks: int, readings: int) -> None:
    """Nobody has these numbers: to find that out is one step, of one reading, each, and a budget is four of them."""
    clock = StepClock()
    scan = MemoryScan(ROOT, 7, budget_ns=4_000_000, clock=clock)
    scan.tick([MemoryTarget(5_000_000 + number, 1) for number in range(ranks)], 100.0)

    assert clock.readings - 1 == readings


def test_at_one_go_all_are_looked_at_that_are_due_and_no_other(rank: int) -> None:
    clock = StepClock()
    watch, facts = two_nodes([rank], clock, budget_ns=1), facts_of(rank)
    watch.look(facts, 100 * S)
    watch.finish(101 * S)
    readings = clock.readings
    assert watch.look(facts, 101 * S)[rank].looked_ns == 101 * S
    watch.finish(102 * S)
    assert clock.readings - readings < 10


def test_where_one_node_has_all_memory_only_its_size_is_read(rank: int) -> None:
    root = CountingRoot("/")
    found = MemoryWatch(root, [Wanted(rank)], [3]).look(facts_of(rank), 100 * S)

    share = found[rank].share
    assert (share.source, share.pages_asked, found[rank].policies) == ("status", 0, ())
    assert [(one.node, one.interval.low) for one in share.nodes or ()] == [(3, 1.0)]
    assert {Path(path).name for path in root.seen} <= {"stat", "status"}
    assert len(root.seen) < 10


def test_a_tick_without_a_rank_that_is_due_reads_nothing(rank: int) -> None:
    root = CountingRoot("/")
    watch, facts = MemoryWatch(root, [Wanted(rank)], [0]), facts_of(rank)
    watch.look(facts, 100 * S)
    root.seen.clear()
    for second in range(101, 160):
        watch.look(facts, second * S)
    assert root.seen == []


def test_a_sampler_puts_it_into_its_samples_and_gives_descriptors_back(rank: int) -> None:
    before = len(os.listdir("/proc/self/fd"))
    sampler = Sampler(ROOT, [rank], [0, 1], memory=two_nodes([rank], StepClock(), budget_ns=1))
    assert sampler.sample().memory == {}
    sampler.finish_memory()
    sample = sampler.sample()
    sampler.close()

    assert sample.memory.keys() == {rank}
    assert sample.balancing.zone_reclaim_mode is not None or not Path("/proc/sys/vm/zone_reclaim_mode").exists()
    assert len(os.listdir("/proc/self/fd")) == before
