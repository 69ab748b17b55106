"""The plan of the demo fits every machine: its roles lie on CPUs that are there, and two ranks share none where they need not."""

from __future__ import annotations

from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from numascope.cli.demo_plan import demo_plan
from numascope.cpuset import CpuSet


def sets_of(document: dict[str, object]) -> dict[str, dict[str, CpuSet]]:
    bound = cast("dict[str, dict[str, str]]", document["bind_cpu"])
    return {
        subject: {role: CpuSet.parse(text) for role, text in roles.items()}
        for subject, roles in bound.items()
    }  # fmt: skip


def whole(roles: dict[str, CpuSet]) -> CpuSet:
    return CpuSet.of(cpu for cpus in roles.values() for cpu in cpus)


@given(st.sets(st.integers(0, 1023), min_size=1, max_size=400))
def test_every_role_has_cpus_and_all_of_them_are_allowed(cpus: set[int]) -> None:
    plan = sets_of(demo_plan(sorted(cpus)))
    assert set(plan) == {"scheduler", "device0", "device1"}
    for roles in plan.values():
        assert all(roles.values())
        assert whole(roles) <= CpuSet.of(cpus)


@given(st.sets(st.integers(0, 1023), min_size=4, max_size=400))
def test_two_ranks_share_no_cpu_where_there_are_four(cpus: set[int]) -> None:
    plan = sets_of(demo_plan(sorted(cpus)))
    assert whole(plan["device0"]).isdisjoint(whole(plan["device1"]))


@given(st.sets(st.integers(0, 1023), min_size=2, max_size=400))
def test_no_bound_role_has_the_set_of_main_where_there_are_two_cpus(cpus: set[int]) -> None:
    plan = sets_of(demo_plan(sorted(cpus)))
    for device in ("device0", "device1"):
        assert plan[device]["main"] not in (plan[device]["runtime"], plan[device]["minddata"])


def test_one_cpu_is_shared_by_all() -> None:
    assert {str(whole(roles)) for roles in sets_of(demo_plan([5])).values()} == {"5"}


def test_two_cpus_make_one_for_each_rank_and_both_for_main() -> None:
    plan = sets_of(demo_plan([0, 1]))
    assert {role: str(cpus) for role, cpus in plan["device0"].items()} == {
        "main": "0-1",
        "runtime": "0",
        "minddata": "0",
    }
    assert {role: str(cpus) for role, cpus in plan["device1"].items()} == {
        "main": "0-1",
        "runtime": "1",
        "minddata": "1",
    }


def test_two_nodes_give_each_rank_a_node_of_its_own_also_where_their_numbers_alternate() -> None:
    even, odd = range(0, 384, 2), range(1, 384, 2)
    plan = sets_of(demo_plan(range(384), [even, odd]))
    assert whole(plan["device0"]) <= CpuSet.of(even)
    assert whole(plan["device1"]) <= CpuSet.of(odd)


def test_a_node_without_an_allowed_cpu_takes_no_rank() -> None:
    plan = sets_of(demo_plan(range(8), [range(8), range(8, 16)]))
    assert whole(plan["device0"]).isdisjoint(whole(plan["device1"]))
    assert whole(plan["device1"]) <= CpuSet.span(0, 7)


def test_a_wide_node_is_cut_as_gen_bind_json_cuts_it() -> None:
    plan = sets_of(demo_plan(range(192), [range(n, n + 24) for n in range(0, 192, 24)]))
    assert {role: str(cpus) for role, cpus in plan["device0"].items()} == {
        "main": "13-19",
        "runtime": "4-8",
        "minddata": "9-12",
    }
    assert str(plan["scheduler"]["main"]) == "20-23"
