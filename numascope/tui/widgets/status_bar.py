"""The two lines on top of every screen: the screens and the state word, what is watched and what is wrong."""

from __future__ import annotations

from typing import Final

from textual import events

from numascope.review.report import Report
from numascope.show.canvas import fitted, text_cells
from numascope.show.ink import Line, Span
from numascope.show.overview import clock, watched_line
from numascope.tui.widgets.lines import LinesView

TABS: Final = (("overview", "Overview"), ("threads", "Threads"), ("findings", "Findings"), ("journal", "Journal"))
"""Name and title of each screen, in the order of the number keys."""

_WIDE: Final = 100


def tab_spans(screen: str, width: int, findings: int) -> list[tuple[Span, str]]:
    """The tabs as spans, each with the name of its screen; the one that is shown stands in brackets."""
    lead = " numascope  " if width >= _WIDE else " "
    found = [(Span(lead, "lit", bold=True), "")]
    for at, (name, title) in enumerate(TABS, 1):
        count = f" {findings}" if name == "findings" and findings else ""
        text = f"{at} {title}{count}"
        here = name == screen
        wide = width >= _WIDE
        shown = f"[{text}]" if here else f" {text} " if wide else text
        found.append((Span(shown, "text" if here else "dim", bold=here), name))
        found.append((Span("  " if wide else " "), ""))
    return found


class StatusBar(LinesView):
    """Draws the two lines; a click on a tab opens its screen."""

    def __init__(self, screen: str) -> None:
        super().__init__(id="status", panel=True)
        self._page = screen
        self._findings = 0

    def show_state(self, report: Report | None, word: Span, notice: str) -> None:
        """Both lines of a report and a state word; a notice takes the place of what is watched."""
        width = self.size.width
        self._findings = 0 if report is None else len(report.findings)
        tabs = [span for span, _ in tab_spans(self._page, width, self._findings)]
        tail = [word, Span(" ")]
        if width >= _WIDE and report is not None:
            tail = [word, Span(f" · {clock(report)} ")]
        room = width - sum(text_cells(span.text) for span in tail)
        first = fitted([*fitted(tabs, room), *tail], width)
        second: Line
        if notice:
            second = fitted([Span(f" {notice}", "warn", bold=True)], width)
        elif report is None:
            second = fitted([Span(" reading the machine …", "dim")], width)
        else:
            second = watched_line(report, width, time=width < _WIDE)
        self.show((first, second))

    def ages(self, y: int) -> bool:
        """What is watched goes dim with the rest; screens and state word do not."""
        return y > 0

    def on_click(self, event: events.Click) -> None:
        """A click on a tab."""
        offset = event.get_content_offset(self)
        if offset is None or offset.y != 0:
            return
        at = 0
        for span, name in tab_spans(self._page, self.size.width, self._findings):
            at += text_cells(span.text)
            if offset.x < at:
                if name:
                    self.dashboard.action_show(name)
                return
