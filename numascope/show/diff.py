"""The text of `diff`: what stands against the plan, worst first, each with its evidence and what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from numascope.observe.sample import ThreadKey
from numascope.review.memory_findings import size_words
from numascope.review.outcome import Outcome
from numascope.review.report import Finding, Placement, RankView, Report, Verdict
from numascope.show.glyphs import VERDICTS, finding_glyph, mark
from numascope.show.ink import Line, Span
from numascope.show.remedy_lines import remedy_parts
from numascope.show.verdicts import counts_text, outside_text, plan_text, where_text

_MOST_ROWS = 8
"""Threads of one finding that are listed each; the rest is a count, and `--json` has them all."""

_VERDICT_RULES = frozenset(VERDICTS)


class _Row(NamedTuple):
    """One thread's cells, as text."""

    verdict: Verdict
    thread: str
    tid: str
    planned: str
    allowed: str
    ran_on: str
    outside: str


_HEAD = ("thread", "tid", "planned", "allowed", "ran on", "outside")


def diff_lines(report: Report, outcome: Outcome, *, all_rows: bool = False, width: int = 80) -> list[Line]:
    """The whole text, at most `width` cells a line except for commands to copy, which are never broken."""
    placements = {one.key: one for one in report.placements}
    told = [one for one in report.findings if one.rule in _VERDICT_RULES and one.keys]
    rest = [one for one in report.findings if not (one.rule in _VERDICT_RULES and one.keys)]
    tables = [_rows(one, placements, report, all_rows=all_rows) for one in told]
    widths = _widths([row for rows, _ in tables for row in rows], width)
    lines = [*_head(report, width), ()]
    if told:
        lines.append((Span("  " + _cells(("verdict", *_HEAD), widths), "dim"),))
    for finding, (rows, left_out) in zip(told, tables, strict=True):
        lines.extend(_thread_lines(finding, rows, left_out, widths, width))
    if told and rest:
        lines.append(())
    for finding in rest:
        lines.extend(_condition_lines(finding, width))
    if report.findings:
        lines.append(())
    lines.extend(_foot(report, outcome, width))
    return lines


def _head(report: Report, width: int) -> list[Line]:
    ranks = f"{len(report.ranks)} rank{'' if len(report.ranks) == 1 else 's'}"
    seen = "one look" if report.interval_s is None else f"{report.since_first_s:.3g} s"
    plan = Span(plan_text(report), bold=True)
    job = f"against {report.title}: {ranks}, {len(report.placements)} threads, {seen}"
    if len(plan.text) + 1 + len(job) <= width:
        return [(plan, Span(f" {job}"))]
    return [(plan,), *_wrapped(job, "  ", width)]


def _rows(
    finding: Finding, placements: Mapping[ThreadKey, Placement], report: Report, *, all_rows: bool
) -> tuple[list[_Row], int]:
    """The rows of a finding, worst first, and how many more there are."""
    members = [placements[key] for key in finding.keys if key in placements]
    shown = members if all_rows else members[:_MOST_ROWS]
    return [_row(one, report) for one in shown], len(members) - len(shown)


def _row(one: Placement, report: Report) -> _Row:
    rank = None if one.rank is None else report.ranks[one.rank]
    owner = "" if rank is None else _owner(rank, report)
    planned = "–" if one.target is None else str(one.target.cpus or one.target.planned) or "none"
    allowed = "?" if one.allowed is None else str(one.allowed) or "none"
    return _Row(
        one.verdict, f"{owner}{one.label}", str(one.key.tid), planned, allowed, where_text(one), outside_text(one)
    )


def _owner(rank: RankView, report: Report) -> str:
    """`rank 3 `; a process given by hand is named in the head where it is the only one, else by its letter."""
    if rank.number is not None:
        return f"{rank.name} "
    return f"{rank.letter} " if len(report.ranks) > 1 else ""


def _widths(rows: Sequence[_Row], width: int) -> tuple[int, ...]:
    """Cells a column: as wide as its widest entry, the sets cut first where the line would not hold them."""
    table = [_HEAD, *(row[1:] for row in rows)]
    wanted = [max(len(line[column]) for line in table) for column in range(len(_HEAD))]
    room = width - 2 - 10 - 2 * len(wanted)
    for column, least in ((2, 9), (3, 9), (0, 20)):
        over = sum(wanted) - room
        wanted[column] -= max(0, min(over, wanted[column] - least))
    return (10, *wanted)


def _cells(texts: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(
        (text if len(text) <= width else text[: width - 1] + "…").ljust(width)
        for text, width in zip(texts, widths, strict=True)
    ).rstrip()


def _thread_lines(
    finding: Finding, rows: Sequence[_Row], left_out: int, widths: Sequence[int], width: int
) -> list[Line]:
    glyph = finding_glyph(finding)
    lines: list[Line] = []
    for row in rows:
        text = _cells(row, widths)
        lines.append((mark(glyph), Span(f" {text[:10]}", glyph.token, bold=glyph.bold), Span(text[10:])))
    if left_out:
        lines.append((Span(f"    … and {left_out} more in the same way: --all-rows lists them", "dim"),))
    lines.extend(_wrapped(finding.evidence, "    ", width, dim=True))
    lead = "put it back:  " if finding.remedy.startswith("numascope apply") else ""
    return [*lines, *_remedy(f"{lead}{finding.remedy}", width)]


def _condition_lines(finding: Finding, width: int) -> list[Line]:
    glyph = finding_glyph(finding)
    first, *others = textwrap.wrap(f"{finding.subject}: {finding.text}", max(20, width - 14)) or [""]
    lines: list[Line] = [(mark(glyph), Span(f" {finding.rule:<11}", glyph.token, bold=glyph.bold), Span(f" {first}"))]
    lines.extend((Span(f"{'':14}{other}"),) for other in others)
    lines.extend(_wrapped(finding.evidence, "    ", width, dim=True))
    return [*lines, *_remedy(finding.remedy, width)]


def _remedy(remedy: str, width: int) -> list[Line]:
    """In one line where it fits, else its commands each in a line of its own: whole, so that they can be copied."""
    if len(remedy) + 4 <= width:
        return [(Span(f"    {remedy}"),)]
    lines: list[Line] = []
    for text, is_command in remedy_parts(remedy):
        lines.extend([(Span(f"      {text}"),)] if is_command else _wrapped(text, "    ", width))
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
    lines.extend(_wrapped(text, "", width, dim=True) if (text := memory_text(report)) else [])
    pending = [one for one in report.placements if one.verdict == "pending"]
    if pending:
        names = ", ".join(f"{one.label} {one.key.tid}" for one in pending[:4])
        more = f", {len(pending) - 4} more" if len(pending) > 4 else ""
        lines.extend(
            _wrapped(
                f"pending, not judged yet: {names}{more}; their framework binds them later (--pending-for)",
                "",
                width,
                dim=True,
            )
        )
    for note in report.notes:
        lines.extend(_wrapped(f"note: {note}", "", width, dim=True))
    if report.plan is not None:
        for told in report.plan.notes:
            lines.extend(_wrapped(f"plan: {told}", "", width, dim=True))
    lines.append((Span(f"exit {outcome.code}: {outcome.reason}"),))
    return lines


def memory_text(report: Report) -> str:
    """`memory: 330.7 GiB of 8 ranks, off their nodes 0.1 to 31.0 %`; empty where none was seen, or one node has it all."""
    views = [rank.memory for rank in report.ranks if rank.memory is not None]
    if not views or sum(1 for node in report.machine.nodes if node.memory_kib != 0) < 2:
        return ""
    sizes = [size for one in views if (size := one.resident_kib) is not None]
    offs = sorted(100 * one.off.share for one in views if one.off is not None)
    ranks = f"{len(views)} rank{'' if len(views) == 1 else 's'}"
    whose = "its" if len(views) == 1 else "their"
    parts = [f"{size_words(sum(sizes) if len(sizes) == len(views) else None)} of {ranks}"]
    if offs:
        span = f"{offs[0]:.1f}" if offs[0] == offs[-1] else f"{offs[0]:.1f} to {offs[-1]:.1f}"
        parts.append(f"off {whose} nodes {span} %")
    if unknown := sum(1 for one in views if one.off is None and not one.is_everywhere):
        parts.append(f"of {unknown} unknown where")
    return f"memory: {', '.join(parts)}"
