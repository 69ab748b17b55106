"""apply and revert on real processes: where they ran afterwards is read from psr, schedstat and the CPUs' own counters."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from machine_vm.guest import (
    HASHING,
    SLOW_S,
    busy_ns,
    cpuset,
    findings,
    kernel,
    last_cpu,
    masks_of,
    numascope,
    offline,
    placement,
    run_ns,
    seen,
)
from processes import eventually, program
from steering import outcomes, settle, store_in, undo, watching

pytestmark = [pytest.mark.vm("four-node")]

HOME = range(12, 16)
"""CPUs of another node than those of ELSEWHERE."""

ELSEWHERE = "os.sched_setaffinity(0, {0, 1, 2, 3})\n"
WORKERS = f"{HASHING}{ELSEWHERE}for _ in range(2): thread(hash, 0.05)\nready(); sleep()"


@pytest.fixture
def plan(tmp_path: Path) -> str:
    path = tmp_path / "bind.json"
    path.write_text(json.dumps({"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": {"main": "12-15"}}}))
    return str(path)


@pytest.mark.vm("four-node", "two-socket")
def test_applied_threads_run_on_the_cpus_of_the_plan_and_reverted_ones_where_they_were(plan: str) -> None:
    with program(WORKERS) as child:
        target = f"{child.pid}=device0"
        before = masks_of([child.pid])
        assert set(before.values()) == {frozenset(range(4))}

        dry = numascope("apply", plan, target, "--dry-run")
        assert dry.returncode == 1, dry.stdout + dry.stderr
        assert masks_of([child.pid]) == before

        done = numascope("apply", plan, target, "--yes")
        assert done.returncode == 0, done.stdout + done.stderr
        assert masks_of([child.pid]) == dict.fromkeys(before, frozenset(HOME))
        assert_runs_on(child.pid, HOME)

        again = numascope("apply", plan, target, "--dry-run")
        assert again.returncode == 0, again.stdout + again.stderr

        undone = numascope("revert", "--yes")
        assert undone.returncode == 0, undone.stdout + undone.stderr
        assert masks_of([child.pid]) == before
        assert_runs_on(child.pid, range(4))


def test_planned_cpus_that_are_offline_are_left_out_and_back_in_the_target_when_they_are_back(tmp_path: Path) -> None:
    with (
        program(f"{ELSEWHERE}ready(); sleep()") as child,
        store_in(tmp_path) as store,
        watching(tmp_path, child.pid, "12-15") as session,
    ):
        with offline(13):
            seen(session, lambda one: bool(findings(one, "plan-cut")))
            assert outcomes(settle(session, store).results) == {"set"}
            assert os.sched_getaffinity(child.pid) == {12, 14, 15}
        back = seen(session, lambda one: not findings(one, "plan-cut"))

        assert placement(back, child.pid).verdict == "ok"


def test_an_old_set_that_is_offline_waits_in_the_journal_until_it_is_back(tmp_path: Path) -> None:
    with (
        program("os.sched_setaffinity(0, {6})\nready(); sleep()") as child,
        store_in(tmp_path) as store,
        watching(tmp_path, child.pid, "12-15") as session,
    ):
        settle(session, store)
        with offline(6):
            assert outcomes(undo(store)) == {"pending"}
            assert os.sched_getaffinity(child.pid) == set(HOME)
        assert outcomes(undo(store)) == {"set"}
        assert os.sched_getaffinity(child.pid) == {6}


def test_hold_puts_back_what_a_rewritten_cpuset_forgets(plan: str) -> None:
    """6.1 replaces every thread's mask when `cpuset.cpus` changes; from 6.2 there is nothing to put back."""
    with program(WORKERS) as child, cpuset("0-15") as group:
        group.take_in([child.pid])
        target = f"{child.pid}=device0"
        command = [sys.executable, "-c", "from numascope.cli import main; main()", "hold", plan, target, "--yes"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as holder:
            try:
                assert eventually(lambda: all_are_home(child.pid), SLOW_S)
                group.give("2-15")
                assert all_are_home(child.pid) != (kernel() < (6, 2))
                assert eventually(lambda: all_are_home(child.pid), SLOW_S)
                assert_runs_on(child.pid, HOME)
            finally:
                holder.send_signal(signal.SIGINT)
                told, _ = holder.communicate(timeout=SLOW_S)

        assert all_are_home(child.pid), "Ctrl-C leaves things as they are"
        assert told.count(" set ") >= (2 if kernel() < (6, 2) else 1), told


def all_are_home(pid: int) -> bool:
    return set(masks_of([pid]).values()) == {frozenset(HOME)}


def assert_runs_on(pid: int, cpus: range) -> None:
    """The busy threads got their CPU time there: seen there each time, and these CPUs gave it (emulated timers lose ticks: half of it at least)."""
    time.sleep(1.0)
    busy = [tid for tid in masks_of([pid]) if tid != pid]
    got_ns = -sum(run_ns(pid, tid) for tid in busy)
    gave_ns = -busy_ns(cpus)
    places = set()
    for _ in range(10):
        time.sleep(0.2)
        places |= {last_cpu(pid, tid) for tid in busy}
    got_ns += sum(run_ns(pid, tid) for tid in busy)
    gave_ns += busy_ns(cpus)

    assert places
    assert places <= set(cpus)
    assert got_ns > 200_000_000
    assert gave_ns > got_ns / 2
