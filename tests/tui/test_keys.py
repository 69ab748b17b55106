from __future__ import annotations

from dataclasses import replace

import pytest
import reports
from screens import Scripted, dashboard, drive
from textual.pilot import Pilot

from numascope.show.canvas import cells
from numascope.show.ink import plain
from numascope.tui.app import Dashboard
from numascope.tui.keys import KEYS, help_lines, key_line
from numascope.tui.messages import ReportReady
from numascope.tui.screens.threads import ThreadsPage
from numascope.tui.widgets.machine_map import MachineMap
from numascope.tui.widgets.pick_list import PickList
from numascope.tui.widgets.thread_table import ThreadTable

RESERVED = {"ctrl+a", "ctrl+b", "ctrl+s", "ctrl+q", "ctrl+z"}


def test_no_key_is_one_that_tmux_screen_or_flow_control_take() -> None:
    """Ctrl+A, B, S, Q do not reach an application."""
    names = {name for key in KEYS for name in key.keys.split(",")}

    assert not names & RESERVED


def test_the_app_has_no_binding_outside_the_table() -> None:
    """What Textual binds by itself (Ctrl+Q) is gone."""
    bound: set[str] = set()

    async def look(app: Dashboard, pilot: Pilot[None]) -> None:
        del pilot
        bound.update(app._bindings.key_to_bindings)

    drive(dashboard(reports.two_cpus()), (80, 24), steps=look)

    assert "ctrl+q" not in bound
    assert bound <= {name for key in KEYS for name in key.keys.split(",")}


def test_one_owner_has_no_key_twice() -> None:
    """A key means one thing in one place."""
    for owner in ("app", "map", "threads", "findings"):
        names = [name for key in KEYS if owner in key.owners for name in key.keys.split(",")]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("screen", ["overview", "threads", "findings", "help"])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_last_line_fits_and_names_the_way_out(screen: str, width: int) -> None:
    """Help and quit are never left out for want of room."""
    line = key_line(screen, width, " self 1.8%")

    assert cells(line) == width
    assert ("q quit" in plain(line)) == (screen != "help")
    assert plain(line).endswith("self 1.8%")


def test_help_tells_every_key() -> None:
    """It is made from the same table."""
    assert len(help_lines(120)) == len(KEYS)


def test_a_finding_lights_its_thread_and_escape_puts_it_out() -> None:
    """The key f picks, Enter lights, Esc unlights."""
    lit = drive(dashboard(reports.eight_ranks()), (80, 24), ("f", "enter"))
    out = drive(dashboard(reports.eight_ranks()), (80, 24), ("f", "enter", "escape"))

    assert "lit: F rank 5 ActorThread_1" in lit
    assert "lit:" not in out


def test_x_in_threads_lights_the_picked_thread_on_the_overview() -> None:
    """The second row of the table is the narrow loader."""
    text = drive(dashboard(reports.eight_ranks()), (80, 24), ("2", "down", "x"))

    assert text.startswith(" [1 Overview]")
    assert "lit: G rank 6 loader 2" in text


def test_enter_on_a_cpu_opens_the_threads_that_are_there() -> None:
    """CPU 0 holds two: the narrow loader and one of its kind."""
    text = drive(dashboard(reports.eight_ranks()), (80, 24), ("down", "enter"))

    assert "filter: cpu:0 " in text
    assert "rows 1-2 of 2" in text


def test_q_quits_and_first_leaves_help() -> None:
    """One step back, then out."""
    running: list[bool] = []

    async def look(app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("question_mark", "q")
        running.append(app.is_running and not app._exit)
        await pilot.press("q")
        running.append(not app._exit)

    drive(dashboard(reports.two_cpus()), (80, 24), steps=look)

    assert running == [True, False]


def test_a_filter_is_typed_and_cleared() -> None:
    """Letters that are keys elsewhere are letters in the filter line."""
    typed = drive(dashboard(reports.eight_ranks()), (80, 24), ("2", "slash", *"scaped", "enter"))
    cleared = drive(dashboard(reports.eight_ranks()), (80, 24), ("2", "slash", *"loader", "escape", "escape"))

    assert "filter: scaped" in typed
    assert "of 162" in cleared


def test_pause_holds_the_picture_and_goes_on_with_the_newest() -> None:
    """While paused reports go by unseen."""
    calm = reports.eight_ranks()
    other = replace(calm, title="msrun 99999")
    texts: list[str] = []

    async def look(app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("space")
        before = app.report
        app.on_report_ready(ReportReady(other))
        await pilot.pause()
        texts.append(app.state_word().text.strip())
        assert app.report is before
        await pilot.press("space")
        assert app.report is not None
        texts.append(app.report.title)

    drive(Dashboard(Scripted(calm, interval_s=3600.0), clock=lambda: 0.0), (80, 24), steps=look)

    assert texts == ["PAUSED", "msrun 99999"]


def test_t_goes_through_all_themes() -> None:
    """And back to the first."""
    names: list[str] = []

    async def look(app: Dashboard, pilot: Pilot[None]) -> None:
        for _ in range(5):
            await pilot.press("t")
            names.append(app.palette.name)

    drive(dashboard(reports.two_cpus()), (80, 24), steps=look)

    assert names == ["light", "contrast", "blind", "16", "dark"]


def test_a_click_picks_a_cell_a_row_and_a_tab() -> None:
    """The mouse does what the arrows do."""
    seen: list[object] = []

    async def look(app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.click(MachineMap, offset=(8, 1))
        seen.append(app.screen.query_one(MachineMap).cursor)
        await pilot.click("#status", offset=(16, 0))
        await pilot.pause()
        seen.append(isinstance(app.screen, ThreadsPage))
        await pilot.click(ThreadTable, offset=(5, 1))
        picked = app.screen.query_one(ThreadTable).picked
        seen.append(picked.verdict if picked else None)

    drive(dashboard(reports.eight_ranks()), (80, 24), steps=look)

    assert seen == [(1,), True, "narrow"]


def test_z_draws_the_node_of_the_escape_alone_and_capital_z_all_again() -> None:
    """In the smallest window a cell is then a CPU."""
    near = drive(dashboard(reports.eight_ranks()), (60, 15), ("z",))
    far = drive(dashboard(reports.eight_ranks()), (60, 15), ("z", "Z"))

    assert "N1 of 8 nodes (Z: all)" in near
    assert "BBBB BBBB BBBB B!BB BBBb" in near
    assert "N7" in far


def test_capital_f_goes_back() -> None:
    """From the first finding to the last."""
    picked: list[int | None] = []

    async def look(app: Dashboard, pilot: Pilot[None]) -> None:
        for key in ("f", "f", "F", "F"):
            await pilot.press(key)
            picked.append(app.screen.query_one(PickList).picked)

    drive(dashboard(reports.eight_ranks()), (80, 24), steps=look)

    assert picked == [0, 1, 0, 2]


def test_the_pick_follows_a_finding_that_moves() -> None:
    """Findings are sorted anew each time; the picked one is still the one that the user picked."""
    shown = reports.eight_ranks()
    turned = replace(shown, findings=shown.findings[::-1])
    picked: list[int | None] = []

    async def look(app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("f")
        app.on_report_ready(ReportReady(turned))
        await pilot.pause()
        picked.append(app.screen.query_one(PickList).picked)

    drive(Dashboard(Scripted(shown, interval_s=3600.0), clock=lambda: 0.0), (80, 24), steps=look)

    assert picked == [2]
