"""Conditions are told from what was measured, and from nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from plan.machines import machine

from numascope.cpuset import CpuSet
from numascope.observe.roles import Role
from numascope.observe.sample import ThreadKey
from numascope.observe.strangers import Stranger
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


@pytest.mark.parametrize(
    ("threads", "others"),
    [
        ([thread(101, 2, 0.4)], 0.6),  # settled: exactly the rest
        ([thread(101, 2, 0.4, migrations=3.0)], 0.6),  # it roams here: the rest at least
        ([thread(101, 5, 0.4, migrations=3.0)], 0.6),  # it may have been here, though it is seen elsewhere
        ([thread(101, 5, 0.4, allowed="5")], 1.0),  # it cannot have been here
        ([thread(101, 2, 0.4), thread(102, 2, 0.7)], 0.0),  # never below nothing
    ],
)
def test_what_others_use_is_never_overstated(threads: list[Placement], others: float) -> None:
    roaming = [replace(one, allowed=CpuSet.parse("0-7")) if one.migrations_per_s else one for one in threads]

    assert contention.others_on(roaming, {2: 1.0}, 0.0)[2] == pytest.approx(others)


def test_numascope_itself_is_no_stranger() -> None:
    assert contention.others_on([], {2: 0.3}, own_busy=0.3)[2] == 0.0


def test_a_stranger_is_named_by_where_it_last_ran() -> None:
    (found,) = contention.shared(
        [rank()], [thread(101, 2, 0.4, wait=212.0)], [], {2: 0.41}, [Stranger(2871, "fluent-bit", 2, 0.41)]
    )

    assert found.severity == "warning"
    assert "others use 41 % of it: fluent-bit 2871 last ran here, 41 % busy in all" in found.text
    assert "main 101 waits 212 ms/s there" in found.evidence


def test_a_stranger_that_costs_nobody_anything_is_a_note() -> None:
    (found,) = contention.shared([rank()], [thread(101, 2, 0.4)], [], {2: 0.41}, [])

    assert found.severity == "info"
    assert "unattributed" in found.text


def test_a_planned_single_cpu_is_no_collapse() -> None:
    threads = [thread(101 + at, 0, 0.1, allowed="0") for at in range(8)]

    assert contention.collapsed([rank(CpuSet.parse("0"))], [threads], MACHINE) == []
    assert [one.rule for one in contention.collapsed([rank()], [threads], MACHINE)] == ["collapsed"]
