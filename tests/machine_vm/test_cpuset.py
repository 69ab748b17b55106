"""Cpusets (cgroup v2) that shrink and grow under bound threads: before 6.2 the kernel forgets a thread's own mask."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from machine_vm.guest import Cpuset, cpuset, findings, kernel, placement, seen
from processes import program
from steering import settle, store_in, undo, watching

from numascope.review.report import Report

pytestmark = [pytest.mark.vm("four-node")]

FORGETS = kernel() < (6, 2)
"""Any write that changes `cpuset.cpus` and any move replaces every thread's mask by the cpuset (seen on 6.1; 6.2 keeps what was asked for)."""

ALL = frozenset(range(16))


@pytest.fixture
def group() -> Iterator[Cpuset]:
    with cpuset("0-15") as one:
        yield one


def is_clean(report: Report) -> bool:
    return not report.findings and report.counts.get("ok", 0) > 0


def test_a_cpuset_that_shrinks_cuts_the_plan_and_says_which_cpus_lie_outside(tmp_path: Path, group: Cpuset) -> None:
    with program("ready(); sleep()") as child, watching(tmp_path, child.pid, "4-7") as session:
        group.take_in([child.pid])
        os.sched_setaffinity(child.pid, range(4, 8))
        seen(session, is_clean)

        group.give("0-3,6-15")
        report = seen(session, lambda one: bool(findings(one, "plan-cut")))
        (cut,) = findings(report, "plan-cut")
        target = placement(report, child.pid).target

        assert cut.text == "planned 4-7, usable 6-7"
        assert "outside the cpuset: 4-5" in cut.evidence
        assert target is not None
        assert set(target.cpus) == {6, 7}
        assert os.sched_getaffinity(child.pid) == ({*range(4), *range(6, 16)} if FORGETS else {6, 7})

        group.give("8-15")
        blocked = seen(session, lambda one: placement(one, child.pid).verdict == "blocked")
        assert "usable nothing" in findings(blocked, "plan-cut")[0].text


def test_a_cpuset_that_grows_again_brings_the_plan_back_but_before_6_2_not_the_mask(
    tmp_path: Path, group: Cpuset
) -> None:
    with program("ready(); sleep()") as child, watching(tmp_path, child.pid, "4") as session:
        group.take_in([child.pid])
        os.sched_setaffinity(child.pid, {4})
        seen(session, is_clean)
        group.give("0-7")
        group.give("0-15")
        report = seen(session, lambda one: not findings(one, "plan-cut"))

        assert os.sched_getaffinity(child.pid) == (ALL if FORGETS else {4})
        assert (placement(report, child.pid).verdict == "ok") == (not FORGETS)


def test_a_reverted_thread_follows_a_cpuset_that_grows_as_an_untouched_one_does(tmp_path: Path, group: Cpuset) -> None:
    group.give("0-7")
    with (
        program("ready(); sleep()") as touched,
        program("ready(); sleep()") as untouched,
        store_in(tmp_path) as store,
        watching(tmp_path, touched.pid, "4") as session,
    ):
        group.take_in([touched.pid, untouched.pid])
        settle(session, store)
        assert os.sched_getaffinity(touched.pid) == {4}
        undo(store)
        assert os.sched_getaffinity(touched.pid) == os.sched_getaffinity(untouched.pid) == set(range(8))

        group.give("0-15")
        assert os.sched_getaffinity(touched.pid) == os.sched_getaffinity(untouched.pid) == ALL


@pytest.mark.skipif(not FORGETS, reason="from 6.2 the mask that was asked for is kept")
def test_before_6_2_a_write_of_the_cpuset_undoes_an_apply_and_diff_says_so(tmp_path: Path, group: Cpuset) -> None:
    with (
        program("thread(spin); ready(); sleep()") as child,
        store_in(tmp_path) as store,
        watching(tmp_path, child.pid, "4") as session,
    ):
        group.take_in([child.pid])
        settle(session, store)
        seen(session, lambda one: {each.verdict for each in one.placements} == {"ok"})

        group.give("0-14")
        report = seen(session, lambda one: {each.verdict for each in one.placements} <= {"loose", "escaped"})

        assert all(set(os.sched_getaffinity(one.key.tid)) == set(range(15)) for one in report.placements)
