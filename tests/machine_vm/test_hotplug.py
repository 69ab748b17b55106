"""CPUs that go offline under bound threads, and come back (Linux 6.1, Debian 12)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from machine_vm.guest import (
    finding_of,
    findings,
    masks_of,
    named,
    offline,
    pids_of,
    placement,
    put_back,
    seen,
    watching_job,
)
from processes import program
from steering import watching

from numascope.cli.standin_process import StandIn
from numascope.review.report import Report

pytestmark = [pytest.mark.vm("four-node")]


def is_clean(report: Report) -> bool:
    return not report.findings and report.counts.get("ok", 0) > 0


def test_a_busy_thread_whose_one_cpu_goes_offline_is_blocked_and_the_plan_is_cut(job: StandIn) -> None:
    """6.1 gives a running thread every CPU that is online as its new mask; it does not come home on its own."""
    with watching_job(job) as session:
        actor = named(seen(session, is_clean), 1, "ActorThread_0")
        tid, home = actor.key.tid, actor.target
        assert home is not None
        (cpu,) = home.cpus
        before = masks_of(pids_of(job.launcher_pid))
        with offline(cpu):
            report = seen(session, lambda one: placement(one, tid).verdict == "blocked")
            blocked = placement(report, tid)
            cut = [one for one in findings(report, "plan-cut") if f"planned {cpu}, usable nothing" in one.text]

            assert blocked.target is not None
            assert not blocked.target.cpus
            assert finding_of(report, "blocked", tid) is not None
            assert len(cut) == 1
            assert f"offline: {cpu}" in cut[0].evidence
            assert cpu in report.machine.cpus.offline

        back = seen(session, lambda one: cpu in one.machine.cpus.online and placement(one, tid).verdict != "blocked")
        assert not findings(back, "plan-cut")
        put_back(before)
        assert placement(seen(session, is_clean), tid).verdict == "ok"


def test_a_sleeping_thread_keeps_the_mask_of_an_offline_cpu_and_has_it_again_when_it_is_back(tmp_path: Path) -> None:
    """6.1: sched_getaffinity gives an empty set meanwhile; status keeps the CPU."""
    with program("os.sched_setaffinity(0, {6})\nready(); sleep()") as child, watching(tmp_path, child.pid, "6") as one:
        seen(one, is_clean)
        with offline(6):
            assert os.sched_getaffinity(child.pid) == set()
            assert placement(seen(one, lambda report: report.counts["blocked"] == 1), child.pid).verdict == "blocked"
        seen(one, is_clean)
        assert os.sched_getaffinity(child.pid) == {6}
