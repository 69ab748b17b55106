from __future__ import annotations

from dataclasses import replace

import pytest
import reports

from numascope.show.canvas import cells
from numascope.show.detail import detail_lines
from numascope.show.ink import plain
from numascope.show.rows import SORTS, filter_of, head_line, row_line, sorted_placements


@pytest.mark.parametrize("width", [60, 75, 76, 80, 99, 100, 109, 110, 120, 150, 200])
def test_rows_and_heads_are_as_wide_as_the_window(width: int) -> None:
    """No figure is cut at any width."""
    shown = reports.eight_ranks()
    escaped = next(one for one in shown.placements if one.verdict == "escaped")

    assert cells(head_line(width, "verdict")) == width
    assert cells(row_line(shown, escaped, width)) == width
    assert "…" not in plain(head_line(width, "verdict"))
    assert " 2 ms" in plain(row_line(shown, escaped, width))


def test_an_old_cpu_number_has_a_star_and_unknown_a_question_mark() -> None:
    """Neither looks like a fresh figure."""
    shown = reports.two_cpus()
    one = replace(shown.placements[0], cpu_stale=True, busy=None, allowed=None)

    assert "0* N0   0       ?" in plain(row_line(shown, one, 80))
    assert "  ?  " in plain(row_line(shown, one, 80))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("", 162), ("cpu:37", 3), ("rank:5", 20), ("rank:F", 20), ("role:main", 10), ("not ok", 51), ("escaped", 1),
        ("ActorThread", 16), ("actorthread_1 rank:5", 1), ("42317", 1), ("not ok, not unplanned", 2), ("idle", 1),
        ("not idle", 161), ("nothing-like-it", 0),
    ],
)  # fmt: skip
def test_a_filter_lets_through_what_it_says(text: str, number: int) -> None:
    """Words are all to hold; `not` turns the next one round."""
    shown = reports.eight_ranks()
    wanted = filter_of(text)

    assert sum(wanted(shown, one) for one in shown.placements) == number


def test_sorted_by_verdict_the_worst_is_on_top() -> None:
    """Then by how busy."""
    ordered = sorted_placements(reports.eight_ranks().placements, "verdict")

    assert [one.verdict for one in ordered[:3]] == ["escaped", "narrow", "unplanned"]


@pytest.mark.parametrize("sort", SORTS)
def test_every_order_keeps_every_thread(sort: str) -> None:
    """Also threads whose figures are unknown."""
    shown = reports.eight_ranks()
    blank = [replace(one, busy=None, wait_ms_per_s=None, cpu=None) for one in shown.placements[:5]]

    assert len(sorted_placements([*blank, *shown.placements[5:]], sort)) == len(shown.placements)


def test_the_detail_says_where_a_thread_ran_and_how_far_that_is() -> None:
    """In words and on the machine."""
    shown = reports.eight_ranks()
    escaped = next(one for one in shown.placements if one.verdict == "escaped")

    lines = [plain(line) for line in detail_lines(shown, escaped, 80, 9)]

    assert lines[1] == " verdict ! escaped  0.93 s outside on CPU 37 (N1); distance N5 to N1: 24"
    assert lines[2] == " planned 129  (runtime of device5, bind.json:34)   allowed 0-191"
    assert any("N1 ▒▒▒!▒▒" in line for line in lines)
    assert any("N5 ▒▒■▒▒▒" in line for line in lines)
