"""One page to paste into an incident: at most 40 lines whatever the machine and the job, worst first."""

from __future__ import annotations

from typing import Final

from numascope.review.outcome import Outcome
from numascope.review.report import Report
from numascope.show.canvas import fitted, wrapped
from numascope.show.finding_lines import findings_list
from numascope.show.ink import Line, Span
from numascope.show.map.layout import map_rows
from numascope.show.map.picture import map_picture
from numascope.show.overview import counts_line, watched_line
from numascope.show.rank_lines import ranks_table

MOST_LINES: Final = 40
_RANK_ROWS: Final = 12
_FINDING_ROWS: Final = 14


def once_lines(report: Report, width: int = 80, outcome: Outcome | None = None) -> list[Line]:
    """The page: what is watched, the map, the ranks, the findings, the counts; every line at most `width` cells but a command to copy."""
    lines = [watched_line(report, width)]
    if report.ended:
        lines.append(fitted([Span(" ENDED: the target is gone; this is its last state", "warn", bold=True)], width))
    lines.extend(map_picture(report, width, map_rows(24), {}).lines)
    if report.ranks:
        lines.extend(ranks_table(report, width, _RANK_ROWS))
    lines.append(())
    lines.extend(findings_list(report, width, min(_FINDING_ROWS, MOST_LINES - 2 - len(lines))))
    lines.append(())
    lines.append(counts_line(report, width))
    last = [] if outcome is None else [fitted([Span(f" exit {outcome.code}: {outcome.reason}")], width)]
    notes = [piece for note in report.notes for piece in wrapped(note, width - 1)]
    lines.extend(fitted([Span(f" {piece}", "dim")], width) for piece in notes[: MOST_LINES - len(lines) - len(last)])
    return [*lines, *last]
