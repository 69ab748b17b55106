"""Findings: each in full, what was seen, and what to do; what could not be judged is said at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import on
from textual.widget import Widget

from numascope.review.report import Report
from numascope.show.canvas import fitted
from numascope.show.finding_lines import finding_names, full_findings
from numascope.show.ink import Line, Span
from numascope.tui.screens.page import Page
from numascope.tui.widgets.lines import LinesView
from numascope.tui.widgets.pick_list import PickList


class FindingsPage(Page):
    """The list of findings, worst first."""

    page: ClassVar[str] = "findings"

    def body(self) -> Iterable[Widget]:
        """The list, and the line of what was not judged."""
        yield PickList(id="all")
        yield LinesView(id="unjudged")

    def on_mount(self) -> None:
        """Keys go to the list."""
        self.query_one(PickList).focus()

    def draw_body(self, report: Report) -> None:
        """All findings in full."""
        width = self.size.width
        notes: Sequence[str] = [*report.sample.denied, *report.notes]
        note = f" Not judged: {'; '.join(notes)}" if notes else ""
        self.query_one("#unjudged", LinesView).show([fitted([Span(note, "dim")], width)])

        def entries(picked: int | None) -> Sequence[Sequence[Line]]:
            return full_findings(report, width, picked)

        self.query_one(PickList).show_entries(entries, finding_names(report))

    def next_finding(self, report: Report, step: int) -> None:
        """In the list."""
        self.query_one(PickList).pick_on(step, len(report.findings))

    @on(PickList.Opened)
    def _light(self, event: PickList.Opened) -> None:
        self.dashboard.light.put_on_finding(event.picked)
