"""What MindSpore has yet to bind is pending, however its process was started: by real processes with its threads' names."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from processes import OWN_CPUS, needs_two_cpus, program

from numascope.cli.session import open_session
from numascope.observe.select import Wanted
from numascope.review.report import Report

pytestmark = [pytest.mark.live, needs_two_cpus]

UNBOUND = "named('ActorThread_0', sleep); time.sleep(0.2); ready(); sleep()"
IMPORTED = """
import mmap
file = open(os.path.join(sys.argv[1], "libmindspore_core.so"), "w+b"); file.write(b"x" * 4096); file.flush()
kept = mmap.mmap(file.fileno(), 4096); ready(); sleep()
"""
ACTOR_MOVES = """
def actor():
    name("ActorThread_0"); started.set(); sys.stdin.readline()
    os.sched_setaffinity(0, {CPU}); ready(); sleep()
started = threading.Event(); thread(actor); started.wait(); ready(); sleep()
""".replace("CPU", str(OWN_CPUS[0]))

QUEUE_STARTS_ACTOR = """
def actor():
    name("ActorThread_0"); started.set(); sleep()
def queue():
    name("frontend_queue"); os.sched_setaffinity(0, {CPU}); thread(actor); sleep()
started = threading.Event(); thread(queue); started.wait(); ready(); sleep()
""".replace("CPU", str(OWN_CPUS[0]))


@pytest.fixture
def plan(tmp_path: Path) -> str:
    """Main on the last CPU, runtime on the first."""
    device = {"main": str(OWN_CPUS[-1]), "runtime": str(OWN_CPUS[0])}
    path = tmp_path / "bind.json"
    path.write_text(json.dumps({"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": device}}))
    return str(path)


def verdicts(report: Report) -> dict[str, str]:
    return {one.label: one.verdict for one in report.placements}


def seen(pid: int, plan: str, pending_for_s: float = 600.0) -> dict[str, str]:
    session = open_session((Wanted(pid, device=0),), plan, interval_s=0.1, window_s=1.0, pending_for_s=pending_for_s)
    try:
        return verdicts(session.look(0.3))
    finally:
        session.close()


def test_main_and_runtime_of_a_process_that_nobody_launched_are_pending_while_it_is_young(plan: str) -> None:
    with program(UNBOUND) as child:
        assert seen(child.pid, plan) == {"main": "pending", "ActorThread_0": "pending"}
        assert seen(child.pid, plan, pending_for_s=0.0) == {"main": "loose", "ActorThread_0": "loose"}


def test_a_launcher_of_any_program_does_not_hide_that_it_is_mindspore(plan: str) -> None:
    with program(UNBOUND, OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_LOCAL_RANK="0") as child:
        assert seen(child.pid, plan) == {"main": "pending", "ActorThread_0": "pending"}


def test_main_is_judged_at_once_where_msrun_has_bound_it_by_its_prefix(plan: str) -> None:
    with program(UNBOUND, MSRUN_BIND_FILE=plan) as child:
        assert seen(child.pid, plan)["main"] == "loose"


def test_main_is_judged_at_once_where_it_was_put_elsewhere(plan: str) -> None:
    with program(UNBOUND) as child:
        os.sched_setaffinity(child.pid, {OWN_CPUS[0]})
        assert seen(child.pid, plan)["main"] in ("astray", "escaped")


def test_mindspore_is_known_by_its_library_before_its_threads_have_names(plan: str, tmp_path: Path) -> None:
    with program(f"sys.argv.append({str(tmp_path)!r})\n" + IMPORTED) as child:
        assert seen(child.pid, plan) == {"main": "pending"}
    with program("ready(); sleep()") as child:
        assert seen(child.pid, plan) == {"main": "loose"}


def test_what_was_bound_once_is_not_pending_again(plan: str) -> None:
    with program(ACTOR_MOVES) as child:
        session = open_session((Wanted(child.pid, device=0),), plan, interval_s=0.1, window_s=1.0)
        try:
            before = verdicts(session.look(0.3))
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write("\n")
            child.stdin.flush()
            assert child.stdout.readline() == "ready\n"
            after = verdicts(session.look(0.3))
        finally:
            session.close()
    assert before == {"main": "pending", "ActorThread_0": "pending"}
    assert after == {"main": "loose", "ActorThread_0": "ok"}  # runtime comes after main: its moment is past


def test_what_a_bound_queue_started_is_pending_with_the_set_of_the_queue(tmp_path: Path) -> None:
    """Seen with MindSpore 2.10 in PyNative mode: an actor had the CPU of the queue that started it until the fifth run."""
    first, last = str(OWN_CPUS[0]), str(OWN_CPUS[-1])
    device = {"main": last, "runtime": last, "pynative": f"{first},{last}"}
    path = tmp_path / "bind.json"
    path.write_text(json.dumps({"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": device}}))
    with program(QUEUE_STARTS_ACTOR) as child:
        young = seen(child.pid, str(path))
        old = seen(child.pid, str(path), pending_for_s=0.0)
    assert young == {"main": "pending", "frontend_queue": "ok", "ActorThread_0": "pending"}
    assert old == {"main": "loose", "frontend_queue": "ok", "ActorThread_0": "astray"}
