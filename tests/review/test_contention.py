"""Conditions are told from what was measured, and from nothing else."""

from __future__ import annotations

from bare_machines import machine

from numascope.cpuset import CpuSet
from numascope.observe.roles import Role
from numascope.observe.sample import ThreadKey
from numascope.plan.objects import Place, Target
from numascope.review import contention
from numascope.review.evidence import NOTHING
from numascope.review.report import Placement, RankView

MACHINE = machine(8)
PLANNED = CpuSet.parse("0-3")


def thread(
    tid: int, cpu: int, busy: float, wait: float = 0.0, allowed: str = "0-3", migrations: float = 0.0
) -> Placement:
    return Placement(
        key=ThreadKey(100, tid, 1, 0),
        comm="python",
        label="main",
        role=Role("main", "named", ""),
        rank=0,
        target=Target(PLANNED, PLANNED, Place("bind.json", 1, 1), "main of device0"),
        allowed=CpuSet.parse(allowed),
        cpu=cpu,
        cpu_stale=False,
        node=0,
        state="R",
        verdict="ok",
        severity=None,
        busy=busy,
        wait_ms_per_s=wait,
        migrations_per_s=migrations,
        outside=NOTHING,
        reason="",
    )


def rank(planned: CpuSet = PLANNED) -> RankView:
    return RankView(
        "A", "rank 0", 100, 0, 0, None, CpuSet(), planned, {}, 1.0, 0.0, "", 0.0, None, "", "", threads=8
    )  # fmt: skip


def test_a_thread_that_is_runnable_and_never_runs_starves() -> None:
    one = thread(101, 2, 0.0)
    found = contention.starved([contention.Stuck(one, 900_000_000)], [], [rank()])

    assert [(each.rule, each.severity, each.subject) for each in found] == [("starved", "error", "rank 0 main 101")]
    assert "runnable for 0.9 s without CPU time" in found[0].text


def test_a_short_wait_is_no_starvation() -> None:
    assert contention.starved([contention.Stuck(thread(101, 2, 0.0), 200_000_000)], [], [rank()]) == []


def test_a_thread_that_waits_nine_tenths_of_the_time_starves_too() -> None:
    found = contention.starved([], [thread(101, 2, 0.05, wait=950.0)], [rank()])

    assert "waits 950 ms/s" in found[0].text


def test_four_threads_on_one_cpu_of_four_crowd_it() -> None:
    four = [thread(101 + at, 2, 0.25, wait=750.0) for at in range(4)]
    loads: dict[int, float | None] = {0: 0.0, 1: 0.01, 2: 1.0, 3: 0.0}

    (found,) = contention.crowded([rank()], four, loads, MACHINE)

    assert found.severity == "warning"
    assert "4.0 runnable threads on CPU 2, while 0-1,3 idles" in found.text


def test_nobody_crowds_where_no_cpu_idles() -> None:
    four = [thread(101 + at, 2, 0.25, wait=750.0) for at in range(4)]
    loads: dict[int, float | None] = dict.fromkeys(range(4), 1.0)

    assert contention.crowded([rank()], four, loads, MACHINE) == []


def test_an_unknown_load_is_not_idle() -> None:
    four = [thread(101 + at, 2, 0.25, wait=750.0) for at in range(4)]

    assert contention.crowded([rank()], four, {0: None, 1: None, 2: 1.0, 3: None}, MACHINE) == []


def test_a_planned_single_cpu_is_no_collapse() -> None:
    threads = [thread(101 + at, 0, 0.1, allowed="0") for at in range(8)]

    assert contention.collapsed([rank(CpuSet.parse("0"))], [threads], MACHINE) == []
    assert [one.rule for one in contention.collapsed([rank()], [threads], MACHINE)] == ["collapsed"]
