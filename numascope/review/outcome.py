"""The exit code of a verb that judges, and its reason in words (2 is for bad usage and input, raised as errors)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, Literal, NamedTuple

from numascope.review.report import Report, Severity

FailOn = Literal["error", "warning", "info", "never"]

_COUNTED: Final[Mapping[FailOn, frozenset[Severity]]] = {
    "error": frozenset({"error"}),
    "warning": frozenset({"error", "warning"}),
    "info": frozenset({"error", "warning", "info"}),
    "never": frozenset(),
}


class Outcome(NamedTuple):
    """What a script sees and what a person reads."""

    code: int
    reason: str


def outcome_of(report: Report, fail_on: FailOn) -> Outcome:
    """4 nobody left, 1 findings, 3 clean as far as seen, 0 clean; the first that holds."""
    if report.ended:
        return Outcome(4, "every target has ended")
    if report.plan is not None and not any(one.target is not None for one in report.placements):
        if report.partial:
            return Outcome(3, "nothing could be judged: whose threads these are cannot be read")
        return Outcome(4, "the plan says nothing of these threads")
    return outcome_of_findings([one.severity for one in report.findings], fail_on, partial=report.partial)


def outcome_of_findings(severities: Collection[Severity], fail_on: FailOn, *, partial: bool) -> Outcome:
    """1 findings, 3 clean as far as seen, 0 clean; the first that holds."""
    if not _COUNTED[fail_on].isdisjoint(severities):
        return Outcome(1, f'findings at or above "{fail_on}"')
    if partial:
        return Outcome(3, "clean as far as seen, but part could not be read")
    return Outcome(0, f'findings, all below "{fail_on}"' if severities and fail_on != "never" else "clean")


def worse(first: Outcome, second: Outcome) -> Outcome:
    """The worse of two outcomes: findings outrank an unreadable part, which outranks clean; the end outranks all."""
    order = (0, 3, 1, 4, 2)
    return max(first, second, key=lambda one: order.index(one.code))
