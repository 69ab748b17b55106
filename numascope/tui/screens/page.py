"""What every screen has: two lines on top, the keys at the bottom, and a body that draws a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widget import Widget

from numascope.review.report import Report
from numascope.show.canvas import fitted
from numascope.show.ink import Span
from numascope.tui.keys import key_line
from numascope.tui.widgets.lines import LinesView
from numascope.tui.widgets.status_bar import StatusBar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numascope.tui.app import Dashboard

SMALLEST = (60, 15)
"""Columns and rows below which nothing but a line is shown."""


class Page(Screen[None]):
    """A screen of the dashboard; `redraw` shows what the app now knows."""

    page: ClassVar[str] = ""
    has_parts = False
    """Its widgets stand: a slow machine may ask for a picture before."""

    @property
    def dashboard(self) -> Dashboard:
        """The app, by its own type."""
        return cast("Dashboard", self.app)

    def body(self) -> Iterable[Widget]:
        """The widgets between the top and the bottom lines."""
        raise NotImplementedError

    def draw_body(self, report: Report) -> None:
        """Shows the report."""
        raise NotImplementedError

    def step_back(self) -> bool:
        """One step back, and whether there was one: to the first screen."""
        self.dashboard.action_show("overview")
        return True

    def next_finding(self, report: Report, step: int) -> None:
        """Picks the finding that is so many further on; not where no findings stand."""

    def compose(self) -> ComposeResult:
        """The frame and the body."""
        yield LinesView(id="small")
        yield StatusBar(self.page)
        yield from self.body()
        yield LinesView(id="keys", panel=True)

    def too_small(self) -> bool:
        """Whether the window is below the smallest that is drawn."""
        return self.size.width < SMALLEST[0] or self.size.height < SMALLEST[1]

    def can_draw(self) -> bool:
        """Whether there is something to draw on: not before its widgets stand, and not while they are taken away."""
        return self.has_parts and self.display and self.size.width > 0

    def redraw(self) -> None:
        """Shows the newest report, state word and cost."""
        if not self.can_draw():
            return
        small = self.too_small()
        self.set_class(small, "-small")
        if small:
            self.query_one("#small", LinesView).show([fitted([Span("needs 60x15", "warn")], self.size.width)])
            return
        app = self.dashboard
        self.query_one(StatusBar).show_state(app.report, app.state_word(), app.notice())
        closed = {} if self.page == "help" else app.desk.closed_keys()
        cost, absent = app.cost_words(self.size.width), app.player.closed_keys()
        keys = key_line(self.page, self.size.width, cost, closed, absent)
        self.query_one("#keys", LinesView).show([keys])
        if app.report is not None:
            self.draw_body(app.report)

    def on_mount(self) -> None:
        """From here on there is something to draw on."""
        self.has_parts = True

    def on_resize(self, event: events.Resize) -> None:
        """Another window is another picture."""
        del event
        self.call_after_refresh(self.redraw)

    def on_screen_resume(self) -> None:
        """Coming back shows what is new."""
        self.call_after_refresh(self.redraw)
