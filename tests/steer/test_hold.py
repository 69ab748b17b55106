"""What drifts is put back, what is born later too, and who fights back is named instead of fought."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from processes import OWN_CPUS, answer, eventually, needs_two_cpus, program, tell
from steering import hold, plan_file

from numascope.cpuset import CpuSet

pytestmark = [pytest.mark.live, needs_two_cpus]

BOUND = f"os.sched_setaffinity(0, {{{OWN_CPUS[0]}}})\n"
PLANNED = OWN_CPUS[0]


def masks(pid: int) -> set[str]:
    """The sets of all threads of a process, as range lists."""
    found = set()
    for tid in os.listdir(f"/proc/{pid}/task"):
        found.add(str(CpuSet.of(os.sched_getaffinity(int(tid)))))
    return found


def stop(holding: subprocess.Popen[str]) -> str:
    holding.send_signal(signal.SIGINT)
    return holding.communicate(timeout=60)[0]


def test_a_thread_that_drifts_is_put_back_and_told(tmp_path: Path) -> None:
    plan_file(tmp_path, str(PLANNED))
    with program(BOUND + "thread(sleep); ready(); sleep()") as child:
        holding = hold(tmp_path, child.pid)
        time.sleep(1.0)
        os.sched_setaffinity(child.pid, {OWN_CPUS[1]})
        put_back = eventually(lambda: masks(child.pid) == {str(PLANNED)}, 20)
        time.sleep(1.0)  # it looks twice more before it tells
        text = stop(holding)

        assert put_back
        assert f"main {child.pid} {OWN_CPUS[1]} → {PLANNED}" in text
        assert "undo: numascope revert 1" in text
        assert holding.returncode == 0
        assert masks(child.pid) == {str(PLANNED)}, "Ctrl-C leaves things as they are"


def test_threads_born_elsewhere_later_are_put_in_place(tmp_path: Path) -> None:
    plan_file(tmp_path, str(PLANNED))
    code = BOUND + (
        "def born():\n"
        f"    os.sched_setaffinity(0, {{{OWN_CPUS[1]}}}); sleep()\n"
        "ready(); sys.stdin.readline()\nfor _ in range(5): thread(born)\nprint('born', flush=True); sleep()"
    )
    with program(code) as child:
        holding = hold(tmp_path, child.pid)
        time.sleep(1.0)
        tell(child)
        assert answer(child) == "born\n"
        put_back = eventually(
            lambda: len(os.listdir(f"/proc/{child.pid}/task")) == 6 and masks(child.pid) == {str(PLANNED)}, 20
        )
        stop(holding)

        assert put_back


def test_everything_is_put_back_at_the_end_where_that_is_wanted(tmp_path: Path) -> None:
    plan_file(tmp_path, str(PLANNED))
    everywhere = str(CpuSet.of(OWN_CPUS))
    with program("thread(sleep); ready(); sleep()") as child:
        holding = hold(tmp_path, child.pid, "--revert-on-exit")
        applied = eventually(lambda: masks(child.pid) == {str(PLANNED)}, 20)
        stop(holding)

        assert applied
        assert masks(child.pid) == {everywhere}


def test_who_fights_back_is_named_and_holding_stops(tmp_path: Path) -> None:
    plan_file(tmp_path, str(PLANNED))
    code = BOUND + f"ready()\nwhile True:\n    os.sched_setaffinity(0, {{{OWN_CPUS[1]}}}); time.sleep(0.05)"
    with program(code, OMP_PROC_BIND="true") as child:
        holding = hold(tmp_path, child.pid)
        text = holding.communicate(timeout=90)[0]

    assert holding.returncode == 1
    assert f"was put on {PLANNED} 3 times" in text
    assert "OMP_PROC_BIND=true" in text


def test_a_plan_that_changes_stops_it(tmp_path: Path) -> None:
    path = Path(plan_file(tmp_path, str(PLANNED)))
    with program(BOUND + "ready(); sleep()") as child:
        holding = hold(tmp_path, child.pid)
        time.sleep(1.0)
        path.write_text(path.read_text() + "\n")
        text = holding.communicate(timeout=60)[0]

    assert holding.returncode == 1
    assert "the plan's file has changed" in text


def test_the_end_of_the_job_ends_it(tmp_path: Path) -> None:
    plan_file(tmp_path, str(PLANNED))
    with program(BOUND + "ready(); sleep()") as child:
        holding = hold(tmp_path, child.pid)
        time.sleep(1.0)
        child.kill()
        text = holding.communicate(timeout=60)[0]

    assert holding.returncode == 4
    assert "every target has ended" in text
