"""The stand-in job, judged like any other: one thread escaped, and nothing else is made worse than it is."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from processes import OWN_CPUS, needs_two_cpus

from numascope.cli.session import Session, open_session
from numascope.cli.standin_process import StandIn
from numascope.observe.select import Wanted
from numascope.review.report import Report

pytestmark = [pytest.mark.live, needs_two_cpus]


@pytest.fixture
def job() -> Iterator[StandIn]:
    with StandIn() as one:
        yield one


@pytest.fixture
def session(job: StandIn) -> Iterator[Session]:
    one = open_session((Wanted(job.launcher_pid),), None, interval_s=0.2, window_s=1.0)
    try:
        yield one
    finally:
        one.close()


def rank_threads(report: Report) -> list[int]:
    return [one.key.tid for one in report.placements if one.rank is not None]


def test_its_own_plan_is_found_and_one_thread_has_escaped_from_it(job: StandIn, session: Session) -> None:
    report = session.look(1.0)

    assert report.plan is not None
    assert report.plan.path == job.plan_path
    assert [one.framework for one in report.jobs] == ["mindspore"]
    assert [(rank.name, rank.device) for rank in report.ranks] == [("rank 0", 0), ("rank 1", 1)]
    escaped = [one for one in report.placements if one.verdict == "escaped"]
    assert [(one.comm, one.role.name, one.rank) for one in escaped] == [("ActorThread_0", "runtime", 1)]


def test_a_job_is_not_judged_by_the_plan_of_another(job: StandIn) -> None:
    with StandIn() as other:
        pids = (Wanted(job.launcher_pid), Wanted(other.launcher_pid))
        both = open_session(pids, None, interval_s=0.2, window_s=1.0)
        given = open_session(pids, job.plan_path, interval_s=0.2, window_s=1.0)
        try:
            report, judged = both.step(), given.step()
        finally:
            both.close()
            given.close()

    assert report.plan is None
    assert any("these jobs were not started with one plan, so none is used" in note for note in report.notes)
    assert {one.verdict for one in report.placements} == {"unplanned"}
    assert judged.plan is not None


def test_a_job_that_was_bound_and_then_reset_is_not_pending(session: Session) -> None:
    before = session.look(0.5)
    for tid in rank_threads(before):
        os.sched_setaffinity(tid, OWN_CPUS)
    after = session.look(1.0)

    assert before.counts["pending"] == 0
    assert after.counts["pending"] == 0
    assert after.counts["escaped"] + after.counts["loose"] > before.counts["escaped"] + before.counts["loose"]


def test_a_cleaning_process_is_not_accused_when_its_ranks_main_thread_is_moved(session: Session) -> None:
    before = session.look(0.5)
    cleaners = {one.key for one in before.placements if one.role.name == "cleaner"}
    main = before.ranks[0].pid
    os.sched_setaffinity(main, {max(OWN_CPUS)})
    after = session.look(1.0)

    assert cleaners
    assert {one.verdict for one in after.placements if one.key in cleaners} == {"unplanned"}
