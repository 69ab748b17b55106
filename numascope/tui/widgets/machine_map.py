"""The machine map on the screen: one Line API widget, whatever the number of CPUs."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from numascope.review.report import Placement, Report
from numascope.show.map.cells import ran_outside
from numascope.show.map.picture import Picture, Place, map_picture
from numascope.tui.keys import bindings_of
from numascope.tui.widgets.lines import LinesView


class MachineMap(LinesView, can_focus=True):
    """Draws the map of each report; arrows move a cursor over its cells."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("map")

    class CpusOpened(Message):
        """The user wants to see the threads on these CPUs."""

        def __init__(self, cpus: tuple[int, ...]) -> None:
            self.cpus = cpus
            super().__init__()

    def __init__(self, *, id: str) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self.cursor: tuple[int, ...] = ()
        self._picture: Picture | None = None
        self.node: int | None = None
        """The one node that is drawn; None: all."""
        self._report: Report | None = None
        self._rows = 0
        self._width = 0

    def place(self, width: int, rows: int) -> None:
        """The budget: columns, and rows with the caption among them."""
        self._width, self._rows = width, rows

    def show_report(self, report: Report, lit: Placement | None) -> int:
        """Draws the report, one thread lit or none; tells how many lines that takes."""
        self._report = report
        before = self._picture.steps if self._picture is not None else {}
        self._picture = map_picture(
            report, self._width, self._rows, before, lit=lit, cursor=self.cursor, node=self.node
        )
        self.show(self._picture.lines)
        return len(self._picture.lines)

    @property
    def _places(self) -> tuple[Place, ...]:
        return self._picture.places if self._picture is not None else ()

    def _move(self, rows: int, columns: int) -> None:
        places = self._places
        if not places:
            return
        at = next((one for one in places if one[3] == self.cursor), None)
        target = places[0] if at is None else _neighbour(places, at, rows, columns)
        self.cursor = target[3]
        self.dashboard.redraw()

    def clear_cursor(self) -> bool:
        """Takes the cursor away; tells whether there was one."""
        had = bool(self.cursor)
        self.cursor = ()
        return had

    def action_up(self) -> None:
        """The cell above."""
        self._move(-1, 0)

    def action_down(self) -> None:
        """The cell below."""
        self._move(1, 0)

    def action_left(self) -> None:
        """The cell to the left."""
        self._move(0, -1)

    def action_right(self) -> None:
        """The cell to the right."""
        self._move(0, 1)

    def zoom(self, *, closer: bool) -> None:
        """The node under the cursor alone (without a cursor the one where a thread escaped to), or all again."""
        if self._report is None:
            return
        nodes = self._report.machine.node_of
        escaped = next((one.cpu for one in self._report.placements if ran_outside(one) and one.cpu is not None), None)
        cpu = self.cursor[0] if self.cursor else escaped
        if closer:
            self.node = nodes.get(cpu) if cpu is not None else min(nodes.values(), default=None)
        else:
            self.node = None
        self.cursor = ()
        self.dashboard.redraw()

    def action_open(self) -> None:
        """The threads on the CPUs under the cursor."""
        if self.cursor:
            self.post_message(self.CpusOpened(self.cursor))

    def on_click(self, event: events.Click) -> None:
        """A click picks a cell, a second one opens it."""
        column, row = event.get_content_offset(self) or (-1, -1)
        hit = next(
            (one for one in self._places if one[0] in (row, row + 1) and one[1] <= column < one[1] + one[2]), None
        )
        if hit is None:
            return
        again = self.cursor == hit[3]
        self.cursor = hit[3]
        if again:
            self.action_open()
        self.dashboard.redraw()


def _neighbour(places: tuple[Place, ...], at: Place, rows: int, columns: int) -> Place:
    """The next cell in reading order, or the one nearest above or below; at the edge the cell itself."""
    if columns:
        index = places.index(at) + columns
        return places[max(0, min(len(places) - 1, index))]
    beyond = sorted({one[0] for one in places if (one[0] - at[0]) * rows > 0}, reverse=rows < 0)
    if not beyond:
        return at
    return min((one for one in places if one[0] == beyond[0]), key=lambda one: abs(one[1] - at[1]))
