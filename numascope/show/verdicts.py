"""Words that every text about verdicts shares: counts, where a thread ran, rates with their unit."""

from __future__ import annotations

from numascope.review.report import VERDICTS_WORST_FIRST, Placement, Report
from numascope.review.thread_findings import outside_text

__all__ = ["counts_text", "outside_text", "plan_text", "rate_text", "where_text"]


def where_text(placement: Placement) -> str:
    """The CPU that a thread last ran on and its node, `37 N1`; `*` where it has not run since its mask changed.

    Of an escaped thread that has come back it is the CPU outside on which it was seen last.
    """
    if placement.verdict == "escaped" and placement.outside.cpu not in (None, placement.cpu):
        return f"{placement.outside.cpu}"
    if placement.cpu is None:
        return "?"
    node = "" if placement.node is None else f" N{placement.node}"
    return f"{placement.cpu}{'*' if placement.cpu_stale else ''}{node}"


def rate_text(value: float | None, decimals: int = 0) -> str:
    """A figure with fixed decimals, `?` where it is not known."""
    return "?" if value is None else f"{value:.{decimals}f}"


def counts_text(report: Report) -> str:
    """All verdicts with their counts, ok first, the rest worst first, and the sum that they must give."""
    rest = [verdict for verdict in VERDICTS_WORST_FIRST if verdict != "ok" and report.counts.get(verdict)]
    parts = [f"{report.counts.get('ok', 0)} ok", *(f"{report.counts[verdict]} {verdict}" for verdict in rest)]
    return f"{'   '.join(parts)}   = {len(report.placements)}"


def plan_text(report: Report) -> str:
    """The plan in a few words: file, dialect and the start of its hash; or why there is none."""
    if report.plan is None:
        return f"no plan ({report.plan_source})"
    return f"{report.plan.path} ({report.plan.dialect}, {report.plan.sha256[:8]})"
