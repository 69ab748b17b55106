"""Whole screens as text, kept under snapshots/screens: what a user sees at each size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import reports
from screens import Scripted, dashboard, drive, screen_rows
from textual.pilot import Pilot

from numascope.errors import NotPermittedError
from numascope.review.report import Report
from numascope.show.canvas import text_cells
from numascope.tui.app import Dashboard
from numascope.tui.messages import ReportReady
from numascope.tui.screens.page import Page
from numascope.tui.svg import screenshot_svg

SMALL, COMMON, LARGE, HUGE = (60, 15), (80, 24), (120, 40), (200, 60)
SIZES = (SMALL, COMMON, LARGE, HUGE)
SCREENS: dict[str, tuple[Callable[[], Report], tuple[str, ...]]] = {
    "overview": (reports.eight_ranks, ()),
    "overview-lit": (reports.eight_ranks, ("f", "enter")),
    "overview-cursor": (reports.eight_ranks, ("down", "right", "right")),
    "overview-two-cpus": (reports.two_cpus, ()),
    "overview-smt": (reports.smt_machine, ()),
    "overview-epyc": (reports.epyc, ()),
    "overview-no-plan": (reports.unplanned, ()),
    "overview-remote": (reports.remote_memory, ()),
    "overview-ended": (lambda: reports.ended(reports.eight_ranks()), ()),
    "threads": (reports.eight_ranks, ("2",)),
    "findings": (reports.eight_ranks, ("3", "down")),
    "help": (reports.two_cpus, ("question_mark",)),
}
KEPT = (
    *((name, size) for name in ("overview", "threads", "overview-two-cpus") for size in SIZES),
    *((name, COMMON) for name in SCREENS if name not in ("overview", "threads", "overview-two-cpus")),
    ("overview-lit", LARGE),
    ("overview-remote", LARGE),
    ("overview-epyc", LARGE),
    ("overview-epyc", HUGE),
    ("help", LARGE),
)


@pytest.mark.parametrize(
    ("name", "size"), KEPT, ids=lambda value: value if isinstance(value, str) else f"{value[0]}x{value[1]}"
)
def test_a_screen_is_the_one_kept(name: str, size: tuple[int, int], golden_screen: Callable[[str, str], None]) -> None:
    """Letter by letter."""
    made, keys = SCREENS[name]

    text = drive(dashboard(made()), size, keys)

    golden_screen(f"{name}--{size[0]}x{size[1]}", text)


@pytest.mark.parametrize("name", ["overview", "overview-lit", "threads", "findings"])
def test_no_color_takes_colour_and_nothing_else(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under NO_COLOR the same signs stand in the same places."""
    made, keys = SCREENS[name]
    coloured = drive(dashboard(made()), (80, 24), keys)
    monkeypatch.setenv("NO_COLOR", "")

    plain = drive(dashboard(made()), (80, 24), keys)

    assert plain == coloured


def test_no_color_leaves_no_colour_but_keeps_reverse(monkeypatch: pytest.MonkeyPatch) -> None:
    """An escape stands out by reverse where there are no colours."""
    monkeypatch.setenv("NO_COLOR", "1")
    seen: list[tuple[str, bool, bool]] = []

    async def look(app: Dashboard, pilot: Pilot[None]) -> None:
        del pilot
        for strip in app.screen._compositor.render_strips():
            for segment in strip.apply_filter(app._filters[-1], app.screen.background_colors[0]):
                style = segment.style
                coloured = style is not None and any(
                    colour is not None and not colour.is_default for colour in (style.color, style.bgcolor)
                )
                seen.append((segment.text, coloured, bool(style and style.reverse)))

    drive(dashboard(reports.eight_ranks()), (80, 24), steps=look)

    assert not [text for text, coloured, _ in seen if coloured]
    assert {text.strip() for text, _, reverse in seen if reverse} == {"!", "!1", "#"}


@pytest.mark.parametrize("theme", ["dark", "light", "contrast", "blind", "16"])
def test_a_theme_changes_no_letter(theme: str) -> None:
    """Meaning is in the signs: every palette shows the same text."""
    expected = drive(dashboard(reports.eight_ranks()), (80, 24))

    assert drive(dashboard(reports.eight_ranks(), theme=theme), (80, 24)) == expected


def test_ascii_is_the_same_picture_cell_for_cell() -> None:
    """The ASCII set holds no other character, and every row stays as wide as it was."""
    text = drive(dashboard(reports.eight_ranks(), ascii_only=True), (80, 24))

    assert text.isascii()
    assert "BBBB BBBB BBBB B!BB" in text
    assert "F_FF" in text


@pytest.mark.parametrize("size", [(61, 16), (79, 23), (99, 30), (100, 30), (159, 50), (160, 50), (250, 70)])
def test_no_row_is_wider_than_the_window(size: tuple[int, int]) -> None:
    """Whatever the window, rows fill it and never run over."""
    app = dashboard(reports.eight_ranks())
    widths: set[int] = set()

    async def look(app: Dashboard, pilot: Pilot[None]) -> None:
        del pilot
        widths.update(text_cells(row) for row in screen_rows(app))

    drive(app, size, steps=look)

    assert widths == {size[0]}


def test_a_window_that_is_too_small_says_what_it_needs() -> None:
    """Below 60 by 15 there is one line."""
    assert drive(dashboard(reports.eight_ranks()), (59, 15)).strip() == "needs 60x15"


def test_the_escaped_thread_is_told_in_four_places() -> None:
    """Where it ran, the seat that it left, the flags of both nodes, and the first finding with both numbers."""
    rows = drive(dashboard(reports.eight_ranks()), (80, 24)).splitlines()

    assert rows[3].endswith("B!BB BBBb ···· !1")
    assert rows[7].endswith("F◇FF FFFF FFFf ···· ◇1")
    assert "!1" in rows[1]
    assert rows[20].startswith(" ! F rank 5 ActorThread_1 ran 0.93 s outside, last on CPU 37 (N1); planned 129")


def test_a_target_that_ended_leaves_its_last_state() -> None:
    """After the last sample without threads the picture of the one before stays, with the word ENDED."""
    last = reports.eight_ranks()
    gone = replace(last, placements=(), ranks=(), findings=(), counts={}, ended=True)

    async def wait(app: Dashboard, pilot: Pilot[None]) -> None:
        while app.report is None or not app.report.ended:
            await pilot.pause(0.05)
        await pilot.pause()

    text = drive(Dashboard(Scripted(last, gone, interval_s=0.5), clock=lambda: 0.0), (80, 24), steps=wait)

    assert text.splitlines()[0].endswith("ENDED")
    assert "msrun 41200 is gone" in text
    assert "B!BB" in text


def test_a_report_in_part_says_so() -> None:
    """PARTIAL stands where `live` stands."""
    text = drive(dashboard(replace(reports.eight_ranks(), partial=True)), (80, 24))

    assert text.splitlines()[0].endswith("PARTIAL")


def test_no_report_for_three_intervals_is_stale() -> None:
    """The state word counts the seconds since the last report."""
    now = [0.0]
    app = Dashboard(Scripted(reports.eight_ranks(), interval_s=3600), clock=lambda: now[0])

    async def later(app: Dashboard, pilot: Pilot[None]) -> None:
        now[0] = 4 * 3600.0
        app.redraw()
        await pilot.pause()

    assert "STALE 14400s" in drive(app, (80, 24), steps=later).splitlines()[0]


def test_stale_figures_are_dim_and_fresh_ones_are_not() -> None:
    """All but the screens with the state word, and the keys; a new report brings the colours back."""
    now = [0.0]
    app = Dashboard(Scripted(reports.eight_ranks(), interval_s=3600.0), clock=lambda: now[0])
    colours: list[set[str]] = []

    def seen() -> set[str]:
        rows = app.screen._compositor.render_strips()[1:-1]
        return {
            segment.style.color.name for strip in rows for segment in strip if segment.style and segment.style.color
        }

    async def age(app: Dashboard, pilot: Pilot[None]) -> None:
        for at in (0.0, 4 * 3600.0):
            now[0] = at
            app.redraw()
            await pilot.pause()
            colours.append(seen())
        app.on_report_ready(ReportReady(reports.eight_ranks()))
        await pilot.pause()
        colours.append(seen())

    drive(app, (80, 24), steps=age)

    assert colours[1] == {app.palette.colours["dim"]}
    assert colours[0] == colours[2]
    assert len(colours[0]) > 8


def test_a_screen_that_is_taken_away_is_not_drawn() -> None:
    """A picture that was asked for just before the end comes too late."""
    pages: list[Page] = []

    async def keep(app: Dashboard, pilot: Pilot[None]) -> None:
        del pilot
        assert isinstance(app.screen, Page)
        assert app.screen.can_draw()
        pages.append(app.screen)

    drive(dashboard(reports.eight_ranks()), (80, 24), ("2",), steps=keep)

    assert not pages[0].can_draw()
    pages[0].redraw()


class Refusing:
    """A source that cannot read."""

    interval_s = 3600.0
    is_recorded = False
    pace = "live 1h"

    def step(self) -> Report:
        """Never gives a report."""
        raise NotPermittedError("may not read /proc/1/task: run as the same user or as root")

    def close(self) -> None:
        """Has nothing to give back."""


def test_a_sampler_that_fails_says_why() -> None:
    """The reason stands in the second line; the app goes on."""

    async def run(app: Dashboard, pilot: Pilot[None]) -> None:
        del app
        await pilot.pause(0.1)

    app = Dashboard(Refusing(), clock=lambda: 0.0)
    app.report = reports.two_cpus()

    assert "may not read /proc/1/task" in drive(app, (80, 24), steps=run)


def test_the_source_is_closed_when_the_dashboard_ends() -> None:
    """Descriptors are given back."""
    source = Scripted(reports.two_cpus())

    drive(Dashboard(source), (80, 24))

    assert source.closed


def test_a_picture_can_be_made_without_a_terminal() -> None:
    """The README's pictures come from the app itself."""
    svg = screenshot_svg(Scripted(reports.two_cpus()), 80, 24)

    assert svg.startswith("<svg")
    assert "torchrun" in svg
