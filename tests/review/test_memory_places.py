"""Memory against where it belongs: verdicts and findings at their thresholds, trends, homes, and what is said of what cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
import reports
from shapes import Shape, machine

from numascope.cpuset import CpuSet
from numascope.observe.balancing import Balancing
from numascope.observe.interval import Interval
from numascope.observe.memory_look import whole_share
from numascope.observe.sample import NodeCounters, Sample
from numascope.observe.seen_memory import PolicyGroup, SeenMemory, grouped
from numascope.observe.share import NOTHING, MemoryShare
from numascope.plan.objects import Rule, Subject
from numascope.review.memory import judge_place
from numascope.review.memory_findings import memory_findings, share_words, size_words
from numascope.review.memory_places import MemoryPlaces, asks_in_vain, unread_notes
from numascope.review.report import MemoryView, Placement, RankView

TWO = machine(Shape(2, 1, 1, 4))
ONE = machine(Shape(1, 1, 1, 4))
MIB = 1 << 10
PID = 100


def seen(nodes: Mapping[int, int], looked_s: int = 1, starttime: int = 5) -> SeenMemory:
    """Memory that was counted page by page, in MiB by node."""
    share = MemoryShare(whole_share({node: size * MIB for node, size in nodes.items()}), source="numa_maps")
    return SeenMemory(starttime, looked_s * 10**9, share, (PolicyGroup("default", 3, (PID,)),))


def sample(memory: Mapping[int, SeenMemory], at_s: int = 1, free_kib: int = 64 << 20) -> Sample:
    nodes = {node: NodeCounters(free_kib, 1, 0, 7, 0, 3 << 20) for node in (0, 1)}
    found = replace(reports.sample(at_s), memory=memory, nodes=nodes)
    return replace(found, balancing=Balancing(0, 0))


def thread(cpu: int, busy: float | None, allowed: str = "0-7", tid: int = PID) -> Placement:
    return reports.placement(tid, "main", "main", 0, None, allowed, cpu, "unplanned", busy, pid=PID, node=cpu // 4)


def viewed(places: MemoryPlaces, planned: str, *threads: Placement) -> MemoryView:
    active = [one for one in threads if one.busy]
    found = places.view(PID, CpuSet.parse(planned), active, threads)
    assert found is not None
    return found


def place(nodes: Mapping[int, int], planned: str = "1", free_kib: int = 64 << 20) -> MemoryView:
    places = MemoryPlaces()
    places.see(sample({PID: seen(nodes)}, free_kib=free_kib), TWO)
    return viewed(places, planned)


def rank(view: MemoryView | None, verdict: str = "", planned: str = "1") -> RankView:
    one = reports.rank_view("A", PID, 0, "4-7", [thread(4, 0.5)], None, planned)
    return replace(one, memory=view, memory_verdict=verdict, policy="default")


def test_memory_on_other_nodes_than_the_planned_is_off() -> None:
    view = place({0: 30, 1: 70})
    assert (view.home, view.off, view.is_everywhere) == (CpuSet.of([1]), view.seen.share.off(CpuSet.of([1])), False)
    assert share_words(view.off or Interval(0, 0, 0)) == "30.0"
    assert view.away() == [(0, 30 * MIB)]


def test_on_one_node_nothing_is_off_and_nothing_is_said() -> None:
    places = MemoryPlaces()
    places.see(sample({PID: seen({0: 30})}), ONE)
    view = viewed(places, "0")
    assert (view.off, view.is_everywhere, view.is_unread, view.why) == (None, True, False, ())
    assert memory_findings([rank(view)], None, ONE) == []
    assert unread_notes([rank(view)]) == []


def test_without_a_plan_memory_belongs_where_the_process_runs() -> None:
    places = MemoryPlaces()
    places.see(sample({PID: seen({0: 30, 1: 70})}), TWO)
    assert viewed(places, "", thread(5, None, "4-7")).home == CpuSet.of([1])
    assert viewed(places, "", thread(5, 0.9)).home == CpuSet.of([1])
    places.see(sample({PID: seen({0: 30, 1: 70})}, 2), TWO)
    assert viewed(places, "", thread(5, 0.9), thread(0, 0.05, tid=101)).home == CpuSet.of([1])


def test_a_process_that_runs_on_all_nodes_has_no_memory_off_them() -> None:
    places = MemoryPlaces()
    places.see(sample({PID: seen({0: 30, 1: 70})}), TWO)
    view = viewed(places, "", thread(5, 0.9), thread(1, 0.5, tid=101))
    assert (view.home, view.off, view.is_everywhere) == (CpuSet.of([0, 1]), None, True)


def test_threads_of_its_helpers_do_not_say_where_a_process_runs() -> None:
    places = MemoryPlaces()
    places.see(sample({PID: seen({0: 30, 1: 70})}), TWO)
    helper = reports.placement(300, "loader", "loader", 0, None, "0-7", 1, "unplanned", 0.9, pid=300, node=0)
    assert viewed(places, "", thread(5, 0.9), helper).home == CpuSet.of([1])


@pytest.mark.parametrize(
    ("policy", "off", "verdict"),
    [
        ("ok", 0.05, "ok"),
        ("ok", 0.0501, "spilled"),
        ("unbound", 0.9, "unbound"),
        ("", 0.9, ""),
        ("unknown", 0.9, "unknown"),
    ],
)
def test_more_than_a_twentieth_off_under_the_right_policy_has_spilled(policy: str, off: float, verdict: str) -> None:
    view = replace(place({1: 1}), off_own=Interval(off + 0.01, off, off + 0.02))
    assert judge_place(policy, view) == verdict
    assert judge_place(policy, None) == policy


@pytest.mark.parametrize(("low", "rules"), [(0.2, []), (0.2001, ["remote-memory"])])
def test_more_than_a_fifth_off_is_told_without_a_plan(low: float, rules: list[str]) -> None:
    view = replace(place({0: 30, 1: 70}), off_own=Interval(0.3, low, 0.4))
    assert [one.rule for one in memory_findings([rank(view)], None, TWO)] == rules


def test_remote_memory_is_told_with_size_node_reason_and_what_to_do() -> None:
    (told,) = memory_findings([rank(place({0: 3000, 1: 7000}))], None, TWO)
    assert (told.rule, told.severity, told.subject, told.rank) == ("remote-memory", "warning", "rank 0", 0)
    assert told.text == "30.0 % of 9.8 GiB off N1, 2.9 GiB on N0"
    assert told.evidence.startswith("counted by numa_maps; its policy is default")
    assert told.evidence.endswith("NUMA balancing is off: nothing brings them after their threads")
    assert told.remedy == (
        f"numascope apply --memory move {PID} --to 1 --dry-run; lasting: start it under numactl --membind=1"
    )


def test_a_few_pages_of_a_small_process_are_no_warning() -> None:
    """An interpreter of 30 MiB that started on another node."""
    small = place({0: 30, 1: 70})
    total = small.seen.share.total
    little = replace(small.seen.share, total=total._replace(resident_kib=30 << 10))
    (told,) = memory_findings([rank(replace(small, seen=replace(small.seen, share=little)))], None, TWO)

    assert (told.rule, told.severity) == ("remote-memory", "info")


def test_a_full_node_is_the_reason_where_there_is_no_room() -> None:
    (told,) = memory_findings([rank(place({0: 30, 1: 70}, free_kib=1 << 20))], None, TWO)
    assert "node 1 is full: 1.0 GiB of 256.0 GiB free" in told.evidence
    assert "its 3.0 GiB of page cache are not dropped for it" in told.evidence


def test_a_plan_that_binds_others_only_is_named() -> None:
    rule = Rule(Subject(0), "main", CpuSet.parse("4-7"), reports.NOWHERE)
    view = place({0: 3, 1: 7})
    (told,) = memory_findings([rank(view)], replace(reports.plan(), rules=(rule,)), TWO)
    assert "bind.json binds no memory of device0" in told.evidence
    assert told.remedy.endswith("lasting: bind the memory of device0 in the plan")
    (other,) = memory_findings([rank(view)], reports.plan(), TWO)
    assert "binds no memory" not in other.evidence


def test_what_came_of_a_wrong_policy_stands_beside_it() -> None:
    (told,) = memory_findings([rank(place({0: 300, 1: 700}), "unbound")], reports.plan(), TWO)
    assert told.rule == "unbound"
    assert told.text.endswith("planned node 1; 30.0 % of 1000.0 MiB off N1, 300.0 MiB on N0")
    assert told.remedy.startswith(f"numascope apply --memory move {PID} --to 1 --dry-run; lasting: ")
    (near,) = memory_findings([rank(place({1: 700}), "unbound")], reports.plan(), TWO)
    assert near.remedy.startswith("the policy of a running process cannot be set from outside")


def test_an_arrow_needs_more_than_both_intervals() -> None:
    places = MemoryPlaces()
    looks = [seen({0: 30, 1: 70}, 1), seen({0: 40, 1: 60}, 61), seen({0: 20, 1: 80}, 121), seen({0: 20, 1: 80}, 181)]
    trends = []
    for look in looks:
        places.see(sample({PID: look}), TWO)
        trends.append(viewed(places, "1").trend)
    assert trends == [0, 1, -1, 0]


def test_another_process_of_the_same_number_has_no_look_before() -> None:
    places = MemoryPlaces()
    places.see(sample({PID: seen({0: 30, 1: 70})}), TWO)
    places.see(sample({PID: seen({0: 90, 1: 10}, 61, starttime=9)}), TWO)
    assert viewed(places, "1").trend == 0


def test_as_long_as_there_is_no_new_look_the_view_is_the_same_object() -> None:
    places = MemoryPlaces()
    look = seen({0: 30, 1: 70})
    places.see(sample({PID: look}), TWO)
    first = viewed(places, "1")
    places.see(sample({PID: look}, 2, free_kib=1), TWO)
    assert viewed(places, "1") is first
    places.see(sample({}, 3), TWO)
    assert places.view(PID, CpuSet.of([1]), (), ()) is None


def unread(reason: str) -> MemoryView:
    look = SeenMemory(5, 1, MemoryShare(NOTHING, reason=reason))
    return MemoryView(look, CpuSet.of([1]), None, is_everywhere=False)


def test_a_missing_right_is_said_once_with_the_way_to_get_it() -> None:
    view = unread("may not be read: run as its owner (uid 7) or as root")
    ranks = [rank(view), rank(view), rank(place({1: 5}))]
    assert unread_notes(ranks) == ["where memory lies: may not be read: run as its owner (uid 7) or as root"]


def test_only_where_a_plan_asks_for_memory_is_it_a_part_that_could_not_be_read() -> None:
    view = unread("may not be read")
    assert [asks_in_vain(rank(view, verdict)) for verdict in ("", "ok", "unbound", "unknown")] == [
        False,
        True,
        True,
        True,
    ]
    assert not asks_in_vain(rank(place({1: 5}), "ok"))
    assert not asks_in_vain(rank(None, "ok"))


def test_policies_are_summed_up_with_the_main_threads_first() -> None:
    policies = {100: "bind:1", **dict.fromkeys(range(101, 110), "default"), 110: None}
    assert grouped(policies, 100) == (
        PolicyGroup("bind:1", 1, (100,)),
        PolicyGroup("default", 9, (101, 102, 103, 104, 105, 106)),
        PolicyGroup(None, 1, (110,)),
    )
    assert grouped({}, 100) == ()
    assert [one.policy for one in grouped({101: "default"}, 100)] == ["default"]


def test_shares_and_sizes_in_words() -> None:
    assert [share_words(Interval(0.31, 0.3, 0.324)), share_words(Interval(0.5, 0.5, 0.5))] == ["31.0 ±1.4", "50.0"]
    assert [size_words(None), size_words(1 << 21), size_words(1 << 10)] == ["?", "2.0 GiB", "1.0 MiB"]
