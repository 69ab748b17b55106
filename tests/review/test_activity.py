"""What is kept and told of a thread beside its CPU time: moves by distance, the last changes of its mask, rates of its counters."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapes import Shape, machine

from numascope.cpuset import CpuSet
from numascope.host.parse_sched import SchedCounters, Scheduling
from numascope.observe.roles import Role
from numascope.observe.sample import Sample, ThreadKey, Threads
from numascope.plan.objects import Place, Target
from numascope.review.activity import (
    MOST_MASK_CHANGES,
    Kept,
    MaskChange,
    Moves,
    Spots,
    activity_between,
    remembered,
)
from numascope.review.cast import Cast, Part
from numascope.review.placements import Placer, Window

TWO_SOCKETS = machine(Shape(2, 1, 2, 2))
"""CPUs 0-1 and 2-3 under an L3 each on node 0, 4-5 and 6-7 likewise on node 1."""


@pytest.mark.parametrize(
    ("before", "after", "moves"),
    [
        (0, 0, Moves()),
        (0, 1, Moves(core=1)),
        (1, 2, Moves(l3=1)),
        (3, 4, Moves(node=1)),
        (7, 0, Moves(node=1)),
        (None, 3, Moves()),
        (3, None, Moves()),
        (None, None, Moves()),
    ],
)
def test_a_move_counts_by_how_far_it_went(before: int | None, after: int | None, moves: Moves) -> None:
    assert Spots(TWO_SOCKETS).moved(Moves(), before, after) == moves
    assert Spots(TWO_SOCKETS).moved(Moves(5, 5, 5), before, after).total == 15 + moves.total


def test_on_a_machine_without_an_l3_a_move_is_within_a_node_or_to_another() -> None:
    spots = Spots(TWO_SOCKETS._replace(caches=()))

    assert spots.moved(Moves(), 0, 3) == Moves(core=1)
    assert spots.moved(Moves(), 0, 4) == Moves(node=1)


def test_a_cpu_that_the_machine_does_not_know_is_on_no_node() -> None:
    assert Spots(TWO_SOCKETS).moved(Moves(), 0, 99) == Moves(node=1)


CPUS = st.none() | st.integers(0, 7)


@given(st.lists(CPUS, max_size=40))
def test_every_seen_change_of_the_cpu_is_one_move(cpus: list[int | None]) -> None:
    spots, moves = Spots(TWO_SOCKETS), Moves()
    for before, after in pairwise(cpus):
        moves = spots.moved(moves, before, after)

    seen = sum(None not in pair and pair[0] != pair[1] for pair in pairwise(cpus))
    assert moves.total == seen


def change(at: int) -> MaskChange:
    return MaskChange(at, at + 1.0, CpuSet.of([at]), CpuSet.of([at + 1]))


@given(st.integers(0, 30))
def test_the_last_eight_changes_of_a_mask_are_kept_in_the_order_in_which_they_came(count: int) -> None:
    kept = Kept(Moves(1, 2, 3))
    for at in range(count):
        kept = remembered(kept, change(at))

    assert kept.mask_changes == tuple(change(at) for at in range(max(0, count - MOST_MASK_CHANGES), count))
    assert MOST_MASK_CHANGES == 8
    assert kept.moves == Moves(1, 2, 3)


KEY = ThreadKey(10, 10, 100, 0)
KEYS = (KEY,)
OTHER = Scheduling("other")


def threads(counters: SchedCounters, scheduling: Scheduling = OTHER) -> Threads:
    return Threads(
        (KEY,), ("python",), ("S",), (0,), (CpuSet.of([0]),), (5,), (0,), (1,), (0,), (scheduling,), (counters,), (1,), {KEY: 0}
    )  # fmt: skip


def test_rates_are_what_counters_grew_by_in_a_second() -> None:
    then, now = threads(SchedCounters(10, 5, 100, 7, 0)), threads(SchedCounters(30, 6, 100, 17, 1))
    found = activity_between(then, 0, now, 0, 2.0, Kept())

    assert (found.voluntary_per_s, found.involuntary_per_s) == (10.0, 0.5)
    assert (found.numa_faults_per_s, found.numa_moved_per_s, found.preferred_node) == (0.0, 5.0, 1)


def test_what_the_kernel_does_not_count_or_what_began_anew_is_unknown() -> None:
    found = activity_between(threads(SchedCounters(10, 5)), 0, threads(SchedCounters(4, None)), 0, 1.0, Kept())

    assert (found.voluntary_per_s, found.involuntary_per_s) == (None, None)
    assert (found.numa_faults_per_s, found.preferred_node) == (None, None)


@pytest.mark.parametrize(("then", "at", "interval_s"), [(None, None, None), (threads(SchedCounters(1)), None, 1.0), (threads(SchedCounters(1)), 0, 0.0)])  # fmt: skip
def test_of_a_thread_that_was_seen_once_there_are_no_rates(
    then: Threads | None, at: int | None, interval_s: float | None
) -> None:
    kept = remembered(Kept(Moves(1)), change(0))
    found = activity_between(
        then, at, threads(SchedCounters(9, 9, 9, 9, -1), Scheduling("fifo", 5)), 0, interval_s, kept
    )

    assert found.voluntary_per_s is None
    assert (str(found.scheduling), found.preferred_node) == ("fifo 5", None)
    assert (found.moves, found.mask_changes) == (Moves(1), kept.mask_changes)


def look(number: int, mask: CpuSet | None, cpu: int = 0, run_ns: int = 5) -> Sample:
    columns = Threads(
        KEYS, ("python",), ("S",), (cpu,), (mask,), (run_ns,), (0,), (1,), (0,),
        (OTHER,), (SchedCounters(),), (number,), {KEY: 0},
    )  # fmt: skip
    return Sample(number, number * 1_000_000_000, 1000.0 + number, columns, {}, {}, {})


def placed(looks: list[Sample], target: CpuSet | None) -> Placer:
    goal = None if target is None else Target(target, target, Place("bind.json", 1, 1), "main")
    cast = Cast((), (Part(Role("main", "named", ""), "main", None, None, goal),), ())
    placer = Placer(TWO_SOCKETS, 600.0)
    before = None
    for sample in looks:
        placer.place(Window(before or sample, before, sample), cast)
        before = sample
    return placer


@pytest.mark.parametrize("target", [None, CpuSet.of([0, 1])])
def test_each_change_of_a_mask_is_told_with_the_looks_between_which_it_came(target: CpuSet | None) -> None:
    """With a plan and without one."""
    masks = [CpuSet.of([0]), CpuSet.of([0]), CpuSet.of([1]), None, CpuSet.of([1, 2])]
    placer = placed([look(at, mask) for at, mask in enumerate(masks)], target)

    (one,) = placer._placements
    assert one.activity.mask_changes == (
        MaskChange(1001.0, 1002.0, CpuSet.of([0]), CpuSet.of([1])),
        MaskChange(1002.0, 1003.0, CpuSet.of([1]), None),
        MaskChange(1003.0, 1004.0, None, CpuSet.of([1, 2])),
    )


def test_a_mask_that_flips_at_every_look_keeps_its_last_eight_changes() -> None:
    placer = placed([look(at, CpuSet.of([at % 2])) for at in range(20)], CpuSet.of([0]))

    changes = placer._placements[0].activity.mask_changes
    assert [one.by_s for one in changes] == [1012.0 + at for at in range(8)]
    assert all(one.before != one.after for one in changes)


def test_moves_outlive_a_change_of_the_mask() -> None:
    looks = [
        look(0, CpuSet.of([0]), 0),
        look(1, CpuSet.of([0]), 1, 6),
        look(2, CpuSet.of([4]), 4, 7),
        look(3, CpuSet.of([4]), 6, 8),
    ]

    assert placed(looks, CpuSet.of([0]))._placements[0].activity.moves == Moves(core=1, l3=1, node=1)
