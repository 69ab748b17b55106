"""Overview: the machine map, the ranks, the findings, each as large as the window allows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from textual import on
from textual.containers import Container
from textual.widget import Widget

from numascope.review.report import Report
from numascope.show.canvas import fitted
from numascope.show.finding_lines import finding_blocks, finding_names
from numascope.show.ink import Line, Span
from numascope.show.map.layout import map_rows
from numascope.show.overview import counts_line, rule_line
from numascope.show.rank_lines import ranks_table
from numascope.show.rows import worst_threads
from numascope.tui.screens.page import Page
from numascope.tui.widgets.lines import LinesView
from numascope.tui.widgets.machine_map import MachineMap
from numascope.tui.widgets.pick_list import PickList

_BESIDE: Final = 160
"""From this width on the ranks stand beside the map."""
_RANKS_WIDTH: Final = 68
_FRAME_ROWS: Final = 3
_FINDINGS_ROWS: Final = 3
_LEAST_FOR_RANKS: Final = 20
"""In a lower window the findings take the rows of the ranks."""
_THREADS_ROWS: Final = 6
"""So many rows left over are given to threads."""


class Overview(Page):
    """The first screen: is there news, where is it, what is it."""

    page: ClassVar[str] = "overview"

    def body(self) -> Iterable[Widget]:
        """Map and ranks, then findings."""
        yield Container(MachineMap(id="map"), LinesView(id="ranks"), id="body")
        yield LinesView(id="rule")
        yield PickList(id="findings")
        yield LinesView(id="below")

    def draw_body(self, report: Report) -> None:
        """Gives each part its place and draws it."""
        width, height = self.size
        beside = width >= _BESIDE
        self.set_class(beside, "-beside")
        machine_map = self.query_one(MachineMap)
        ranks = self.query_one("#ranks", LinesView)
        map_width = width - _RANKS_WIDTH if beside else width
        machine_map.place(map_width, map_rows(height))
        drawn = machine_map.show_report(report, self.dashboard.light.placement)
        spare = height - _FRAME_ROWS - drawn - _FINDINGS_ROWS
        rule = height >= 30
        rows = drawn if beside else 0 if not report.ranks else max(0, min(len(report.ranks) + 1, spare - rule))
        if not beside and (rows < 2 or height < _LEAST_FOR_RANKS):
            rows = 0
        _set_size(machine_map, map_width, drawn)
        _set_size(ranks, _RANKS_WIDTH if beside else width, rows)
        if rows:
            table = ranks_table(report, _RANKS_WIDTH - 1 if beside else width, rows)
            ranks.show([((Span("│", "dim"), *line) if beside else line) for line in _padded(table, rows)])
        else:
            ranks.show([])
        self.query_one("#rule", LinesView).show([rule_line("findings, worst first", width)] if rule else [])
        _set_size(self.query_one("#rule", LinesView), width, int(rule))
        self._draw_findings(report, height - _FRAME_ROWS - drawn - (0 if beside else rows) - rule)

    def _draw_findings(self, report: Report, rows: int) -> None:
        """Findings, the counts below them, and where rows are left over the worst threads."""
        width = self.size.width
        blocks = finding_blocks(report, width, rows)
        used = sum(len(block) for block in blocks)
        spare = rows - used
        findings, below = self.query_one(PickList), self.query_one("#below", LinesView)
        _set_size(findings, width, used)
        findings.show_entries(lambda picked: finding_blocks(report, width, rows, picked), finding_names(report))
        lines: list[Line] = []
        if spare > 0:
            lines.append(counts_line(report, width))
        if spare >= _THREADS_ROWS and report.placements:
            lines = [fitted([], width), *worst_threads(report, width, spare - 3), *lines, fitted([], width)]
        _set_size(below, width, len(lines))
        below.show(lines)

    def step_back(self) -> bool:
        """Puts out the light, else takes the cursors of map and findings away; tells whether there was one."""
        stepped = self.dashboard.light.put_out() or self._clear_picks()
        self.dashboard.redraw()
        return stepped

    def next_finding(self, report: Report, step: int) -> None:
        """In the list below the map."""
        self.query_one(PickList).pick_on(step, len(report.findings))

    def _clear_picks(self) -> bool:
        findings = self.query_one(PickList)
        had = self.query_one(MachineMap).clear_cursor() or findings.picked is not None
        findings.pick(None)
        return had

    @on(PickList.Opened)
    def _light(self, event: PickList.Opened) -> None:
        self.dashboard.light.put_on_finding(event.picked)

    @on(MachineMap.CpusOpened)
    def _open_cpus(self, event: MachineMap.CpusOpened) -> None:
        self.dashboard.show_threads_on(event.cpus)


def _padded(lines: Sequence[Line], rows: int) -> list[Line]:
    return [*lines, *([()] * (rows - len(lines)))]


def _set_size(widget: Widget, width: int, height: int) -> None:
    """Sets a size only where it is another one: each setting lays the screen out anew."""
    wanted = (width, height)
    if getattr(widget, "placed", None) != wanted:
        widget.styles.width, widget.styles.height = wanted
        widget.placed = wanted  # type: ignore[attr-defined]
