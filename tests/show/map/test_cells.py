from __future__ import annotations

from dataclasses import replace

import pytest
import reports
from reports import placement, rank_view, report
from shapes import Shape, machine

from numascope.cpuset import CpuSet
from numascope.observe.sample import ProcessFacts
from numascope.plan.objects import Target
from numascope.review.report import Finding, Report
from numascope.show.map.cells import Cell, folded, map_cells

KUNPENG = Shape(4, 2, 1, 24, cluster=4)


def one_rank(*threads: object, planned: str = "0-3", shape: Shape = KUNPENG) -> Report:
    """A report of one rank with these threads."""
    return report("python 1", machine(shape), threads, [rank_view("A", 1, 0, planned, threads, None, "0")])  # type: ignore[arg-type]


def marks(shown: Report) -> dict[int, tuple[str, str]]:
    """Mark and letter of every CPU that is not just free."""
    return {cpu: (cell.mark, cell.letter) for cpu, cell in map_cells(shown, {}).of.items() if cell.mark != "free"}


def test_a_thread_that_ran_on_its_plan_makes_its_letter_capital() -> None:
    """Small letters are planned and quiet."""
    shown = one_rank(placement(1, "main", "main", 0, "0-3", "0-3", 2))

    assert marks(shown) == {0: ("planned", "A"), 1: ("planned", "A"), 2: ("ran", "A"), 3: ("planned", "A")}


def test_a_thread_that_did_not_run_leaves_no_capital() -> None:
    """The CPU of an idle or stale thread proves nothing."""
    idle = placement(1, "main", "main", 0, "0-3", "0-3", 2, busy=0.0)
    stale = replace(placement(2, "x", "main", 0, "0-3", "0-3", 1), cpu_stale=True)

    assert {mark for mark, _ in marks(one_rank(idle, stale)).values()} == {"planned"}


def test_an_escaped_thread_marks_where_it_ran_and_the_seat_it_left() -> None:
    """`!A` there, `◇A` on its one planned CPU."""
    shown = one_rank(placement(1, "main", "main", 0, "1", "0-191", 37, "escaped"), planned="0-1")

    assert marks(shown) == {0: ("planned", "A"), 1: ("seat", "A"), 37: ("escaped", "A")}


def test_the_one_cpu_that_an_escaped_thread_left_is_its_seat_whoever_of_its_rank_runs_there() -> None:
    """A mark outranks a capital letter."""
    shown = one_rank(
        placement(1, "a", "main", 0, "1", "0-191", 37, "escaped"),
        placement(2, "b", "main", 0, "1", "1", 1),
        planned="1",
    )

    assert marks(shown)[1] == ("seat", "A")


def test_of_several_cpus_those_where_the_rank_runs_are_no_empty_seats() -> None:
    """The capital letter says that this one is taken."""
    shown = one_rank(
        placement(1, "a", "main", 0, "1-2", "0-191", 37, "escaped"),
        placement(2, "b", "main", 0, "1-2", "1-2", 1),
        planned="1-2",
    )

    assert marks(shown) == {1: ("ran", "A"), 2: ("seat", "A"), 37: ("escaped", "A")}


def test_a_stranger_in_the_seat_outranks_it() -> None:
    """Who took it is the greater news."""
    left = placement(1, "a", "main", 0, "1", "0-191", 37, "escaped")
    waits = placement(2, "b", "main", 0, "1", "1", 1)
    found = Finding("shared", "warning", "CPU 1", "41 % of it used by others", "", "", (waits.key,), 0)

    assert marks(replace(one_rank(left, waits, planned="1"), findings=(found,)))[1] == ("stranger", "A")


def test_a_target_of_many_cpus_has_no_seat() -> None:
    """Which of eight CPUs would be the empty one?"""
    shown = one_rank(placement(1, "main", "main", 0, "0-7", "0-191", 37, "escaped"), planned="0-7")

    assert {mark for mark, _ in marks(shown).values()} == {"planned", "escaped"}


def test_an_escaped_thread_that_is_back_home_marks_nothing() -> None:
    """It ran inside in this interval."""
    shown = one_rank(placement(1, "main", "main", 0, "1", "0-191", 1, "escaped"), planned="1")

    assert marks(shown) == {1: ("ran", "A")}


def test_without_a_plan_letters_show_where_a_rank_ran() -> None:
    """All else is free."""
    shown = one_rank(placement(1, "main", "unnamed", 0, None, "0-191", 50, "unplanned"), planned="")

    assert marks(shown) == {50: ("ran", "A")}


def test_two_owners_of_a_quiet_cpu_are_several() -> None:
    """An overlap of plans is neither's letter."""
    on = machine(KUNPENG)
    ranks = [rank_view("A", 1, 0, "0-1", [], None, "0"), rank_view("B", 2, 1, "1-2", [], None, "0")]

    assert marks(report("x", on, [], ranks)) == {0: ("planned", "A"), 1: ("several", ""), 2: ("planned", "B")}


def test_a_planned_cpu_that_is_not_in_the_target_cannot_be_held() -> None:
    """What the cpuset or the kernel took away is marked on the CPU."""
    cut = Target(CpuSet.parse("0-3"), CpuSet.parse("0-2"), reports.NOWHERE, "main of device0")
    shown = one_rank(replace(placement(1, "main", "main", 0, "0-3", "0-2", 0), target=cut))

    assert marks(shown)[3] == ("blocked", "A")


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 3, 0, 1)])
def test_a_cpu_that_several_lost_has_the_letter_of_the_lowest_rank(order: tuple[int, ...]) -> None:
    """Whatever the order of the threads, ranks before the scheduler."""
    lost = Target(CpuSet.parse("0-3"), CpuSet.parse("0-2"), reports.NOWHERE, "main")
    made = [
        replace(placement(9 + at, "main", "main", rank, "0-3", "0-2", 0), target=lost)
        for at, rank in enumerate((0, 1, 2, None))
    ]
    ranks = [rank_view("ABC"[at], 9 + at, at, "0-3", [made[at]], None, "0") for at in range(3)]

    assert marks(report("x", machine(KUNPENG), [made[at] for at in order], ranks))[3] == ("blocked", "A")
    assert marks(report("x", machine(KUNPENG), [made[3]], []))[3] == ("blocked", "S")


def test_isolated_and_forbidden_cpus_are_told_from_free_ones() -> None:
    """Only where nobody planned them."""
    on = machine(KUNPENG, isolated="5")
    facts = ProcessFacts(1, 0, 0, 1, "python", (), None, cpuset=CpuSet.parse("0-9"))
    shown = report("x", on, [], [])
    shown = replace(shown, sample=replace(shown.sample, processes={1: facts}))

    found = marks(shown)

    assert found[5] == ("isolated", "")
    assert found[10] == ("denied", "")
    assert 9 not in found


def test_a_cpu_that_others_use_while_its_owner_waits_has_a_stranger() -> None:
    """As the finding says it."""
    own = placement(7, "infer_queue", "runtime", 0, "2", "2", 2)
    shown = replace(
        one_rank(own),
        findings=(Finding("shared", "warning", "CPU 2", "41 % of it used by others", "", "", (own.key,), 0),),
    )

    assert marks(shown)[2] == ("stranger", "A")


def test_a_narrow_thread_marks_the_cpu_it_is_crammed_on() -> None:
    """Also while it waits."""
    shown = one_rank(placement(1, "loader", "loader", 0, "0-7", "0", 0, "narrow", busy=0.0), planned="0-7")

    assert marks(shown)[0] == ("narrow", "A")


def test_folding_keeps_the_worst_mark_never_the_commonest() -> None:
    """One escape among many busy CPUs is an escape."""
    cells = [Cell("ran", "A", "m", 8)] * 15 + [Cell("escaped", "F", " ", 2)]

    assert folded(cells, busier=True) == Cell("escaped", "F", " ", 8)
    assert folded(cells, busier=False).step == 8
    assert folded([Cell("ran", "A"), Cell("ran", "B")], busier=True).mark == "several"
