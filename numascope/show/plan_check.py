"""The text and the document of `plan check`: each finding with its rule, its place, what shows it and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from numascope import __version__
from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.plan.check.objects import CheckFinding, JobFacts, plural
from numascope.plan.check.run import Checked
from numascope.plan.given import TORCH
from numascope.plan.objects import SCHEDULER, Place, Plan, Severity
from numascope.review.outcome import FailOn, Outcome, outcome_of_findings
from numascope.show.canvas import breakable, text_cells, wrapped
from numascope.show.document import Document, source_of
from numascope.show.glyphs import FRAME
from numascope.show.ink import Line, Span, Token

SCHEMA: Final = "numascope.plan-check/1"

_WORDS: Final[dict[Severity, str]] = {"error": "error", "warning": "warning", "info": "note"}
_HUES: Final[dict[Severity, Token]] = {"error": "escape", "warning": "warn", "info": "dim"}
_DIALECTS: Final = {"mindspore": "MindSpore JSON", "msrun": "msrun's options", "torch": "torchrun's --numa-binding"}
_MOST_LINES_NAMED: Final = 8


class Told(NamedTuple):
    """A check and all that its text names; `plan` None: it could not be read, or the framework itself fails."""

    checked: Checked
    plan: Plan | None
    machine: Machine
    cpuset: CpuSet
    job: JobFacts | None
    fail_on: FailOn


def outcome_of_check(told: Told) -> Outcome:
    """2 no plan that can be used, 1 findings, 3 clean as far as the machine could be read, 0 clean; the first that holds."""
    if not told.checked.is_usable:
        return Outcome(2, "this plan cannot be used")
    severities = [one.severity for one in told.checked.findings]
    return outcome_of_findings(severities, told.fail_on, partial=_is_partial(told))


def _is_partial(told: Told) -> bool:
    """Where the machine, or what the job tells of its plan and its limits, could not all be read."""
    job = told.job
    if job is None:
        return told.machine.partial
    return told.machine.partial or not job.is_readable or (job.framework != "process" and job.cpuset is None)


def check_lines(told: Told, path: str, width: int) -> list[Line]:
    """The plan, the machine, each finding, what MindSpore would do, and the exit code with its reason."""
    lines = [*_head(told, path, width)]
    for finding in told.checked.findings:
        lines += [(), *_finding(finding, width)]
    lines.append(())
    if told.checked.outcome is not None:
        lines += _plain(f"what MindSpore would do: {told.checked.outcome}", width)
    outcome = outcome_of_check(told)
    lines += _plain(_counts(told.checked.findings), width)
    return [*lines, (Span(f"exit {outcome.code}: {outcome.reason}"),)]


def _head(told: Told, path: str, width: int) -> Iterator[Line]:
    plan = told.plan
    if plan is None:
        yield from _plain(f"{path}: not a plan that can be used", width)
    else:
        words = [
            plan.cpu_mode,
            plan.memory_mode,
            *(["fixed actors"] if plan.fixed_actors and plan.dialect != "torch" else []),
        ]
        subjects = plan.subjects()
        devices = plural(sum(subject != SCHEDULER for subject in subjects), "device")
        also = " and scheduler" if SCHEDULER in subjects else ""
        dialect = _DIALECTS.get(plan.dialect, plan.dialect)
        yield from _plain(f"{path}: {dialect}; {', '.join(words)}; {devices}{also}", width)
    machine = told.machine
    kinds = Counter(device.kind for device in machine.devices if device.kind in ("npu", "gpu", "accelerator"))
    names = "".join(
        f", {plural(count, kind.upper() if kind != 'accelerator' else kind)}" for kind, count in sorted(kinds.items())
    )
    where = "this machine" if machine.source == "live" else machine.source
    counts = f"{plural(len(machine.cpus.online), 'CPU')}, {plural(len(machine.nodes), 'node')}{names}"
    yield from _plain(f"on {where}: {counts}; cpuset {told.cpuset or 'empty'}", width)


def _finding(finding: CheckFinding, width: int) -> Iterator[Line]:
    first, *rest = finding.places
    place = first.path if first.path.startswith(TORCH) else str(first)
    head = f"{_WORDS[finding.severity]:<8} {place}  {finding.rule}"
    also = _also(first, rest)
    mark = Span(f"{_WORDS[finding.severity]:<8}", _HUES[finding.severity], bold=finding.severity == "error")
    if text_cells(head + also) <= width:
        yield (mark, Span(f" {place}  {finding.rule}", bold=True), Span(also, "dim"))
    else:
        yield (mark, Span(f" {finding.rule}", bold=True))
        yield from _indented(f"{place}{also.replace('    ', '  ')}", width, "dim")
    yield from _indented(finding.text, width, "text")
    for text in finding.evidence:
        yield from _indented(text, width, "dim")
    if finding.remedy:
        yield from _indented(f"{FRAME['change'][0]} {finding.remedy}", width, "near")


def _also(first: Place, rest: Sequence[Place]) -> str:
    """The other lines, those of other files by their whole place."""
    named = list(
        dict.fromkeys(
            str(one.line) if one.path == first.path else str(one)
            for one in rest
            if one.line != first.line or one.path != first.path
        )
    )
    if not named:
        return ""
    left_out = len(named) - _MOST_LINES_NAMED
    return f"    also {', '.join(named[:_MOST_LINES_NAMED])}{f' and {left_out} more' if left_out > 0 else ''}"


def _counts(findings: Sequence[CheckFinding]) -> str:
    counted = Counter(one.severity for one in findings)
    places = len({place for one in findings for place in one.places})
    if not findings:
        return "no findings"
    numbers = f"{plural(counted['error'], 'error')}, {plural(counted['warning'], 'warning')}, {plural(counted['info'], 'note')}"
    return f"{numbers} on {plural(places, 'place')}"


def _plain(text: str, width: int) -> list[Line]:
    return [(Span(one),) for one in _broken(text, width)]


def _indented(text: str, width: int, hue: Token) -> list[Line]:
    return [(Span(f"  {one}", hue),) for one in _broken(text, width - 2)]


def _broken(text: str, width: int) -> list[str]:
    """As `wrapped`, a long list of CPUs broken behind its commas."""
    found, line = [], ""
    for piece in breakable(text):
        if piece and text_cells((line + piece).rstrip()) > width and line.strip():
            found.append(line.rstrip())
            line = ""
        line += piece
    return [one for row in [*found, line.rstrip()] for one in wrapped(row, width)]


def check_document_json(told: Told, path: str) -> Document:
    """The document `numascope.plan-check/1`; `mindspore` is what MindSpore would do, null where it has no part in the plan."""
    plan, machine = told.plan, told.machine
    counted = Counter(one.severity for one in told.checked.findings)
    outcome = outcome_of_check(told)
    return {
        "schema": SCHEMA,
        "numascope": __version__,
        "source": source_of(machine),
        "partial": _is_partial(told),
        "notes": list(machine.notes),
        "plan": {"path": path, "dialect": None, "sha256": None}
        if plan is None
        else {"path": path, "dialect": plan.dialect, "sha256": plan.sha256},
        "job": None if told.job is None else {"pid": told.job.pid, "framework": told.job.framework},
        "cpuset": str(told.cpuset),
        "mindspore": told.checked.outcome,
        "summary": {severity: counted[severity] for severity in ("error", "warning", "info")},
        "exit": {"code": outcome.code, "reason": outcome.reason},
        "findings": [_row(one) for one in told.checked.findings],
    }


def _row(finding: CheckFinding) -> Document:
    first = finding.places[0]
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        **_place(first),
        "places": [_place(place) for place in finding.places],
        "text": finding.text,
        "evidence": list(finding.evidence),
        "remedy": finding.remedy,
    }


def _place(place: Place) -> Document:
    return {"path": place.path, "line": place.line, "column": place.column}
