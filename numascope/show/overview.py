"""The Overview's own lines: what is watched and what is wrong, the counts, the rules between parts."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from typing import Final

from numascope.review.report import VERDICTS_WORST_FIRST, Report
from numascope.show.canvas import fitted, left, text_cells
from numascope.show.glyphs import (
    FRAME,
    SEVERITIES,
    VERDICTS,
    WRONG_WORST_FIRST,
    Glyph,
    finding_glyph,
    in_severity,
    mark,
    mark_order,
    verdict_severity,
)
from numascope.show.ink import Line, Span

_WIDE: Final = 100


def clock(report: Report) -> str:
    """The sample's wall-clock time, local: `03:12:47`."""
    return dt.datetime.fromtimestamp(report.sample.wall_s).astimezone().strftime("%H:%M:%S")


def marks_of(report: Report) -> list[tuple[Glyph, int, str]]:
    """What is wrong, worst first: its sign, how many, and the word for it."""
    found: list[tuple[tuple[int, int], Glyph, int, str]] = []
    for verdict in WRONG_WORST_FIRST[:5]:
        if count := report.counts.get(verdict, 0):
            severity = verdict_severity(verdict, report.findings)
            found.append((mark_order(verdict, severity), in_severity(VERDICTS[verdict], severity), count, verdict))
    conditions = [one for one in report.findings if one.rule not in VERDICTS and one.severity != "info"]
    for rule, count in Counter(one.rule for one in conditions).items():
        worst = min((one for one in conditions if one.rule == rule), key=lambda one: SEVERITIES[one.severity])
        found.append((mark_order(rule, worst.severity), finding_glyph(worst), count, rule))
    return [(glyph, count, word) for _, glyph, count, word in sorted(found, key=lambda entry: entry[0])]


def _by_sign(marks: Sequence[tuple[Glyph, int, str]]) -> list[tuple[Glyph, int, str]]:
    """Marks without words: rules that share a sign are one count."""
    counts: Counter[Glyph] = Counter()
    for glyph, count, _ in marks:
        counts[glyph] += count
    return [(glyph, count, "") for glyph, count in counts.items()]


def marks_line(report: Report, *, words: bool) -> list[Span]:
    """The counts of marks: `!1 ‹1`, or `! 1 escaped   ‹ 1 narrow` where there is room."""
    spans: list[Span] = []
    marks = marks_of(report)
    for glyph, count, word in marks if words else _by_sign(marks):
        if spans:
            spans.append(Span("   " if words else " "))
        if words:
            spans.extend((mark(glyph), Span(f" {count} {word}", glyph.token)))
        else:
            spans.append(mark(glyph, str(count)))
    if spans:
        return spans
    if report.partial:
        return [mark(VERDICTS["unknown"], " partial")]
    judged = any(
        count for verdict, count in report.counts.items() if verdict not in ("unplanned", "unknown", "pending")
    )
    return [mark(VERDICTS["ok"], " as planned")] if judged else []


def watched_line(report: Report, width: int, *, time: bool = True) -> Line:
    """What is watched, at the left; the counts of marks and the time, at the right."""
    marks = marks_line(report, words=width >= _WIDE)
    if width >= _WIDE and sum(text_cells(span.text) for span in marks) > width // 2:
        marks = marks_line(report, words=False)
    tail = [*marks, Span(f"   {clock(report)} " if time else " ")]
    threads = len(report.placements)
    ranks = f" · {len(report.ranks)} rank{'s' * (len(report.ranks) != 1)}" if report.ranks else ""
    source = report.plan.path.rsplit("/", 1)[-1] if report.plan is not None else "no plan"
    what = f" {report.title}{ranks} · {threads} thread{'s' * (threads != 1)} · {source}"
    room = width - sum(text_cells(span.text) for span in tail) - 1
    return fitted([Span(left(what, max(8, room))), Span(" "), *tail], width)


def counts_line(report: Report, width: int) -> Line:
    """All verdicts counted, the parts' sum at the end."""
    words = [f"{report.counts.get('ok', 0)} ok"] if report.plan is not None else []
    words.extend(
        f"{count} {one}" for one in VERDICTS_WORST_FIRST if one != "ok" and (count := report.counts.get(one, 0))
    )
    return fitted([Span(f" {'  '.join(words)}  of {len(report.placements)} threads", "dim")], width)


def rule_line(title: str, width: int) -> Line:
    """A thin rule with a title in it."""
    dash = FRAME["rule"][0]
    head = f"{dash} {title} " if title else ""
    return fitted([Span(head + dash * (width - text_cells(head)), "dim")], width)
