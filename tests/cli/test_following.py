"""A job that ends and is started again is followed when asked: its last state, then the new one with evidence of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from processes import OWN_CPUS, PRELUDE, eventually

from numascope.cli.following import AWAITED, FollowingSession, followed
from numascope.cli.session import open_session
from numascope.observe.select import Wanted
from numascope.review.report import Report

pytestmark = pytest.mark.live

RANK = PRELUDE + "sleep()"
JOB = f"""
children = []
for rank in range(2):
    pid = os.fork()
    if pid == 0:
        os.execve(sys.executable, [sys.executable, "-c", {RANK!r}], {{**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank)}})
    children.append(pid)
name("pt_elastic"); ready()
sys.stdin.readline()
for pid in children: os.kill(pid, 9); os.waitpid(pid, 0)
"""


@contextmanager
def running(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A program of these arguments, which ends when it gets a line."""
    child = subprocess.Popen(
        [sys.executable, "-c", PRELUDE + code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        yield child
    finally:
        end(child)


def end(child: subprocess.Popen[str]) -> None:
    if child.returncode is None:
        child.communicate("\n", timeout=20)


@contextmanager
def following(pid: int, plan: str | None = None, device: int | None = None) -> Iterator[FollowingSession]:
    session = followed((Wanted(pid, device),), partial(open_session, plan_path=plan, interval_s=0.2, window_s=0.5))
    try:
        yield session
    finally:
        session.close()


def stepped_until(session: FollowingSession, holds: Callable[[Report], bool]) -> Report:
    reports: list[Report] = []

    def step() -> bool:
        reports.append(session.step())
        time.sleep(0.1)
        return holds(reports[-1])

    assert eventually(step, 40)
    return reports[-1]


def test_a_job_is_followed_from_launcher_to_launcher() -> None:
    mark = f"job-{os.getpid()}-{time.monotonic_ns()}"
    with running(JOB, mark) as first:
        session = followed((Wanted(first.pid),), partial(open_session, plan_path=None, interval_s=0.2, window_s=0.5))
        seen = stepped_until(session, lambda report: len(report.ranks) == 2)
        assert not seen.ended
    try:
        ended = stepped_until(session, lambda report: report.ended)
        still = session.step()

        with running(JOB, mark) as second:
            anew = stepped_until(session, lambda report: not report.ended)

            assert (ended.is_awaited, ended.notes[-1]) == (True, AWAITED)
            assert still is ended
            assert anew.title == f"torchrun {second.pid}"
            assert len(anew.ranks) == 2
            assert (anew.interval_s, anew.since_first_s, anew.is_awaited) == (None, 0.0, False)
    finally:
        session.close()


WORKER = "ready(); sys.stdin.readline()"


def test_another_process_of_other_arguments_is_not_taken_for_it() -> None:
    mark = f"one-{os.getpid()}-{time.monotonic_ns()}"
    with running(WORKER, mark) as first, following(first.pid) as session:
        stepped_until(session, lambda report: not report.ended)
        end(first)
        stepped_until(session, lambda report: report.ended)
        with running(WORKER, f"{mark}-other"):
            time.sleep(0.6)

            assert session.step().is_awaited


def test_one_that_ran_beside_it_with_the_same_arguments_is_not_taken_for_it() -> None:
    mark = f"twin-{os.getpid()}-{time.monotonic_ns()}"
    with running(WORKER, mark) as first, running(WORKER, mark), following(first.pid) as session:
        stepped_until(session, lambda report: not report.ended)
        time.sleep(0.05)
        session.step()
        end(first)
        stepped_until(session, lambda report: report.ended)
        time.sleep(0.6)

        assert session.step().is_awaited


def test_diff_says_that_it_waits_and_begins_anew(tmp_path: Path) -> None:
    mark = f"diff-{os.getpid()}-{time.monotonic_ns()}"
    plan = tmp_path / "bind.json"
    cpus = {"device0": {"main": str(OWN_CPUS[0])}}
    plan.write_text(json.dumps({"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": cpus}))
    code = f"os.sched_setaffinity(0, {{{OWN_CPUS[0]}}}); {WORKER}"
    arguments = [sys.executable, "-m", "numascope", "diff", str(plan), "", "--watch", "--follow", "--interval", "0.2s"]
    with running(code, mark) as first:
        arguments[5] = f"{first.pid}=device0"
        text = subprocess.Popen([*arguments, "--for", "14s"], stdout=subprocess.PIPE, text=True)
        lines = subprocess.Popen([*arguments, "--for", "14s", "--json"], stdout=subprocess.PIPE, text=True)
        time.sleep(4.0)
    time.sleep(1.5)
    with running(code, mark) as second:
        page, documents = text.communicate(timeout=60)[0], lines.communicate(timeout=60)[0]

    assert f" {first.pid} ended by " in page
    assert f", {AWAITED} ──" in page
    assert page.index(f" {first.pid} ended by ") < page.index(f"{second.pid}")
    assert text.returncode == 0
    told = [json.loads(line) for line in documents.splitlines()]
    whole = [at for at, one in enumerate(told) if "delta" not in one]
    ended = [at for at, one in enumerate(told) if one["ended"]]
    assert len(whole) == 2
    assert ended == [whole[1] - 1]
    assert AWAITED in told[ended[0]]["notes"]
    assert [one["pid"] for one in told[whole[1]]["ranks"]] == [second.pid]
