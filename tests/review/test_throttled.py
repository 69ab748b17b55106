"""A quota is told from what the kernel counted, once for all ranks that share it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.cpuset import CpuSet
from numascope.host.system.cgroup_load import CgroupLoad
from numascope.review.report import CgroupRates, RankView
from numascope.review.throttled import rates_between, throttled

QUOTA = "/sys/fs/cgroup/kubepods/pod1/cpu.max"


def load(
    periods: int | None = 0, held: int | None = 0, held_us: int | None = 0, cpu_us: int | None = 0,
    memory_us: int | None = 0, *, quota: float | None = 8.0, path: str = QUOTA, own: bool = True,
) -> CgroupLoad:  # fmt: skip
    return CgroupLoad(quota, path, periods, held, held_us, cpu_us, memory_us, 0, pressure_is_own=own)


def rates(
    share: float | None = 0.0, *, name: str = "/pod1/c1", quota: float | None = 8.0, path: str = QUOTA,
    memory: float | None = 0.0, own: bool = True,
) -> CgroupRates:  # fmt: skip
    held_ms = None if share is None else 1084.0 * share
    return CgroupRates(name, quota, path, held_ms, share, 0.0, memory, 12.0, pressure_is_own=own)


def rank(number: int, planned: str = "", busy: float | None = 1.0, name: str = "") -> RankView:
    return RankView(
        "A", name or f"rank {number}", 100 + number, None if name else number, 0, None, CpuSet(), CpuSet.parse(planned), {},
        busy, 0.0, "", 0.0, None, "", "", threads=8,
    )  # fmt: skip


EIGHT = [rank(number, busy=0.9875) for number in range(8)]
IN_ONE = {100 + number: "/pod1/c1" for number in range(8)}


def test_a_quota_that_holds_ranks_back_is_one_finding_that_names_them_all() -> None:
    (found,) = throttled(EIGHT, {"/pod1/c1": rates(0.38)}, IN_ONE)

    assert (found.rule, found.severity, found.subject, found.rank) == ("throttled", "warning", "ranks 0-7", 0)
    assert found.text == "throttled in 38 % of the periods: 412 ms/s of CPU time kept back"
    assert found.evidence == "cpu.max 8.0 CPUs in /sys/fs/cgroup/kubepods/pod1, 8 ranks use 7.9"
    assert "limits.cpu" in found.remedy


@pytest.mark.parametrize(
    ("share", "severity"), [(0.0499, None), (0.05, "warning"), (0.499, "warning"), (0.5, "error"), (None, None)]
)
def test_a_twentieth_of_the_periods_is_a_warning_and_half_of_them_an_error(
    share: float | None, severity: str | None
) -> None:
    found = throttled(EIGHT, {"/pod1/c1": rates(share)}, IN_ONE)
    assert [one.severity for one in found] == ([] if severity is None else [severity])


def test_cgroups_below_one_quota_are_one_finding_and_those_of_two_are_two() -> None:
    loads = {"/a": rates(0.3, name="/a"), "/b": rates(0.4, name="/b"), "/c": rates(0.6, name="/c", path="/x/cpu.max")}
    found = throttled(EIGHT[:3], loads, {100: "/a", 101: "/b", 102: "/c"})

    assert [(one.subject, one.severity) for one in found] == [("ranks 0-1", "warning"), ("rank 2", "error")]
    assert "40 %" in found[0].text
    assert found[1].evidence == "cpu.max 8.0 CPUs in /x, the rank uses 0.99"


def test_ranks_without_a_known_cgroup_or_a_quota_are_not_judged() -> None:
    assert throttled(EIGHT, {}, IN_ONE) == []
    assert throttled(EIGHT, {"/pod1/c1": rates(0.9)}, {}) == []
    assert throttled(EIGHT, {"/pod1/c1": rates(None, quota=None, path="")}, IN_ONE) == []


def test_a_quota_smaller_than_the_plan_is_a_note() -> None:
    planned = [rank(number, f"{12 * number}-{12 * number + 11}") for number in range(2)]
    (found,) = throttled(planned, {"/pod1/c1": rates()}, IN_ONE)

    assert (found.rule, found.severity, found.text) == ("quota", "info", "quota of 8.0 CPUs, planned 24")
    assert throttled(planned, {"/pod1/c1": rates(quota=24.0)}, IN_ONE) == []


def test_cpus_that_two_ranks_share_are_planned_once() -> None:
    same = [rank(0, "0-7"), rank(1, "0-7")]
    assert throttled(same, {"/pod1/c1": rates()}, IN_ONE) == []


def test_an_unknown_use_is_unknown() -> None:
    (found,) = throttled([rank(0), rank(1, busy=None)], {"/pod1/c1": rates(0.5)}, IN_ONE)
    assert found.evidence.endswith("2 ranks use ?")


def test_ranks_without_numbers_are_named_a_few_of_them() -> None:
    many = [rank(number, name=f"python {number}") for number in range(6)]
    (found,) = throttled(many, {"/pod1/c1": rates(0.5)}, IN_ONE)
    assert found.subject == "python 0, python 1, python 2, python 3 and 2 more"


def test_waiting_for_memory_is_a_note_of_the_cgroup_itself() -> None:
    (found,) = throttled(EIGHT, {"/pod1/c1": rates(memory=100.0)}, IN_ONE)

    assert (found.rule, found.severity, found.subject) == ("memory-pressure", "info", "ranks 0-7")
    assert found.evidence == "memory.pressure of /pod1/c1: some 100 ms/s, all at once 12"
    assert throttled(EIGHT, {"/pod1/c1": rates(memory=99.9)}, IN_ONE) == []
    assert throttled(EIGHT, {"/pod1/c1": rates(memory=500.0, own=False)}, IN_ONE) == []
    assert throttled(EIGHT, {"/pod1/c1": rates(memory=None)}, IN_ONE) == []


def test_rates_are_per_second_of_the_interval() -> None:
    before, after = load(100, 10, 1_000_000, 500, 7_000), load(120, 18, 3_000_000, 1_000_500, 407_000)

    assert rates_between("/a", before, after, 2.0) == CgroupRates(
        "/a", 8.0, QUOTA, 1000.0, 0.4, 500.0, 200.0, 0.0, pressure_is_own=True
    )


def test_where_no_period_ended_nobody_was_held_back() -> None:
    assert rates_between("/a", load(5, 5), load(5, 5), 1.0).throttled_share == 0.0


def test_counters_of_another_quota_or_another_source_are_no_rate() -> None:
    found = rates_between("/a", load(path="/x/cpu.max", own=False), load(10, 5, 9, 9, 9), 1.0)
    assert found[3:] == (None, None, None, None, None, True)


def test_counters_that_ran_backward_are_unknown() -> None:
    found = rates_between("/a", load(10, 10, 10, 10, 10), load(9, 9, 9, 9, 9), 1.0)
    assert found[3:7] == (None, None, None, None)


MAYBE = st.none() | st.integers(0, 1 << 64)
LOADS = st.builds(load, MAYBE, MAYBE, MAYBE, MAYBE, MAYBE, own=st.booleans())


@given(LOADS, LOADS, st.floats(-1, 1e6))
def test_a_share_is_a_share_and_no_rate_is_negative(before: CgroupLoad, after: CgroupLoad, interval_s: float) -> None:
    found = rates_between("/a", before, after, interval_s)
    assert found.throttled_share is None or 0 <= found.throttled_share <= 1
    assert all(rate is None or rate >= 0 for rate in found[3:8])
