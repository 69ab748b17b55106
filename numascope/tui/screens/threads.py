"""Threads: every thread against its plan, and the picked one in words and on the machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

from textual import on
from textual.widget import Widget
from textual.widgets import Input

from numascope.review.report import Report
from numascope.show.canvas import fitted, text_cells
from numascope.show.detail import detail_lines
from numascope.show.ink import Line, Span
from numascope.show.rows import head_line
from numascope.tui.screens.page import Page
from numascope.tui.widgets.lines import LinesView
from numascope.tui.widgets.thread_table import TableHeads, ThreadTable

_FRAME_ROWS: Final = 5
"""Two lines on top, order or filter, the heads, the keys."""
_LEAST_TABLE: Final = 6


class ThreadsPage(Page):
    """The table with its sort and filter, and the detail of the picked thread below."""

    page: ClassVar[str] = "threads"

    def body(self) -> Iterable[Widget]:
        """Order and filter, heads, rows, detail."""
        yield LinesView(id="order")
        yield Input(placeholder="part of a name, rank:3, role:main, cpu:37, not ok, idle", id="filter", compact=True)
        yield TableHeads(id="heads")
        yield ThreadTable(id="table")
        yield LinesView(id="detail")

    def on_mount(self) -> None:
        """Keys go to the table."""
        self.query_one(Input).display = False
        self.query_one(ThreadTable).focus()

    def draw_body(self, report: Report) -> None:
        """Rows and detail."""
        table = self.query_one(ThreadTable)
        table.show_report(report)
        self._draw_around(report)

    def _draw_around(self, report: Report) -> None:
        width, height = self.size
        table = self.query_one(ThreadTable)
        rows = min(16, max(0, (height - _FRAME_ROWS - _LEAST_TABLE)) * 2 // 3)
        detail = self.query_one("#detail", LinesView)
        lines = detail_lines(report, table.picked, width, rows) if rows > 2 else []
        if len(detail.lines) != len(lines):
            detail.styles.height = len(lines)
            self.call_after_refresh(self.redraw)
        detail.show(lines)
        self.query_one("#heads", LinesView).show([head_line(width, table.sort)])
        self.query_one("#order", LinesView).show([self._order_line(table, width, height - _FRAME_ROWS - len(lines))])

    def _order_line(self, table: ThreadTable, width: int, rows_shown: int) -> Line:
        """The rows that are shown are told, as the table itself may not have been laid out anew."""
        top = table.scroll_offset.y
        last = min(table.row_count, top + max(1, rows_shown))
        rows = f"rows {min(top + 1, table.row_count)}-{last} of {table.row_count} "
        spans = [
            Span(" sort: ", "dim"),
            Span(table.sort),
            Span(" (s)  filter: ", "dim"),
            Span(table.filter_text or "none"),
            Span(" (/)", "dim"),
        ]
        used = sum(text_cells(span.text) for span in spans)
        return fitted([*spans, Span(" " * (width - used - len(rows))), Span(rows, "dim")], width)

    @on(ThreadTable.CursorMoved)
    def _moved(self) -> None:
        if self.can_draw() and self.dashboard.report is not None and not self.too_small():
            self._draw_around(self.dashboard.report)

    @on(ThreadTable.ThreadOpened)
    def _light(self, event: ThreadTable.ThreadOpened) -> None:
        self.dashboard.light.put_on(event.key)

    @on(TableHeads.SortChosen)
    def _sort(self, event: TableHeads.SortChosen) -> None:
        self.query_one(ThreadTable).sort_by(event.sort)

    @on(ThreadTable.FilterWanted)
    def _type_filter(self) -> None:
        line = self.query_one(Input)
        line.value = self.query_one(ThreadTable).filter_text
        line.display = True
        self.query_one("#order", LinesView).display = False
        line.focus()

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self.set_filter(event.value)

    @on(Input.Submitted)
    def _done(self) -> None:
        self.close_filter()

    def set_filter(self, text: str) -> None:
        """Shows the threads that this filter lets through."""
        table = self.query_one(ThreadTable)
        if table.filter_text != text:
            table.set_filter(text)

    def step_back(self) -> bool:
        """Out of the filter line, then without a filter, then to the first screen."""
        return self.close_filter() or self._clear_filter() or super().step_back()

    def next_finding(self, report: Report, step: int) -> None:
        """Picks a finding's thread."""
        table = self.query_one(ThreadTable)
        keys = [key for finding in report.findings for key in finding.keys]
        at = keys.index(table.cursor_key) if table.cursor_key in keys else -1 if step > 0 else 0
        if keys:
            table.pick(keys[(at + step) % len(keys)])

    def close_filter(self) -> bool:
        """Puts the filter line away; tells whether it was open."""
        line = self.query_one(Input)
        was_open = bool(line.display)
        line.display = False
        self.query_one("#order", LinesView).display = True
        if was_open:
            self.query_one(ThreadTable).focus()
            self.redraw()
        return was_open

    def _clear_filter(self) -> bool:
        had = bool(self.query_one(ThreadTable).filter_text)
        self.set_filter("")
        self.redraw()
        return had
