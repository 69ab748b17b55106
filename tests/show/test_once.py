from __future__ import annotations

from dataclasses import replace

import pytest
import reports

from numascope.show.canvas import cells
from numascope.show.finding_lines import finding_blocks
from numascope.show.ink import plain, render
from numascope.show.once import once_lines
from numascope.show.overview import marks_of, watched_line
from numascope.show.rank_lines import ranks_table

ALL = (reports.eight_ranks, reports.two_cpus, reports.smt_machine, reports.epyc, reports.unplanned)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160, 400])
@pytest.mark.parametrize("made", ALL, ids=lambda made: made.__name__)
def test_the_page_is_short_and_no_line_is_too_wide(made: type, width: int) -> None:
    """At most 40 lines, whatever the machine; it is meant to be pasted."""
    lines = once_lines(made(), width)

    assert len(lines) <= 40
    assert max(cells(line) for line in lines) <= width


def test_many_ranks_and_findings_still_make_a_short_page() -> None:
    """The worst are told, the rest is counted."""
    shown = reports.eight_ranks()
    many = replace(shown, ranks=shown.ranks * 8, findings=shown.findings * 40)

    text = render(once_lines(many), colour=False)

    assert text.count("\n") <= 40
    assert "more ranks, none of them worse" in text
    assert "! F 5" in text
    assert "+10" in text


def test_the_page_starts_with_what_is_watched_and_ends_with_the_counts() -> None:
    """One line each."""
    lines = [plain(line) for line in once_lines(reports.eight_ranks())]

    assert lines[0].startswith(" msrun 41200 · 8 ranks · 162 threads · bind.json")
    assert "!1 ‹1" in lines[0]
    assert " 111 ok  1 escaped  1 narrow  49 unplanned  of 162 threads" in lines


def test_a_page_piped_to_a_file_has_no_codes() -> None:
    """And one for a terminal has them only where they mean something."""
    lines = once_lines(reports.two_cpus())

    assert "\x1b" not in render(lines, colour=False)
    assert "\x1b[1;7;91m" in render(lines, colour=True)


def test_marks_are_counted_worst_first_and_notes_are_no_marks() -> None:
    """An info finding does not raise a flag."""
    assert [(count, word) for _, count, word in marks_of(reports.eight_ranks())] == [(1, "escaped"), (1, "narrow")]


def test_all_in_order_is_said() -> None:
    """A tick and words instead of an empty place."""
    shown = reports.eight_ranks()
    good = tuple(one for one in shown.placements if one.verdict == "ok")
    calm = replace(shown, placements=good, findings=(), counts={"ok": len(good)})

    assert "✓ as planned" in plain(watched_line(calm, 80))
    assert "✓ no findings" in plain(finding_blocks(calm, 80, 3)[0][0])


def test_unknown_figures_are_question_marks() -> None:
    """Before the second sample no rate is known, and none is 0."""
    shown = reports.two_cpus()
    first = replace(
        shown, ranks=tuple(replace(one, busy=None, wait_ms_per_s=None, migrations_per_s=None) for one in shown.ranks)
    )

    assert plain(ranks_table(first, 80, 9)[1]).split()[-3:] == ["?", "?", "?"]


def test_a_picked_finding_is_in_view_where_rows_are_few() -> None:
    """The list scrolls to it."""
    shown = reports.eight_ranks()

    lines = [plain(line) for block in finding_blocks(shown, 80, 2, picked=2) for line in block]

    assert any(line.startswith("▌≠") for line in lines)
