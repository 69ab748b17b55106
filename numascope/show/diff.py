"""The text of `diff`: what stands against the plan, worst first, each with its evidence and what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from numascope.observe.sample import ThreadKey
from numascope.review.outcome import Outcome
from numascope.review.report import Finding, Placement, Report, Verdict
from numascope.show.glyphs import VERDICTS, finding_glyph, mark
from numascope.show.ink import Line, Span
from numascope.show.verdicts import counts_text, outside_text, plan_text, where_text

_MOST_ROWS = 8
"""Threads of one finding that are listed each; the rest is a count, and `--json` has them all."""

_VERDICT_RULES = frozenset(VERDICTS)


def diff_lines(report: Report, outcome: Outcome, *, all_rows: bool = False, width: int = 80) -> list[Line]:
    """The whole text, at most `width` cells a line except for names from outside that are longer."""
    lines = [_head(report), ()]
    placements = {one.key: one for one in report.placements}
    told = [one for one in report.findings if one.rule in _VERDICT_RULES and one.keys]
    if told:
        lines.append(
            (Span(f"  {'verdict':<11} {'thread':<29} {'planned':<9} {'allowed':<9} {'ran on':<8} outside", "dim"),)
        )
    for finding in told:
        lines.extend(_thread_lines(finding, placements, width, all_rows=all_rows))
    rest = [one for one in report.findings if not (one.rule in _VERDICT_RULES and one.keys)]
    if told and rest:
        lines.append(())
    for finding in rest:
        lines.extend(_condition_lines(finding, width))
    if report.findings:
        lines.append(())
    lines.extend(_foot(report, outcome, width))
    return lines


def _head(report: Report) -> Line:
    ranks = f"{len(report.ranks)} rank{'' if len(report.ranks) == 1 else 's'}"
    seen = "one look" if report.interval_s is None else f"{report.since_first_s:.3g} s"
    return (
        Span(plan_text(report), bold=True),
        Span(f" against {report.title}: {ranks}, {len(report.placements)} threads, {seen}"),
    )


def _thread_lines(
    finding: Finding, placements: Mapping[ThreadKey, Placement], width: int, *, all_rows: bool
) -> list[Line]:
    glyph = finding_glyph(finding)
    members = [placements[key] for key in finding.keys if key in placements]
    members.sort(key=lambda one: (-one.outside.min_ns, -one.outside.max_ns, one.key))
    shown = members if all_rows else members[:_MOST_ROWS]
    owner = finding.subject.partition(members[0].label)[0] if members else ""
    lines: list[Line] = []
    for member in shown:
        verdict: Verdict = member.verdict
        name = f"{owner}{member.label} {member.key.tid}"
        planned = "–" if member.target is None else str(member.target.cpus)
        cells = f" {name:<29} {planned:<9} {member.allowed!s:<9} {where_text(member):<8} {outside_text(member)}"
        lines.append((mark(glyph), Span(f" {verdict:<11}", glyph.token, bold=glyph.bold), Span(cells)))
    if len(shown) < len(members):
        lines.append(
            (Span(f"    … and {len(members) - len(shown)} more in the same way: --all-rows lists them", "dim"),)
        )
    lines.extend(_wrapped(finding.evidence, "    ", width, dim=True))
    lines.extend(
        _wrapped(f"put it back:  {finding.remedy}" if members and members[0].target else finding.remedy, "    ", width)
    )
    return lines


def _condition_lines(finding: Finding, width: int) -> list[Line]:
    glyph = finding_glyph(finding)
    first, *others = textwrap.wrap(f"{finding.subject}: {finding.text}", max(20, width - 14)) or [""]
    lines: list[Line] = [(mark(glyph), Span(f" {finding.rule:<11}", glyph.token, bold=glyph.bold), Span(f" {first}"))]
    lines.extend((Span(f"{'':14}{other}"),) for other in others)
    lines.extend(_wrapped(finding.evidence, "    ", width, dim=True))
    lines.extend(_wrapped(finding.remedy, "    ", width))
    return lines


def _wrapped(text: str, indent: str, width: int, *, dim: bool = False) -> list[Line]:
    pieces = textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [(Span(piece, "dim" if dim else "text"),) for piece in pieces]


def _foot(report: Report, outcome: Outcome, width: int) -> list[Line]:
    lines: list[Line] = [(Span(counts_text(report)),)]
    inferred = sum(1 for one in report.placements if one.target is not None and one.role.confidence == "inferred")
    if inferred:
        lines.append((Span(f"{inferred} of these have their role by evidence, not by name (inferred)", "dim"),))
    for note in report.notes:
        lines.extend(_wrapped(f"note: {note}", "", width, dim=True))
    if report.plan is not None:
        for note in report.plan.notes:
            lines.extend(_wrapped(f"plan: {note}", "", width, dim=True))
    lines.append((Span(f"exit {outcome.code}: {outcome.reason}"),))
    return lines
