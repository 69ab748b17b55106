"""What scripts rely on: exit codes, one clear line for what is wrong, and the documents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from processes import OWN_CPUS, needs_two_cpus, program
from verbs import numascope

from numascope.cli.standin_process import StandIn

pytestmark = pytest.mark.live


@pytest.fixture
def plan(tmp_path: Path) -> str:
    path = tmp_path / "bind.json"
    document = {"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": {"main": str(OWN_CPUS[0])}}}
    path.write_text(json.dumps(document))
    return str(path)


IN_PLACE = f"os.sched_setaffinity(0, {{{OWN_CPUS[0]}}}); thread(sleep); ready(); sleep()"


def test_in_place_ends_0(plan: str) -> None:
    with program(IN_PLACE) as child:
        done = numascope("diff", plan, f"{child.pid}=device0", "--for", "0.3s")

    assert done.returncode == 0
    # A machine that is busy with other things has strangers to tell of, which are notes.
    assert done.stdout.splitlines()[-1] in ("exit 0: clean", 'exit 0: findings, all below "warning"')


@needs_two_cpus
def test_out_of_place_ends_1_unless_asked_not_to(plan: str) -> None:
    with program(f"os.sched_setaffinity(0, {{{OWN_CPUS[1]}}}); ready(); spin()") as child:
        target = f"{child.pid}=device0"
        done = numascope("diff", plan, target, "--for", "0.3s")
        never = numascope("diff", plan, target, "--for", "0.3s", "--fail-on", "never")

    assert done.returncode == 1
    assert "escaped" in done.stdout
    assert done.stdout.splitlines()[-1] == 'exit 1: findings at or above "warning"'
    assert never.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["diff", "{plan}", "999999999"], 4, "no process 999999999 here"),
        (["diff", "{plan}", "{pid}=device7"], 2, "says nothing of device7, it names device0"),
        (["diff", "{plan}", "{pid}=gpu0"], 2, "is no target: give PID, PID=device0 or PID=scheduler"),
        (["diff", "{plan}", "2"], 4, "is a kernel thread or has just ended"),
        (["diff", "/no/such/file", "{pid}"], 2, "there is no such file"),
        (["diff", "/", "{pid}"], 2, "is a directory"),
        (["diff", "{plan}", "{pid}=device0", "{pid}=device0"], 2, "is given twice"),
        (["diff", "{plan}", "{pid}", "--for", "soon"], 2, "is no time: give 500ms, 1s, 10m or 2h"),
        (["diff", "{plan}", "{pid}", "--fail-on", "all"], 2, "is not one of"),
        (["attach", "999999999", "--once"], 4, "no process 999999999 here"),
        (["diff"], 2, "Missing argument 'PLAN', or the PID of a job that was started with one"),
        (["diff", "{pid}"], 2, "there is no plan to judge by: the job names none; give PLAN first, then the PID"),
        (["diff", "999999999"], 4, "no process 999999999 here"),
        (["apply", "{plan}", "{pid}=device0"], 2, "there is nobody to ask"),
        (["apply", "/no/such/file", "{pid}"], 2, "there is no such file"),
        (["apply", "{plan}", "999999999"], 4, "no process 999999999 here"),
        (["apply"], 2, "give the PLAN that says where threads belong"),
        (["hold", "/no/such/file", "{pid}"], 2, "there is no such file"),
        (["hold", "{plan}", "{pid}=device0"], 2, "there is nobody to ask"),
        (["verb"], 2, "No such command 'verb'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(plan: str, arguments: list[str], code: int, says: str) -> None:
    with program("ready(); sleep()") as child:
        done = numascope(*(one.format(plan=plan, pid=child.pid) for one in arguments))

    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_threads_that_the_plan_does_not_name_end_4(plan: str) -> None:
    with program("ready(); sleep()") as child:
        done = numascope("diff", plan, str(child.pid), "--for", "0.2s")

    assert done.returncode == 4
    assert done.stdout.splitlines()[-1] == "exit 4: the plan says nothing of these threads"


def test_the_document_has_the_promised_fields(plan: str) -> None:
    with program(IN_PLACE) as child:
        done = numascope("diff", plan, f"{child.pid}=device0", "--for", "0.3s", "--json")
    document = json.loads(done.stdout)

    assert document["schema"] == "numascope.diff/1"
    assert document["plan"]["dialect"] == "mindspore"
    assert document["summary"]["ok"] == 2
    assert document["partial"] is False
    (rank,) = document["ranks"]
    assert (rank["pid"], rank["device"], rank["share_off"]) == (child.pid, 0, None)
    main = next(one for one in document["threads"] if one["tid"] == child.pid)
    assert (main["role"], main["device"], main["planned"], main["verdict"]) == ("main", 0, str(OWN_CPUS[0]), "ok")
    assert main["outside_ns"] == [0, 0]
    assert main["planned_by"].endswith("bind.json:1:76")


@needs_two_cpus
def test_watching_prints_a_document_and_then_only_what_changed(plan: str) -> None:
    with program(IN_PLACE) as child:
        target = f"{child.pid}=device0"
        command = [sys.executable, "-m", "numascope", "diff", plan, target, "--watch", "--json", "--interval", "0.3s"]
        with subprocess.Popen([*command, "--for", "3s"], stdout=subprocess.PIPE, text=True) as watching:
            assert watching.stdout is not None
            whole = json.loads(watching.stdout.readline())
            os.sched_setaffinity(child.pid, {OWN_CPUS[1]})
            deltas = [json.loads(line) for line in watching.stdout]

    assert "delta" not in whole
    assert len(whole["threads"]) == 2
    assert all(one["delta"] for one in deltas)
    moved = [one for delta in deltas for one in delta["threads"]]
    assert {one["tid"] for one in moved} == {child.pid}
    assert moved[0]["verdict"] in ("astray", "escaped")
    assert watching.returncode == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a pid namespace")
def test_a_pid_of_a_container_is_answered_with_the_one_it_has_here(plan: str) -> None:
    """Many short processes first, so that the number inside is one that nobody has outside."""
    code = "import os,time\nfor _ in range(40): os.waitpid(os.spawnvp(os.P_NOWAIT,'true',['true']),0)\nif os.fork() == 0: time.sleep(60)\nprint(os.getpid(), flush=True); time.sleep(60)"
    command = ["unshare", "--pid", "--fork", "--kill-child", sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as outer:
        assert outer.stdout is not None
        outer.stdout.readline()
        inner = 42  # the child of number 1, after 40 that ended
        here = [
            int(pid)
            for pid in os.listdir("/proc")
            if pid.isdigit() and f"NSpid:\t{pid}\t{inner}\n" in Path(f"/proc/{pid}/status").read_text()
        ]
        done = numascope("diff", plan, str(inner))
        outer.kill()

    assert len(here) == 1
    assert done.returncode == 4
    assert f"{inner} of a container is {here[0]} (" in done.stderr
    assert f"give {here[0]}" in done.stderr


def test_without_a_plan_a_job_is_judged_by_the_one_that_it_was_started_with() -> None:
    with StandIn(60.0) as job:
        own = numascope("diff", str(job.launcher_pid), "--json", "--for", "0.3s")
        given = numascope("diff", job.plan_path, str(job.launcher_pid), "--json", "--for", "0.3s")
    mine, theirs = json.loads(own.stdout)["plan"], json.loads(given.stdout)["plan"]
    assert mine["sha256"] == theirs["sha256"]
    assert mine["source"] == "MSRUN_BIND_FILE of the job"
