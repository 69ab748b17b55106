"""Real threads against real plans: named when they leave, clean when they are put back."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from processes import OWN_CPUS, needs_two_cpus, program

from numascope.cli.session import Session, open_session
from numascope.observe.select import Wanted
from numascope.review.outcome import outcome_of
from numascope.review.report import Placement, Report

pytestmark = [pytest.mark.live, needs_two_cpus]


def plan_file(folder: Path, cpu: int, **modules: str) -> str:
    """A plan that gives device 0 one CPU of this machine."""
    path = folder / "bind.json"
    document = {"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": {"main": str(cpu), **modules}}}
    path.write_text(json.dumps(document))
    return str(path)


@contextmanager
def session(plan: str | None, *targets: Wanted) -> Iterator[Session]:
    one = open_session(targets, plan, interval_s=0.2, window_s=1.0)
    try:
        yield one
    finally:
        one.close()


def placed(report: Report, comm: str) -> Placement:
    return next(one for one in report.placements if one.comm == comm)


BUSY_MACHINE = {"starved", "shared", "crowded"}
"""Conditions that other work on the testing machine may bring about."""

BOUND = "os.sched_setaffinity(0, {%d})\n"
WORKER = 'named("worker", spin, 0.3); named("sleeper", sleep); time.sleep(0.3); ready(); sleep()'


def test_a_job_in_its_place_is_clean(tmp_path: Path) -> None:
    with (
        program(BOUND % OWN_CPUS[0] + WORKER) as child,
        session(plan_file(tmp_path, OWN_CPUS[0]), Wanted(child.pid, 0)) as watch,
    ):
        report = watch.look(0.5)

    assert report.counts == {"ok": 3}
    assert {one.rule for one in report.findings} <= BUSY_MACHINE
    if not report.findings:
        assert outcome_of(report, "warning").code == 0


def test_a_thread_moved_off_is_escaped_at_the_next_look_and_clean_when_put_back(tmp_path: Path) -> None:
    with (
        program(BOUND % OWN_CPUS[0] + WORKER) as child,
        session(plan_file(tmp_path, OWN_CPUS[0]), Wanted(child.pid, 0)) as watch,
    ):
        before = watch.look(0.3)
        tid = placed(before, "worker").key.tid
        os.sched_setaffinity(tid, {OWN_CPUS[1]})
        moved = watch.look(0.5)
        os.sched_setaffinity(tid, {OWN_CPUS[0]})
        back = watch.look(1.5)  # moved twice within a second is restless; after a whole window in its place it is not

    worker = placed(moved, "worker")
    assert worker.verdict == "escaped"
    assert worker.outside.max_ns > 0
    assert worker.outside.cpu == OWN_CPUS[1]
    assert outcome_of(moved, "warning").code == 1
    (finding,) = [one for one in moved.findings if one.rule == "escaped"]
    assert finding.keys == (worker.key,)
    assert finding.remedy == f"numascope apply {tmp_path / 'bind.json'} {child.pid}=device0"
    assert back.counts == {"ok": 3}


def test_a_sleeping_thread_moved_off_is_astray_since_its_last_cpu_proves_nothing(tmp_path: Path) -> None:
    with (
        program(BOUND % OWN_CPUS[0] + WORKER) as child,
        session(plan_file(tmp_path, OWN_CPUS[0]), Wanted(child.pid, 0)) as watch,
    ):
        tid = placed(watch.look(0.2), "sleeper").key.tid
        os.sched_setaffinity(tid, {OWN_CPUS[1]})
        report = watch.look(0.3)

    sleeper = placed(report, "sleeper")
    assert (sleeper.verdict, sleeper.outside.max_ns) == ("astray", 0)
    assert sleeper.cpu_stale


def test_a_fifth_of_the_time_outside_is_never_ok(tmp_path: Path) -> None:
    """The thread moves itself out for 4 ms of every 20 and may run anywhere in between."""
    code = (
        "def roam():\n"
        "    while True:\n"
        f"        os.sched_setaffinity(0, {{{OWN_CPUS[1]}}}); began = time.perf_counter()\n"
        "        while time.perf_counter() - began < 0.004: pass\n"
        f"        os.sched_setaffinity(0, {{{OWN_CPUS[0]}}}); began = time.perf_counter()\n"
        f"        os.sched_setaffinity(0, {{{OWN_CPUS[0]}, {OWN_CPUS[1]}}})\n"
        "        while time.perf_counter() - began < 0.016: pass\n"
        'named("roamer", roam); time.sleep(0.3); ready(); sleep()'
    )
    with (
        program(BOUND % OWN_CPUS[0] + code) as child,
        session(plan_file(tmp_path, OWN_CPUS[0]), Wanted(child.pid, 0)) as watch,
    ):
        verdicts = set()
        for _ in range(5):
            report = watch.look(0.4)
            roamer = placed(report, "roamer")
            if str(roamer.allowed) != str(OWN_CPUS[0]):
                verdicts.add(roamer.verdict)

    assert verdicts
    assert verdicts <= {"escaped", "loose", "astray"}


def test_threads_that_want_one_cpu_while_another_idles_wait_and_are_counted(tmp_path: Path) -> None:
    code = BOUND % OWN_CPUS[0] + "for _ in range(3):\n    if os.fork() == 0: spin()\nready(); spin()"
    with program(code) as child, session(plan_file(tmp_path, OWN_CPUS[1]), Wanted(child.pid, 0)) as watch:
        report = watch.look(1.0)

    waits = [one.wait_ms_per_s or 0.0 for one in report.placements]
    assert sum(waits) > 1000, (
        "four threads that always want one CPU wait three seconds a second where nothing else runs"
    )


def test_a_rank_of_many_threads_on_one_cpu_has_collapsed_though_nothing_was_planned() -> None:
    code = BOUND % OWN_CPUS[0] + "for _ in range(6): thread(sleep)\nready(); sleep()"
    with program(code) as child, session(None, Wanted(child.pid)) as watch:
        report = watch.look(0.2)

    assert [one.rule for one in report.findings] == ["collapsed"]


def test_a_plan_beyond_this_machine_blocks_and_says_what_is_missing(tmp_path: Path) -> None:
    absent = max(os.cpu_count() or 1, *OWN_CPUS) + 500
    with program("ready(); sleep()") as child, session(plan_file(tmp_path, absent), Wanted(child.pid, 0)) as watch:
        report = watch.look(0.2)

    assert report.placements[0].verdict == "blocked"
    cut = next(one for one in report.findings if one.rule == "plan-cut")
    assert f"not on this machine: {absent}" in cut.evidence


def test_after_the_end_the_last_state_stands(tmp_path: Path) -> None:
    with (
        program(BOUND % OWN_CPUS[0] + WORKER) as child,
        session(plan_file(tmp_path, OWN_CPUS[0]), Wanted(child.pid, 0)) as watch,
    ):
        last = watch.look(0.2)
        child.kill()
        child.wait()
        time.sleep(0.1)
        after = watch.step()

    assert after.ended
    assert after.placements == last.placements
    assert outcome_of(after, "warning").code == 4


def test_ranks_whose_launcher_died_are_ranks_still() -> None:
    rank = "import os,time; time.sleep(1000)"
    code = (
        "import subprocess\nname('pt_elastic')\n"
        f"for rank in '01': subprocess.Popen([sys.executable, '-c', '{rank}'],"
        " env={**os.environ, 'RANK': rank, 'LOCAL_RANK': rank}, start_new_session=True)\n"
        "time.sleep(0.5); ready(); sleep()"
    )
    with program(code) as child, session(None, Wanted(child.pid)) as watch:
        before = watch.look(0.2)
        child.kill()
        child.wait()
        time.sleep(0.1)
        after = watch.look(0.2)
        for one in before.ranks:
            os.kill(one.pid, 9)

    assert [one.name for one in before.ranks] == ["rank 0", "rank 1"]
    assert [(one.name, one.pid) for one in after.ranks] == [(one.name, one.pid) for one in before.ranks]
    assert not after.ended


def test_a_row_that_did_nothing_is_the_same_object_and_costs_nothing(tmp_path: Path) -> None:
    code = BOUND % OWN_CPUS[0] + "for _ in range(200): thread(sleep)\nready(); sleep()"
    with program(code) as child, session(plan_file(tmp_path, OWN_CPUS[0]), Wanted(child.pid, 0)) as watch:
        watch.look(0.5)
        one = watch.step()
        other = watch.step()

    kept = sum(before is after for before, after in zip(one.placements, other.placements, strict=True))
    assert kept >= 200


def test_a_thread_that_is_never_where_it_is_looked_at_is_not_ok(tmp_path: Path) -> None:
    """A fifth of its time on another CPU, by its own calls: its mask at most looks is the planned one, its migrations are not."""
    code = (
        "def roam():\n"
        "    while True:\n"
        f"        for cpu, ms in (({OWN_CPUS[0]}, 80), ({OWN_CPUS[1]}, 20)):\n"
        "            os.sched_setaffinity(0, {cpu}); began = time.thread_time()\n"
        "            while time.thread_time() - began < ms / 1000: pass\n"
        'named("roamer", roam); time.sleep(0.3); ready(); sleep()'
    )
    with (
        program(BOUND % OWN_CPUS[0] + code) as child,
        session(plan_file(tmp_path, OWN_CPUS[0]), Wanted(child.pid, 0)) as watch,
    ):
        verdicts = {placed(watch.look(1.0), "roamer").verdict for _ in range(3)}

    assert verdicts <= {"escaped", "loose", "astray"}


def test_an_idle_unnamed_thread_that_escaped_is_still_a_warning(tmp_path: Path) -> None:
    code = "thread(lambda: [time.sleep(0.05) for _ in iter(int, 1)]); time.sleep(0.3); ready(); sleep()"
    with (
        program(BOUND % OWN_CPUS[0] + code) as child,
        session(plan_file(tmp_path, OWN_CPUS[0]), Wanted(child.pid, 0)) as watch,
    ):
        tid = next(one.key.tid for one in watch.look(0.3).placements if one.key.tid != child.pid)
        os.sched_setaffinity(tid, {OWN_CPUS[1]})
        report = watch.look(1.0)

    idle = next(one for one in report.placements if one.key.tid == tid)
    assert (idle.verdict, idle.severity) == ("escaped", "warning")
    assert outcome_of(report, "warning").code == 1
