from __future__ import annotations

from dataclasses import replace

import pytest
import reports

from numascope.review.report import Finding, Report
from numascope.show.canvas import cells
from numascope.show.finding_lines import finding_blocks, full_findings
from numascope.show.glyphs import CONDITIONS, VERDICTS, Glyph
from numascope.show.ink import plain, render
from numascope.show.once import once_lines
from numascope.show.overview import marks_of, watched_line
from numascope.show.rank_lines import rank_glyph, ranks_table
from numascope.show.remedy_lines import remedy_lines, remedy_parts

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


AWK = "ps -eLo pid,tid,psr,stat,cls,rtprio,pcpu,comm | awk '$3 == 10 && $4 ~ /^R/'"


def starved_rank() -> Report:
    """Rank 6, narrow as a note, starves; rank 5 has an escaped thread."""
    shown = reports.eight_ranks()
    escaped, narrow, far = shown.findings
    starved = Finding("starved", "error", "rank 6 loader 2 47312", "waits 990 ms/s for a CPU and gets 3",
                      "queued on CPU 10, allowed 0", f"see who runs there: {AWK}", narrow.keys, 6)  # fmt: skip
    return replace(shown, findings=(starved, escaped, replace(narrow, severity="info"), far))


def test_a_rank_has_the_worst_sign_by_severity_and_starved_before_escaped() -> None:
    """What only informs stands behind every warning and error, verdict or condition."""
    shown = starved_rank()
    own = [one for one in shown.findings if one.rank == 6]

    assert rank_glyph(shown.ranks[6], own) == CONDITIONS["starved"]
    assert rank_glyph(shown.ranks[6], own[1:]) == Glyph("‹", "<", "dim")
    assert rank_glyph(shown.ranks[5], shown.findings[:2]) == CONDITIONS["starved"]
    assert rank_glyph(shown.ranks[5], shown.findings[1:2]) == VERDICTS["escaped"]
    assert [plain(line)[:5] for line in ranks_table(shown, 80, 9)[6:8]] == [" ! F ", " ▲ G "]


def test_the_head_counts_by_severity_too() -> None:
    """The starved one first, the note of a narrow one last."""
    assert "▲1 !1 ‹1" in plain(watched_line(starved_rank(), 80))


def test_no_sign_stands_twice_in_the_head() -> None:
    """Blocked threads and a cut plan are two signs; rules of one sign are one count."""
    shown = reports.eight_ranks()
    rules = ("plan-cut", "plan-cut", "unbound", "elsewhere")
    findings = tuple(Finding(rule, "warning", f"{at}", "", "", "") for at, rule in enumerate(rules))
    both = replace(shown, counts={"ok": 3, "blocked": 2}, findings=findings)

    assert plain(watched_line(both, 80)).split()[-4:-1] == ["⊘2", "⊟2", "≠2"]


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_a_command_to_copy_is_whole_on_the_page(width: int) -> None:
    """It is never broken, and runs over where the page is narrower."""
    text = render(once_lines(starved_rank(), width), colour=False)

    assert AWK in text


@pytest.mark.parametrize("width", [60, 70, 80, 100])
def test_on_a_screen_a_command_stands_in_one_line_and_is_cut(width: int) -> None:
    """What is cut ends with a sign that says so, so nobody runs a half."""
    lines = [plain(line) for block in full_findings(starved_rank(), width) for line in block]
    command = next(line for line in lines if "ps -eLo" in line)

    assert max(len(line) for line in lines) <= width
    assert command.endswith("…") is (width < 80)
    assert (AWK in command) is (width >= 80)


def test_words_around_a_command_are_wrapped_and_the_command_is_not() -> None:
    """A loop over many threads with what lasts after it."""
    loop = f"for t in {' '.join(str(tid) for tid in range(47000, 47012))}; do taskset -cp 0-7 $t; done"
    remedy = f"{loop}; lasting: start without OMP_PROC_BIND"

    assert remedy_parts(remedy) == [(loop, True), ("lasting: start without OMP_PROC_BIND", False)]
    assert [plain(line) for line in remedy_lines(remedy, 80, whole_commands=True)] == [
        f"→ {loop}",
        "       lasting: start without OMP_PROC_BIND",
    ]
    assert remedy_parts("plan CPUs that are online and in the job's cpuset")[0][1] is False


@pytest.mark.parametrize("rows", range(4, 30))
def test_only_the_worst_has_evidence_where_rows_are_few(rows: int) -> None:
    """It is told in full before any later one is told in more than a line."""
    shown = starved_rank()
    many = replace(shown, findings=shown.findings * 5)
    sizes = [len(block) for block in finding_blocks(many, 80, rows)]
    full = [len(block) for block in full_findings(many, 80)]

    assert sum(sizes) <= rows
    assert sizes[0] > 1
    told = [at for at, size in enumerate(sizes) if size > 1]
    assert told == list(range(len(told)))
    assert [sizes[at] for at in told[:-1]] == [full[at] for at in told[:-1]]


def test_every_finding_can_be_picked_where_rows_are_few() -> None:
    """Those out of sight have a place without lines."""
    shown = starved_rank()
    many = replace(shown, findings=shown.findings * 5)

    for picked in range(20):
        blocks = finding_blocks(many, 80, 6, picked=picked)
        assert len(blocks) == 20
        assert plain(blocks[picked][0]).startswith("▌")


def test_all_in_order_is_said() -> None:
    """A tick and words instead of an empty place."""
    shown = reports.eight_ranks()
    good = tuple(one for one in shown.placements if one.verdict == "ok")
    calm = replace(shown, placements=good, findings=(), counts={"ok": len(good)})

    assert "✓ as planned" in plain(watched_line(calm, 80))
    assert "✓ no findings" in plain(finding_blocks(calm, 80, 3)[0][0])


def test_unknown_figures_are_question_marks() -> None:
    """Before the second sample no rate is known, and none is 0."""
    shown = reports.eight_ranks()
    first = replace(
        shown,
        ranks=tuple(
            replace(one, busy=None, wait_ms_per_s=None, migrations_per_s=None, memory=None) for one in shown.ranks
        ),
    )

    assert plain(ranks_table(first, 80, 9)[1]).split()[-5:] == ["?"] * 5


def test_a_picked_finding_is_in_view_where_rows_are_few() -> None:
    """The list scrolls to it."""
    shown = reports.eight_ranks()

    lines = [plain(line) for block in finding_blocks(shown, 80, 2, picked=2) for line in block]

    assert any(line.startswith("▌≠") for line in lines)
