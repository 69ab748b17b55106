"""The question before anything is set: what counts as a yes, and what cannot be asked at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import reports
from screens import STEERING, Scripted, dashboard, drive, is_asking, screen_text, until
from textual import events
from textual.pilot import Pilot

from numascope.review.report import Report
from numascope.tui.app import Dashboard
from numascope.tui.messages import ReportReady
from numascope.tui.screens.confirm import Confirm


def test_a_y_that_was_typed_before_the_question_is_seen_does_not_count() -> None:
    """Both keys lie in the terminal's buffer when the first is read."""
    app = dashboard(reports.own(reports.eight_ranks()))

    async def steps(app: Dashboard, pilot: Pilot[None]) -> None:
        app.post_message(events.Key("a", "a"))
        app.post_message(events.Key("y", "y"))
        await until(pilot, lambda: is_asking(app))

    drive(app, (80, 24), steps=steps)


def test_a_list_that_changes_has_to_be_looked_at_again() -> None:
    """For a second `y` does nothing; a list of the same kinds of threads asks for no second look."""
    report = reports.own(reports.eight_ranks())
    at = next(at for at, one in enumerate(report.placements) if one.label == "loader 2" and one.verdict == "narrow")
    calm = replace(report.placements[at], allowed=report.placements[at].target.cpus, verdict="ok")  # type: ignore[union-attr]
    fewer = replace(report, placements=(*report.placements[:at], calm, *report.placements[at + 1 :]))
    seen: list[str] = []

    async def steps(app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("a")
        await until(pilot, lambda: is_asking(app))
        app.on_report_ready(ReportReady(replace(report, since_first_s=9.0)))
        await pilot.pause()
        seen.append(screen_text(app))
        app.on_report_ready(ReportReady(fewer))
        await pilot.press("y")
        seen.append(screen_text(app))
        assert isinstance(app.screen, Confirm)
        assert app.screen.state == "asking"
        await until(pilot, lambda: is_asking(app))

    drive(Dashboard(Scripted(report, interval_s=3600.0), steering=STEERING), (80, 24), steps=steps)

    assert "changed, look again" not in seen[0]
    assert "y  set 2 threads" in seen[0]
    assert "changed, look again" in seen[1]
    assert "y  set 1 thread " in seen[1]


@pytest.mark.parametrize(
    ("report", "word", "sentence"),
    [
        (reports.own(reports.unplanned()), "no plan", "no plan to apply"),
        (reports.ended(reports.own(reports.eight_ranks())), "ended", "is gone: there is nothing to set"),
        (reports.own(reports.eight_ranks(), uid=1007), "not permitted", "belong to uid 1007, not to us (uid 1004)"),
    ],
)
def test_what_cannot_be_done_stands_in_brackets_and_says_why(report: Report, word: str, sentence: str) -> None:
    """The key is shown, never hidden."""
    app = dashboard(report, steering=replace(STEERING, may_set_others=False))

    text = drive(app, (120, 40), ("a",))

    assert f"(a: {word})" in text
    assert sentence in text


def test_nothing_to_apply_is_one_line_and_no_question() -> None:
    """With the reasons why nothing is on the list."""
    report = reports.own(reports.eight_ranks())
    calm = tuple(one for one in report.placements if one.verdict == "ok")

    text = drive(dashboard(replace(report, placements=calm)), (80, 24), ("a",))

    assert "nothing to apply: 111 as planned already" in text


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_question_is_the_one_kept(size: tuple[int, int], golden_screen: Callable[[str, str], None]) -> None:
    """Letter by letter."""
    text = drive(dashboard(reports.own(reports.eight_ranks())), size, ("a",))

    golden_screen(f"confirm--{size[0]}x{size[1]}", text)


def test_a_question_in_a_window_that_is_too_small_cannot_be_answered() -> None:
    """What cannot be read is not agreed to."""

    async def steps(app: Dashboard, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: is_asking(app))
        await pilot.press("y")
        assert isinstance(app.screen, Confirm)
        assert app.screen.state == "asking"

    assert drive(dashboard(reports.own(reports.eight_ranks())), (40, 5), ("a",), steps=steps).strip() == "needs 60x15"
