from __future__ import annotations

import pytest
import reports
from hypothesis import given, settings
from hypothesis import strategies as st
from reports import placement, rank_view, report
from shapes import Shape, machine

from numascope.cpuset import CpuSet
from numascope.machine.objects import Node
from numascope.review.report import Report
from numascope.show.canvas import cells as line_cells
from numascope.show.ink import plain
from numascope.show.map.layout import map_layout, map_rows
from numascope.show.map.picture import map_picture

KUNPENG = Shape(4, 2, 1, 24, cluster=4)
EPYC = Shape(2, 1, 12, 8, threads=2)
HUGE = Shape(16, 1, 8, 8, threads=2)


def text_of(shown: Report, width: int, rows: int) -> list[str]:
    """The picture's lines as text."""
    return [plain(line) for line in map_picture(shown, width, rows, {}).lines]


def test_planned_cpus_that_are_offline_are_named_below_the_map() -> None:
    """They have no cell: the kernel no longer says where they are."""
    on = machine(KUNPENG, offline="3")
    shown = report("x", on, [], [rank_view("A", 1, 0, "0-3", [], None, "0")])

    assert "⊘ 3 planned, offline" in text_of(shown, 80, 9)[-1]


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


def memory_only(shape: Shape, *free_gib: float) -> Report:
    """A machine with nodes that have memory and no CPU."""
    on = machine(shape)
    first = len(on.nodes)
    far = tuple(Node(first + at, CpuSet(), 2**26, round(free * 2**20)) for at, free in enumerate(free_gib))
    return report("x", on._replace(nodes=(*on.nodes, *far)), [], [])


@pytest.mark.parametrize("shape", [Shape(1, 1, 1, 4), KUNPENG])
def test_a_node_without_cpus_is_named_with_its_free_memory(shape: Shape) -> None:
    """It has no cell, so a line under the map says it, on a small machine and a large one."""
    shown = memory_only(shape, 31.25)
    name = f"N{shown.machine.nodes[-1].id}"

    assert f" memory only: {name} 31.2 GiB free" in text_of(shown, 80, 14)
    assert text_of(shown, 80, 9 if shape is KUNPENG else 5)[-1].startswith(f" memory only: {name} 31.2 GiB free. 1 ")


def test_many_nodes_without_cpus_are_one_sum() -> None:
    """A line is a line."""
    assert " memory only: N1-8 48.0 GiB free" in text_of(memory_only(Shape(1, 1, 1, 4), *[6.0] * 8), 80, 12)


def test_up_to_eight_cpus_are_meters_with_names() -> None:
    """The escaped guest stands first, marked before the owner's letter."""
    lines = text_of(reports.two_cpus(), 80, 9)

    assert lines[0].startswith(" CPU 0 ◇A  ███")
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
