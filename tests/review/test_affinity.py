"""A verdict is the first row that holds."""

from __future__ import annotations

import pytest

from numascope.cpuset import EMPTY, CpuSet
from numascope.observe.roles import Role
from numascope.plan.objects import Place, Target
from numascope.review.affinity import judge, weigh
from numascope.review.evidence import NOTHING
from numascope.review.report import Outside, Severity, Verdict

NAMED = Role("runtime", "named", "")
INFERRED = Role("minddata", "inferred", "")
IDLE_KEEPER = Role("housekeeping", "named", "")
SOME_TIME = Outside(min_ns=5, max_ns=5, seen=1, samples=1)
PERHAPS = Outside(min_ns=0, max_ns=5, seen=0, samples=1, migrations=11)


def cpus(text: str) -> CpuSet:
    return CpuSet.parse(text)


def target(planned: str, usable: str | None = None) -> Target:
    return Target(
        cpus(planned), cpus(planned if usable is None else usable), Place("bind.json", 1, 1), "runtime of device0"
    )


@pytest.mark.parametrize(
    ("wanted", "allowed", "cpu", "outside", "pending", "verdict"),
    [
        (target("0-3"), None, 1, NOTHING, False, "unknown"),
        (target("0-3"), cpus("0-3"), None, NOTHING, False, "unknown"),
        (None, cpus("0-191"), 90, NOTHING, False, "unplanned"),
        (target("0-3", ""), cpus("8"), 8, SOME_TIME, False, "blocked"),
        (target("0-3"), EMPTY, 1, NOTHING, False, "blocked"),
        (target("1"), cpus("0-7"), 5, SOME_TIME, True, "pending"),
        (target("0-3"), cpus("0-7"), 5, SOME_TIME, False, "escaped"),
        (target("0-3"), cpus("4-7"), 5, SOME_TIME, False, "escaped"),
        (target("0-3"), cpus("4-7"), 5, NOTHING, False, "astray"),
        (target("0-3"), cpus("0-7"), 5, NOTHING, False, "loose"),
        (target("0-3"), cpus("0-7"), 1, PERHAPS, False, "loose"),
        (target("0-3"), cpus("2"), 2, NOTHING, False, "narrow"),
        (target("0-7"), cpus("2-3"), 2, NOTHING, False, "narrow"),
        (target("0-2"), cpus("2"), 2, NOTHING, False, "ok"),
        (target("0-3"), cpus("2-3"), 2, NOTHING, False, "ok"),
        (target("0-3"), cpus("0-3"), 2, NOTHING, False, "ok"),
        (target("0-3", "0-1"), cpus("0-3"), 2, NOTHING, False, "loose"),
    ],
)
def test_the_first_row_that_holds(
    wanted: Target | None, allowed: CpuSet | None, cpu: int | None, outside: Outside, pending: bool, verdict: Verdict
) -> None:
    assert judge(wanted, allowed, cpu, outside, pending=pending).verdict == verdict


def test_time_that_cannot_be_ruled_out_is_said() -> None:
    assert "moved 11 times: cannot rule out" in judge(target("0-3"), cpus("0-7"), 1, PERHAPS, pending=False).reason


def test_one_cpu_a_thread_is_right_where_nobody_balances() -> None:
    one_of_four = judge(target("2-5"), cpus("2"), 2, NOTHING, pending=False, isolated=cpus("2-5"))

    assert one_of_four.verdict == "ok"


@pytest.mark.parametrize(
    ("verdict", "role", "busy", "severity"),
    [
        ("escaped", NAMED, 0.9, "error"),
        ("escaped", INFERRED, 0.9, "warning"),
        ("escaped", IDLE_KEEPER, 0.0, "warning"),
        ("escaped", IDLE_KEEPER, 0.5, "error"),
        ("loose", IDLE_KEEPER, 0.0, "info"),
        ("loose", NAMED, 0.0, "warning"),
        ("blocked", IDLE_KEEPER, 0.0, "error"),
        ("unplanned", NAMED, 1.0, "info"),
        ("pending", NAMED, 1.0, "info"),
        ("unknown", NAMED, None, "info"),
        ("ok", NAMED, 1.0, None),
    ],
)
def test_a_verdict_weighs_less_where_less_is_known_or_done(
    verdict: Verdict, role: Role, busy: float | None, severity: Severity | None
) -> None:
    assert weigh(verdict, role, busy) == severity
