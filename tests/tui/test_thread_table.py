from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import reports
from reports import placement, rank_view, report
from screens import Scripted, drive
from shapes import Shape, machine
from textual.pilot import Pilot

from numascope.review.report import Placement, Report
from numascope.show.ink import plain
from numascope.show.rows import head_line
from numascope.tui.app import Dashboard
from numascope.tui.messages import ReportReady
from numascope.tui.widgets.machine_map import MachineMap
from numascope.tui.widgets.row_order import GONE_SAMPLES, RowOrder
from numascope.tui.widgets.thread_table import ThreadTable

HEIGHT = 40


def ten_thousand() -> Report:
    """As many threads as a large job has."""
    on = machine(Shape(2, 1, 1, 8))
    threads = [placement(1000 + at, f"t{at}", "omp", 0, "0-7", "0-7", at % 8, busy=0.1) for at in range(10_000)]
    return report("python 1", on, threads, [rank_view("A", 1000, 0, "0-7", threads, None, "0")])


def numbered(base: Report, number: int, threads: Sequence[Placement] | None = None) -> Report:
    """The next sample."""
    shown = base.placements if threads is None else tuple(threads)
    return replace(base, sample=replace(base.sample, number=number), placements=shown)


def everything(_report: Report, _placement: Placement) -> bool:
    """No filter."""
    return True


def test_a_report_of_ten_thousand_threads_draws_what_the_screen_holds() -> None:
    """Lines drawn follow the screen, not the job; an unchanged report draws none."""
    base = ten_thousand()
    drawn: list[int] = []

    async def look(app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("2")
        await pilot.pause()
        table = app.screen.query_one(ThreadTable)
        for threads in (base.placements, tuple(replace(one, busy=0.9) for one in base.placements)):
            before = table.lines_rendered
            app.on_report_ready(ReportReady(numbered(base, 2 + len(drawn), threads)))
            await pilot.pause()
            drawn.append(table.lines_rendered - before)
        before = table.lines_rendered
        await pilot.press("down")
        await pilot.pause()
        drawn.append(table.lines_rendered - before)

    drive(Dashboard(Scripted(base, interval_s=3600.0), clock=lambda: 0.0), (120, HEIGHT), steps=look)

    assert drawn[0] == 0
    assert 0 < drawn[1] <= HEIGHT
    assert drawn[2] == 2


def test_only_changed_lines_of_the_map_are_drawn() -> None:
    """One CPU that becomes busy repaints its two lines, the rest stays."""
    base = reports.eight_ranks()
    loads = {**base.loads, 23: 0.9}
    drawn: list[int] = []

    async def look(app: Dashboard, pilot: Pilot[None]) -> None:
        machine_map = app.screen.query_one(MachineMap)
        for shown in (numbered(base, 2), replace(numbered(base, 3), loads=loads)):
            before = machine_map.lines_rendered
            app.on_report_ready(ReportReady(shown))
            await pilot.pause()
            drawn.append(machine_map.lines_rendered - before)

    drive(Dashboard(Scripted(base, interval_s=3600.0), clock=lambda: 0.0), (80, 24), steps=look)

    assert drawn == [0, 1]


def test_the_last_of_many_rows_is_reached_at_once() -> None:
    """End and Home."""
    base = ten_thousand()

    text = drive(Dashboard(Scripted(base), clock=lambda: 0.0), (80, 24), ("2", "end"))

    assert "of 10000" in text
    assert "▌✓ ok        A 0  t9999" in text


def test_rows_hold_still_while_figures_change() -> None:
    """The order is made when a sort is chosen, not each tick."""
    base = reports.eight_ranks()
    order = RowOrder()
    order.update(base, everything)
    before = [row.placement.key for row in order.rows()]

    order.update(numbered(base, 8, [replace(one, busy=1.0 - (one.busy or 0)) for one in base.placements]), everything)

    assert [row.placement.key for row in order.rows()] == before


def test_new_threads_join_the_end_and_gone_ones_stay_a_while() -> None:
    """Nothing jumps under the finger."""
    base = reports.two_cpus()
    order = RowOrder()
    order.update(base, everything)
    newcomer = placement(300, "new", "loader", 0, "0", "0", 0)
    left = [*base.placements[1:], newcomer]

    order.update(numbered(base, 8, left), everything)
    rows = order.rows()

    assert rows[-1].placement.label == "new"
    assert [row.gone for row in rows if row.placement.key == base.placements[0].key] == [1]
    for number in range(9, 9 + GONE_SAMPLES):
        order.update(numbered(base, number, left), everything)
    assert base.placements[0].key not in {row.placement.key for row in order.rows()}


def test_a_report_drawn_twice_does_not_age_gone_rows() -> None:
    """Gone counts samples, not repaints."""
    base = reports.two_cpus()
    order = RowOrder()
    order.update(base, everything)
    for _ in range(3):
        order.update(numbered(base, 8, base.placements[1:]), everything)

    assert max(row.gone for row in order.rows()) == 1


def test_a_gone_thread_is_shown_as_gone() -> None:
    """Its last figures stay, dim."""
    base = reports.two_cpus()

    async def look(app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("2")
        await pilot.pause()
        app.on_report_ready(ReportReady(numbered(base, 9, base.placements[1:])))
        await pilot.pause()

    text = drive(Dashboard(Scripted(base, interval_s=3600.0), clock=lambda: 0.0), (80, 24), steps=look)

    assert "gone      A 0  main" in text


def test_s_goes_through_the_orders() -> None:
    """The head says which one is on."""
    text = drive(Dashboard(Scripted(reports.eight_ranks()), clock=lambda: 0.0), (80, 24), ("2", "s", "s"))

    assert "sort: busy" in text
    rows = text.splitlines()
    assert rows[4].split()[-7].startswith("0.9")


def test_a_click_on_a_head_orders_by_that_column() -> None:
    """A head that stands for no order does nothing."""
    sorts: list[str] = []

    async def click(app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("2")
        await pilot.pause()
        heads = plain(head_line(120, "verdict"))
        for head in ("busy", "wait/s", "tid", "cpu", "rank", "verdict"):
            await pilot.click("#heads", offset=(heads.index(head), 0))
            await pilot.pause()
            sorts.append(app.screen.query_one(ThreadTable).sort)

    drive(Dashboard(Scripted(reports.eight_ranks(), interval_s=3600.0), clock=lambda: 0.0), (120, 40), steps=click)

    assert sorts == ["busy", "wait", "wait", "cpu", "place", "verdict"]
