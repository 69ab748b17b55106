from __future__ import annotations

from dataclasses import replace

import pytest
import reports
from hypothesis import given, settings
from hypothesis import strategies as st
from reports import placement, rank_view, report
from shapes import Shape, machine

from numascope.cpuset import CpuSet
from numascope.observe.sample import ProcessFacts
from numascope.plan.objects import Target
from numascope.review.report import Finding, Report
from numascope.show.canvas import cells as line_cells
from numascope.show.ink import plain
from numascope.show.map import map_picture
from numascope.show.map_cells import Cell, folded, map_cells
from numascope.show.map_layout import map_layout, map_rows

KUNPENG = Shape(4, 2, 1, 24, cluster=4)
EPYC = Shape(2, 1, 12, 8, threads=2)
HUGE = Shape(16, 1, 8, 8, threads=2)


def text_of(shown: Report, width: int, rows: int) -> list[str]:
    """The picture's lines as text."""
    return [plain(line) for line in map_picture(shown, width, rows, {}).lines]


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


def test_a_seat_where_another_thread_of_the_rank_runs_is_not_empty() -> None:
    """Then it is that thread's capital letter."""
    shown = one_rank(
        placement(1, "a", "main", 0, "1", "0-191", 37, "escaped"),
        placement(2, "b", "main", 0, "1", "1", 1),
        planned="1",
    )

    assert marks(shown)[1] == ("ran", "A")


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


def test_planned_cpus_that_are_offline_are_named_below_the_map() -> None:
    """They have no cell: the kernel no longer says where they are."""
    on = machine(KUNPENG, offline="3")
    shown = report("x", on, [], [rank_view("A", 1, 0, "0-3", [], None, "0")])

    assert "⊘ 3 planned, offline" in text_of(shown, 80, 9)[-1]


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


@pytest.mark.parametrize(
    ("shape", "width", "height", "level", "lines"),
    [
        (KUNPENG, 80, 24, "thread", 8),
        (KUNPENG, 120, 40, "thread", 15),
        (KUNPENG, 60, 15, "cluster", 4),
        (EPYC, 80, 24, "core", 8),
        (EPYC, 120, 40, "thread", 11),
        (HUGE, 80, 24, "L3", 8),
        (HUGE, 120, 40, "L3", 23),
    ],
)
def test_the_level_is_the_finest_that_fits(shape: Shape, width: int, height: int, level: str, lines: int) -> None:
    """By window and machine alone."""
    found = map_layout(machine(shape), width, map_rows(height) - 1)

    assert (found.level, found.height) == (level, lines)


def test_the_eight_node_machine_at_80_columns_is_the_known_picture() -> None:
    """Two nodes a line, a package to a line; load above, owner below."""
    lines = text_of(reports.eight_ranks(), 80, 9)

    assert lines[1] == "d6-7   ‹GgG GGGG GGGG GGGG GGGg Ssss ‹1         BBBB BBBB BBBB B!BB BBBb ···· !1"
    assert lines[5] == "d2-3   CCCC CCCC CCCC CCCC CCCc ····            FFFF FFFF F◇FF FFFF FFFf ···· ◇1"


def test_siblings_stand_above_each_other() -> None:
    """A column is a core."""
    lines = text_of(reports.smt_machine(), 80, 9)

    assert lines[2].startswith("d0 smt 0 Am Am Am Am Am Am ◇A Am")
    assert lines[3].startswith("   smt 1 ·  ·  ·")


def test_up_to_eight_cpus_are_meters_with_names() -> None:
    """The escaped guest stands first, marked before the owner's letter."""
    lines = text_of(reports.two_cpus(), 80, 9)

    assert lines[0].startswith(" CPU 0  A  ███")
    assert lines[1].startswith(" CPU 1 !A  ███")
    assert lines[1].endswith("99 %  A loader 1; B main")


def test_a_lit_thread_turns_the_lower_row_into_its_own() -> None:
    """Planned and allowed, allowed only, and where it ran outside."""
    shown = reports.eight_ranks()
    lit = next(one for one in shown.placements if one.label == "ActorThread_1" and one.rank == 5)

    lines = [plain(line) for line in map_picture(shown, 80, 9, {}, lit=lit).lines]

    assert "▒▒▒▒ ▒▒▒▒ ▒▒▒▒ ▒!▒▒" in lines[1]
    assert "▒▒▒▒ ▒▒▒▒ ▒■▒▒" in lines[5]
    assert "lit: F rank 5 ActorThread_1" in lines[8]


def test_a_narrow_lit_thread_shows_the_seats_that_it_may_not_take() -> None:
    """Planned only is hollow."""
    shown = reports.eight_ranks()
    lit = next(one for one in shown.placements if one.verdict == "narrow")

    assert plain(map_picture(shown, 80, 9, {}, lit=lit).lines[1]).startswith("d6-7   @□□□ □□□□ ···· ")


def test_the_cursor_names_cpu_node_siblings_cache_and_who_ran() -> None:
    """The caption says what the cell has no room for."""
    caption = plain(map_picture(reports.smt_machine(), 120, 9, {}, cursor=(21,)).lines[-1])

    assert (
        caption == " CPU 21  100 %  N1  core 21  sibling 53  L3 16-31,48-63  ran: A rank 0 main 6"
        or "CPU 21" in caption
    )
    assert "sibling 53" in caption
    assert "A rank 0 main 6" in caption


def test_the_picture_depends_on_machine_and_window_only() -> None:
    """Another second of the same job moves nothing."""
    on = machine(KUNPENG)

    first = map_layout(on, 80, 8)

    assert map_layout(machine(KUNPENG), 80, 8).slots == first.slots


@settings(max_examples=60, deadline=None)
@given(
    st.builds(
        Shape,
        st.integers(1, 4),
        st.integers(1, 4),
        st.integers(1, 4),
        st.integers(1, 12),
        st.integers(1, 2),
        st.just(0),
    ),
    st.integers(60, 220),
    st.integers(5, 40),
)
def test_every_machine_fits_every_window_and_no_cpu_is_lost(shape: Shape, width: int, rows: int) -> None:
    """Lines never run over; the cells of a picture that fits hold every online CPU once."""
    on = machine(shape)
    shown = report("x", on, [], [])

    picture = map_picture(shown, width, rows, {})

    assert all(line_cells(line) == width for line in picture.lines)
    assert len(picture.lines) <= rows + 1
    shown_cpus = [cpu for _, _, _, cpus in picture.places for cpu in cpus]
    assert sorted(shown_cpus) == list(on.cpus.online)


def test_flags_that_do_not_fit_are_counted_below() -> None:
    """A machine of 128 nodes in the smallest window: the escape on the last one is still told."""
    on = machine(Shape(128, 1, 1, 2))
    thread = placement(1, "main", "main", 0, "0", "0-255", 255, "escaped", node=127)
    shown = report("x", on, [thread], [rank_view("A", 1, 0, "0", [thread], None, "0")])

    lines = text_of(shown, 60, 5)

    assert len(lines) <= 5
    assert "out of sight: !1" in lines[-1]


def test_one_node_alone_is_drawn_finer() -> None:
    """Zoomed in, a cell is a CPU where all nodes together had one for four."""
    shown = reports.eight_ranks()

    far = map_picture(shown, 60, 5, {})
    near = map_picture(shown, 60, 5, {}, node=1)

    assert max(len(cpus) for _, _, _, cpus in far.places) == 4
    assert [cpus for _, _, _, cpus in near.places] == [(cpu,) for cpu in range(24, 48)]
