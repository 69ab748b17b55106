"""The table of threads: thousands of rows, of which only those on the screen are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from numascope.observe.sample import ThreadKey
from numascope.review.report import Placement, Report
from numascope.show.ink import Line
from numascope.show.rows import SORTS, filter_of, row_line, sort_at
from numascope.tui.keys import bindings_of
from numascope.tui.widgets.lines import LinesView, draw
from numascope.tui.widgets.row_order import Row, RowOrder

if TYPE_CHECKING:
    from numascope.tui.app import Dashboard


class TableHeads(LinesView):
    """The heads of the table's columns; a click on one orders the rows by it."""

    class SortChosen(Message):
        """The user wants this order."""

        def __init__(self, sort: str) -> None:
            self.sort = sort
            super().__init__()

    def on_click(self, event: events.Click) -> None:
        """A click on a head that stands for an order."""
        offset = event.get_content_offset(self)
        sort = "" if offset is None else sort_at(self.size.width, offset.x)
        if sort:
            self.post_message(self.SortChosen(sort))


class ThreadTable(ScrollView, can_focus=True):
    """Rows of threads in a chosen order, filtered; the cursor stays with its thread."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("threads")
    DEFAULT_CSS: ClassVar[str] = "ThreadTable { height: 1fr; scrollbar-size-vertical: 0; overflow-x: hidden; }"

    class CursorMoved(Message):
        """Another thread is picked, or the order or filter is another one."""

    class FilterWanted(Message):
        """The user wants to type a filter."""

    class ThreadOpened(Message):
        """The user wants to see this thread on the map."""

        def __init__(self, key: ThreadKey) -> None:
            self.key = key
            super().__init__()

    def __init__(self, *, id: str) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._order = RowOrder()
        self._rows: list[Row] = []
        self._drawn: dict[int, Line] = {}
        self._report: Report | None = None
        self.cursor_key: ThreadKey | None = None
        self.filter_text = ""
        self.lines_rendered = 0
        """How many lines were drawn since the start: what a refresh costs."""

    @property
    def dashboard(self) -> Dashboard:
        """The app, by its own type."""
        return cast("Dashboard", self.app)

    @property
    def sort(self) -> str:
        """The order that the rows were last put in."""
        return self._order.sort

    @property
    def row_count(self) -> int:
        """Rows that pass the filter, gone ones among them."""
        return len(self._rows)

    @property
    def cursor_row(self) -> int:
        """Where the picked thread stands; the first row where it is not among them."""
        return next((at for at, row in enumerate(self._rows) if row.placement.key == self.cursor_key), 0)

    @property
    def picked(self) -> Placement | None:
        """The thread under the cursor."""
        return self._rows[self.cursor_row].placement if self._rows else None

    def show_report(self, report: Report) -> None:
        """Takes in a report and repaints the rows on the screen that changed."""
        self._report = report
        self._order.update(report, filter_of(self.filter_text))
        self._take_rows()

    def _take_rows(self) -> None:
        self._rows = self._order.rows()
        if self._rows and self.cursor_key is None:
            self.cursor_key = self._rows[0].placement.key
        wanted = Size(self.size.width, len(self._rows))
        if self.virtual_size != wanted:
            self.virtual_size = wanted
        before, self._drawn = self._drawn, {}
        top = self.scroll_offset.y
        for y in range(top, top + self.size.height):
            line = self._line(y)
            if before.get(y) != line:
                self.refresh(Region(0, y - top, self.size.width, 1))

    def _line(self, y: int) -> Line:
        found = self._drawn.get(y)
        if found is None:
            found = self._make_line(y)
            self._drawn[y] = found
        return found

    def _make_line(self, y: int) -> Line:
        if self._report is None or not 0 <= y < len(self._rows):
            return ()
        row = self._rows[y]
        picked = row.placement.key == self.cursor_key
        return row_line(self._report, row.placement, self.size.width, picked=picked, gone=bool(row.gone))

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        self.lines_rendered += 1
        return draw(self.dashboard, self._line(y + self.scroll_offset.y), self.size.width)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling draws other rows."""
        self._drawn.clear()
        super().watch_scroll_y(old_value, new_value)

    def on_resize(self) -> None:
        """Another width draws every row anew."""
        self._drawn.clear()
        self._take_rows()

    def set_filter(self, text: str) -> None:
        """Shows only the threads that the filter lets through, ordered anew."""
        self.filter_text = text
        self._order.clear()
        self._drawn.clear()
        if self._report is not None:
            self.show_report(self._report)
        self._go(0)
        self.refresh()

    def sort_anew(self) -> None:
        """Puts the rows in order again."""
        self._order.sort_by(self._order.sort)
        self._drawn.clear()
        self._take_rows()
        self.refresh()

    def pick(self, key: ThreadKey) -> bool:
        """Moves the cursor to a thread; tells whether it is among the rows."""
        at = next((at for at, row in enumerate(self._rows) if row.placement.key == key), None)
        if at is None:
            return False
        self._go(at)
        return True

    def _go(self, row: int) -> None:
        if not self._rows:
            return
        at = max(0, min(len(self._rows) - 1, row))
        self.cursor_key = self._rows[at].placement.key
        top, height = self.scroll_offset.y, max(1, self.size.height)
        if at < top:
            self.scroll_to(y=at, animate=False)
        elif at >= top + height:
            self.scroll_to(y=at - height + 1, animate=False)
        self._take_rows()
        self.post_message(self.CursorMoved())

    def action_up(self) -> None:
        """The row above."""
        self._go(self.cursor_row - 1)

    def action_down(self) -> None:
        """The row below."""
        self._go(self.cursor_row + 1)

    def action_page_up(self) -> None:
        """A page up."""
        self._go(self.cursor_row - max(1, self.size.height - 1))

    def action_page_down(self) -> None:
        """A page down."""
        self._go(self.cursor_row + max(1, self.size.height - 1))

    def action_home(self) -> None:
        """The first row."""
        self._go(0)

    def action_end(self) -> None:
        """The last row."""
        self._go(len(self._rows) - 1)

    def sort_by(self, sort: str) -> None:
        """Puts the rows in one of the orders of `SORTS`."""
        self._order.sort = sort
        self.sort_anew()
        self._go(self.cursor_row)

    def action_sort(self) -> None:
        """The next order."""
        self.sort_by(SORTS[(SORTS.index(self._order.sort) + 1) % len(SORTS)])

    def action_filter(self) -> None:
        """Opens the line to type a filter in."""
        self.post_message(self.FilterWanted())

    def action_open(self) -> None:
        """Lights the picked thread on the map."""
        if self.picked is not None:
            self.post_message(self.ThreadOpened(self.picked.key))

    def action_light(self) -> None:
        """The same as opening."""
        self.action_open()

    def on_click(self, event: events.Click) -> None:
        """A click picks a row, a second one opens it."""
        offset = event.get_content_offset(self)
        if offset is None or not 0 <= offset.y + self.scroll_offset.y < len(self._rows):
            return
        row = offset.y + self.scroll_offset.y
        again = self._rows[row].placement.key == self.cursor_key
        self._go(row)
        if again and event.chain > 1:
            self.action_open()
