"""Findings as lines: in full with evidence and remedy, or a line each where rows are few."""

from __future__ import annotations

import re
from typing import Final

from numascope.review.report import Finding, Report
from numascope.show.canvas import cells, fitted, left, text_cells, wrapped
from numascope.show.glyphs import FRAME, VERDICTS, WRONG_WORST_FIRST, finding_glyph, mark, rank_token
from numascope.show.ink import Line, Span
from numascope.show.remedy_lines import remedy_lines

_WIDE: Final = 100
_TID: Final = re.compile(r" \d{2,7}(?= and \d+ more$|$)")


def finding_words(finding: Finding, width: int = _WIDE) -> str:
    """A finding in one sentence: its subject, then what is wrong with it; a narrow one goes without thread ids."""
    if not finding.subject or finding.text.startswith(finding.subject):
        return finding.text
    joint = " " if finding.text.startswith(("ran ", "may ", "is ")) else ": "
    subject = finding.subject if width >= _WIDE else _TID.sub("", finding.subject)
    return f"{subject}{joint}{finding.text}"


def _finding_head(report: Report, finding: Finding, *, picked: bool) -> list[Span]:
    """The sign and the letter of its rank."""
    head = [Span(FRAME["picked"][0] if picked else " ", "lit"), mark(finding_glyph(finding)), Span(" ")]
    if finding.rank is not None and finding.rank < len(report.ranks):
        head.append(Span(f"{report.ranks[finding.rank].letter} ", rank_token(finding.rank), bold=True))
    return head


def finding_line(report: Report, finding: Finding, width: int, *, picked: bool = False, more: str = "") -> Line:
    """One finding in one line: its sign, its rank's letter and the sentence."""
    head = _finding_head(report, finding, picked=picked)
    room = width - cells(tuple(head)) - len(more)
    text = Span(
        left(finding_words(finding, width), room), "lit" if picked else "text", bold=finding.severity == "error"
    )
    return fitted([*head, text, Span(more, "dim")], width)


def findings_list(report: Report, width: int, rows: int) -> list[Line]:
    """Findings worst first in at most `rows` lines for a page of text: a command is whole, also where it is longer than `width`."""
    return [line for block in finding_blocks(report, width, rows, whole_commands=True) for line in block]


def finding_blocks(
    report: Report, width: int, rows: int, picked: int | None = None, *, whole_commands: bool = False
) -> list[list[Line]]:
    """Each finding's lines, in at most `rows`: all in full, else a line each, none for those out of sight, and the evidence of the worst."""
    if rows <= 0:
        return []
    if not report.findings:
        return [[_no_findings(report, width)]]
    full = full_findings(report, width, picked, whole_commands=whole_commands)
    if sum(len(block) for block in full) <= rows:
        return full
    shown = _shown(len(report.findings), rows, picked or 0, min(len(full[0]) - 1, rows // 4))
    hidden = len(report.findings) - len(shown)
    spare = rows - len(shown)
    blocks: list[list[Line]] = [[] for _ in report.findings]
    for at in shown:
        rest = f"  +{hidden} more in diff " if whole_commands else f"  +{hidden}: press 3 "
        more = rest if hidden and at == shown[-1] else ""
        blocks[at] = _shortened(report, report.findings[at], full[at], width, 1 + spare, picked=at == picked, more=more)
        spare = spare - len(blocks[at]) + 1 if len(blocks[at]) == len(full[at]) else 0
    return blocks


def _shown(count: int, rows: int, picked: int, kept: int) -> range:
    """Which findings have a line: from the worst on, `kept` rows left to its evidence, or the last ones down to the picked."""
    if picked < min(count, rows - kept):
        return range(min(count, rows - kept))
    first = max(0, min(picked, count - 1) - rows + 1)
    return range(first, min(count, first + rows))


def _shortened(
    report: Report, finding: Finding, full: list[Line], width: int, rows: int, *, picked: bool, more: str
) -> list[Line]:
    """As much of a finding as `rows` lines hold: its sentence in one line where it is longer than that, then what follows it."""
    sentence = len(_sentence(report, finding, width, picked=picked))
    if sentence <= rows and not more:
        return full[:rows]
    line = finding_line(report, finding, width, picked=picked, more=more)
    return [line] if more else [line, *full[sentence : sentence + rows - 1]]


def finding_names(report: Report) -> list[tuple[str, str, int | None]]:
    """What a finding is called from one report to the next, whatever its figures and its place."""
    return [(finding.rule, finding.subject, finding.rank) for finding in report.findings]


def full_findings(
    report: Report, width: int, picked: int | None = None, *, whole_commands: bool = False
) -> list[list[Line]]:
    """Each finding with its evidence and remedy; a command that is longer than the line is cut, or whole if wanted."""
    if not report.findings:
        return [[_no_findings(report, width)]]
    return [
        _full(report, finding, width, picked=at == picked, whole_commands=whole_commands)
        for at, finding in enumerate(report.findings)
    ]


def _full(report: Report, finding: Finding, width: int, *, picked: bool, whole_commands: bool) -> list[Line]:
    """The sentence, then the evidence, then the remedy, each wrapped."""
    lines = _sentence(report, finding, width, picked=picked)
    if finding.evidence:
        lines.extend(fitted([Span(f"     {text}", "dim")], width) for text in wrapped(finding.evidence, width - 6))
    if finding.remedy:
        lines.extend(remedy_lines(finding.remedy, width, whole_commands=whole_commands))
    return lines


def _sentence(report: Report, finding: Finding, width: int, *, picked: bool) -> list[Line]:
    head = _finding_head(report, finding, picked=picked)
    indent = Span(" " * cells(tuple(head)))
    lines: list[Line] = []
    for text in wrapped(finding_words(finding, width), width - len(indent.text) - 1):
        span = Span(text, "lit" if picked else "text", bold=finding.severity == "error")
        lines.append(fitted([indent, span] if lines else [*head, span], width))
    return lines


def _no_findings(report: Report, width: int) -> Line:
    if report.partial:
        text = f" nothing found in what could be read; {_first_note(report)}"
        return fitted([Span(" "), mark(VERDICTS["unknown"]), Span(text)], width)
    if report.plan is None:
        text = f" - no findings; no plan: {report.plan_source.removeprefix('no plan: ')}"
        onward = f"{text}; give one with --plan"
        return fitted([Span(onward if text_cells(onward) <= width else text, "dim")], width)
    if any(report.counts.get(verdict) for verdict in WRONG_WORST_FIRST):
        return fitted([Span(" - no findings", "dim")], width)
    text = " no findings: every judged thread is where the plan wants it"
    return fitted([Span(" "), mark(VERDICTS["ok"]), Span(text)], width)


def _first_note(report: Report) -> str:
    return (*report.sample.denied, *report.notes, *report.sample.notes, "part was not readable")[0]
