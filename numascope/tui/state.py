"""The few words that say how alive the picture is, and what it costs."""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import Final

from numascope.observe.recording.replay import RECORDING_ENDS
from numascope.review.report import Report
from numascope.show.ink import Span
from numascope.show.overview import clock
from numascope.tui.source import ReportSource

STALE_INTERVALS: Final = 3
"""After so many intervals without a report the picture is called stale."""

SAID_S: Final = 10.0
"""So long an answer stands in the second line."""

_WIDE: Final = 100


def is_stale(report: Report | None, source: ReportSource, *, paused: bool, age_s: float) -> bool:
    """Whether the picture is of a time that has passed although nobody asked for that; a recording does not age."""
    if report is None or report.ended or paused or source.is_recorded:
        return False
    return age_s > STALE_INTERVALS * source.interval_s


def state_word(report: Report | None, source: ReportSource, *, paused: bool, age_s: float) -> Span:
    """The pace (`live 1s`, `×4`), `PAUSED`, `STALE 7s`, `ENDED`, `WAITING` or `PARTIAL`, in eight cells or more."""
    if report is None:
        return Span("wait".rjust(8), "dim")
    if report.ended:
        return Span(("WAITING" if report.is_awaited else "ENDED").rjust(8), "warn", bold=True)
    if paused:
        return Span("PAUSED".rjust(8), "lit", bold=True)
    if is_stale(report, source, paused=paused, age_s=age_s):
        return Span(f"STALE {age_s:.0f}s".rjust(8), "warn", bold=True)
    if report.partial:
        return Span("PARTIAL".rjust(8), "warn", bold=True)
    return Span(source.pace.rjust(8), "near")


def ended_notice(report: Report) -> str:
    """That the target is gone, and of when the picture is."""
    if RECORDING_ENDS in report.notes:
        return f"END: {RECORDING_ENDS}, {clock(report)}. q quits"
    if report.is_awaited:
        return f"ENDED: {report.title}, last seen {clock(report)}; waiting for it to start again. q quits"
    return f"ENDED: {report.title} is gone. This is its last state, {clock(report)}. q quits"


def cost_words(report: Report | None, width: int, resident_mib: Callable[[], int]) -> str:
    """Numascope's own share of one CPU, and its largest resident size where there is room; of fixed width."""
    share = None if report is None else report.own_cpu_share
    text = "self ?" if share is None else f"self {100 * share:.1f}%"
    return text.rjust(10) if width < _WIDE else f"{text} {resident_mib()} MiB".rjust(18)


def largest_resident_mib() -> int:
    """The most memory that numascope itself has taken, MiB (`ru_maxrss` of getrusage(2))."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
