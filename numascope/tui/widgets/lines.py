"""A widget of styled lines that repaints only the lines that changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from numascope.show.glyphs import to_ascii
from numascope.show.ink import Line, Span

if TYPE_CHECKING:
    from numascope.tui.app import Dashboard


class LinesView(Widget):
    """Shows lines as they are given; `panel` draws all of them on the panel ground, else only a picked one."""

    DEFAULT_CSS: ClassVar[str] = "LinesView { height: auto; width: 1fr; }"

    def __init__(self, *, id: str, panel: bool = False) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._lines: tuple[Line, ...] = ()
        self._panel = panel
        self.lines_rendered = 0
        """How many lines were drawn since the start: what a refresh costs."""

    @property
    def dashboard(self) -> Dashboard:
        """The app, by its own type."""
        return cast("Dashboard", self.app)

    @property
    def lines(self) -> tuple[Line, ...]:
        """What is shown."""
        return self._lines

    def show(self, lines: Sequence[Line]) -> None:
        """Shows these lines; only those that differ from what stood there are drawn anew."""
        before, self._lines = self._lines, tuple(lines)
        width = self.size.width
        for y in range(max(len(before), len(self._lines))):
            old = before[y] if y < len(before) else None
            new = self._lines[y] if y < len(self._lines) else None
            if old != new:
                self.refresh(Region(0, y, width, 1))

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        self.lines_rendered += 1
        line: Line = self._lines[y] if y < len(self._lines) else ()
        return draw(self.dashboard, line, self.size.width, panel=self._panel, ages=self.ages(y))

    def ages(self, y: int) -> bool:
        """Whether a line tells of the report, and so goes dim when that is stale: all but those on the panel."""
        del y
        return not self._panel


def draw(dashboard: Dashboard, line: Line, width: int, *, panel: bool = False, ages: bool = True) -> Strip:
    """A line in the dashboard's palette and sign set; a picked line (it starts with `▌`) stands on the panel, a stale one is dim."""
    picked = bool(line) and line[0].text.startswith("▌")
    if ages and dashboard.stale:
        line = tuple(Span(span.text, "dim", span.bold, span.reverse, span.underline) for span in line)
    shown = to_ascii(line) if dashboard.ascii_only else line
    return dashboard.palette.strip(shown, width, panel=panel or picked)
