"""The Overview's own lines: what is watched and what is wrong, the counts, the rules between parts."""

from __future__ import annotations

import datetime as dt
from typing import Final

from numascope.review.report import VERDICTS_WORST_FIRST, Report
from numascope.show.canvas import fitted, left, text_cells
from numascope.show.glyphs import FRAME, VERDICTS, WRONG_WORST_FIRST, Glyph, finding_glyph, mark
from numascope.show.ink import Line, Span

_WIDE: Final = 100


def clock(report: Report) -> str:
    """The sample's wall-clock time, local: `03:12:47`."""
    return dt.datetime.fromtimestamp(report.sample.wall_s).astimezone().strftime("%H:%M:%S")


def marks_of(report: Report) -> list[tuple[Glyph, int, str]]:
    """What is wrong, worst first: its sign, how many, and the word for it."""
    found: list[tuple[Glyph, int, str]] = [
        (VERDICTS[verdict], count, verdict)
        for verdict in WRONG_WORST_FIRST[:5]
        if (count := report.counts.get(verdict, 0))
    ]
    seen: dict[str, tuple[Glyph, int]] = {}
    for finding in report.findings:
        if finding.rule in VERDICTS or finding.severity == "info":
            continue
        glyph = finding_glyph(finding)
        seen[finding.rule] = (glyph, seen.get(finding.rule, (glyph, 0))[1] + 1)
    found.extend((glyph, count, rule) for rule, (glyph, count) in seen.items())
    return found


def marks_line(report: Report, *, words: bool) -> list[Span]:
    """The counts of marks: `!1 ‹1`, or `! 1 escaped   ‹ 1 narrow` where there is room."""
    spans: list[Span] = []
    for glyph, count, word in marks_of(report):
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
