"""The stand-in job looks like a MindSpore job in /proc, and nothing of it stays behind."""

from __future__ import annotations

import hashlib
import os
import signal
import stat
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from numascope.cli import standin
from numascope.cli.standin_process import StandIn

pytestmark = pytest.mark.live
PROC = Path("/proc")


def pids_of(plan_path: str) -> set[int]:
    """Every process that carries the private path of the plan in its command line."""
    found = set()
    for entry in PROC.iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            if f"--bind_numa={plan_path}".encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                found.add(int(entry.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def wait_until_gone(plan_path: str) -> set[int]:
    until = time.monotonic() + 10
    while (left := pids_of(plan_path)) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def environ_of(pid: int) -> dict[str, str]:
    pairs = (PROC / str(pid) / "environ").read_text().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if pair)


def status_of(pid: int, tid: int) -> dict[str, str]:
    lines = (PROC / str(pid) / "task" / str(tid) / "status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def threads_of(pid: int) -> list[int]:
    return sorted(int(entry.name) for entry in (PROC / str(pid) / "task").iterdir())


def comms_of(pid: int) -> Counter[str]:
    return Counter((PROC / str(pid) / "task" / str(tid) / "comm").read_text().strip() for tid in threads_of(pid))


@pytest.fixture(scope="module")
def job() -> Iterator[StandIn]:
    with StandIn(for_s=120) as started:
        yield started


@pytest.fixture(scope="module")
def ranks(job: StandIn) -> dict[str, int]:
    """RANK_ID → pid of the session leader."""
    workers = [pid for pid in pids_of(job.plan_path) if environ_of(pid).get("MS_ROLE") == "MS_WORKER"]
    return {environ_of(pid)["RANK_ID"]: pid for pid in workers if os.getsid(pid) == pid}


@pytest.fixture(scope="module")
def plan(job: StandIn) -> dict[str, dict[str, set[int]]]:
    return standin.read_plan(Path(job.plan_path))


def test_the_launcher_is_called_msrun_and_says_that_it_is_a_demo(job: StandIn) -> None:
    assert comms_of(job.launcher_pid) == Counter(["msrun"])
    assert b"numascope-demo" in (PROC / str(job.launcher_pid) / "cmdline").read_bytes().split(b"\0")
    assert not [name for name in environ_of(job.launcher_pid) if name.startswith("MS")]


def test_two_ranks_lead_sessions_and_carry_the_environment_of_msrun(job: StandIn, ranks: dict[str, int]) -> None:
    assert set(ranks) == {"0", "1"}
    text = Path(job.plan_path).read_text()
    for number, pid in ranks.items():
        environ = environ_of(pid)
        assert status_of(pid, pid)["PPid"] == str(job.launcher_pid)
        assert (environ["DEVICE_ID"], environ["MS_NODE_ID"]) == (number, number)
        assert (environ["RANK_SIZE"], environ["MS_WORKER_NUM"]) == ("2", "2")
        assert environ["MSRUN_BIND_FILE"] == job.plan_path
        assert environ["MSRUN_BIND_FILE_HASH"] == hashlib.sha256(text.encode()).hexdigest()


def test_the_scheduler_has_rank_id_0_and_no_device(job: StandIn) -> None:
    schedulers = [pid for pid in pids_of(job.plan_path) if environ_of(pid).get("MS_ROLE") == "MS_SCHED"]
    assert len(schedulers) == 1
    environ = environ_of(schedulers[0])
    assert environ["RANK_ID"] == "0"
    assert "DEVICE_ID" not in environ


def test_a_rank_has_the_threads_of_mindspore_by_name_and_six_without(ranks: dict[str, int]) -> None:
    for pid in ranks.values():
        comms = comms_of(pid)
        own = (PROC / str(pid) / "comm").read_text().strip()
        assert comms[own] == 1 + 6
        assert comms["RECV_EVENT_LOOP"] == comms["SEND_EVENT_LOOP"] == 2
        once = {"ActorThread_0", "infer_queue", "resize_queue", "launch_queue", "frontend_queue"}
        assert all(comms[name] == 1 for name in (*once, "KernelThread_0", "KernelThread_1"))


def test_a_rank_has_two_dataset_processes_with_its_own_command_line(job: StandIn, ranks: dict[str, int]) -> None:
    for pid in ranks.values():
        children = [one for one in pids_of(job.plan_path) if status_of(one, one)["PPid"] == str(pid)]
        assert sorted(len(threads_of(one)) for one in children) == [1, 3]
        cmdline = (PROC / str(pid) / "cmdline").read_bytes()
        assert all((PROC / str(one) / "cmdline").read_bytes() == cmdline for one in children)


def test_only_the_first_actor_of_rank_1_may_leave_the_plan(
    job: StandIn, ranks: dict[str, int], plan: dict[str, dict[str, set[int]]]
) -> None:
    outside = set()
    for number, pid in ranks.items():
        roles = plan[f"device{number}"]
        for tid in threads_of(pid):
            name = status_of(pid, tid)["Name"]
            planned = roles["runtime"] if name.startswith("ActorThread_") else set[int]().union(*roles.values())
            if not os.sched_getaffinity(tid) <= planned:
                outside.add((number, name))
    assert outside == ({("1", "ActorThread_0")} if job.escape else set())


def test_the_escaped_thread_works_where_it_is(job: StandIn, ranks: dict[str, int]) -> None:
    if job.escape is None:
        pytest.skip("one CPU: nothing can escape")
    pid = ranks["1"]
    tid = next(tid for tid in threads_of(pid) if status_of(pid, tid)["Name"] == "ActorThread_0")
    schedstat = PROC / str(pid) / "task" / str(tid) / "schedstat"
    before = int(schedstat.read_text().split()[0])
    until = time.monotonic() + 10
    while int(schedstat.read_text().split()[0]) == before and time.monotonic() < until:
        time.sleep(0.05)
    assert int(schedstat.read_text().split()[0]) > before
    last_cpu = int((PROC / str(pid) / "task" / str(tid) / "stat").read_text().rpartition(")")[2].split()[36])
    assert {last_cpu} == os.sched_getaffinity(tid)


def test_the_directory_of_the_plan_is_private(job: StandIn) -> None:
    assert stat.S_IMODE(Path(job.plan_path).parent.stat().st_mode) == 0o700


def test_after_stop_no_process_and_no_file_is_left() -> None:
    job = StandIn(for_s=60)
    job.start()
    assert len(pids_of(job.plan_path)) == 8
    job.stop()
    assert pids_of(job.plan_path) == set()
    assert not Path(job.plan_path).parent.exists()
    job.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_launcher_ends_all(number: signal.Signals) -> None:
    with StandIn(for_s=60) as job:
        os.kill(job.launcher_pid, number)
        assert wait_until_gone(job.plan_path) == set()
        assert not Path(job.plan_path).parent.exists()


def test_killing_the_launcher_ends_all() -> None:
    with StandIn(for_s=60) as job:
        os.kill(job.launcher_pid, signal.SIGKILL)
        assert wait_until_gone(job.plan_path) == set()


def test_killing_one_rank_ends_all() -> None:
    with StandIn(for_s=60) as job:
        leaders = [pid for pid in pids_of(job.plan_path) if environ_of(pid).get("DEVICE_ID") == "0"]
        os.kill(next(pid for pid in leaders if os.getsid(pid) == pid), signal.SIGKILL)
        assert wait_until_gone(job.plan_path) == set()


def test_killing_the_process_that_started_it_leaves_no_process_and_no_file() -> None:
    program = (
        "import time\n"
        "from numascope.cli.standin_process import StandIn\n"
        "job = StandIn(for_s=60)\n"
        "job.start()\n"
        "print(job.plan_path, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        plan_path = starter.stdout.readline().strip()
        assert len(pids_of(plan_path)) == 8
        starter.kill()
    assert wait_until_gone(plan_path) == set()
    until = time.monotonic() + 5
    while Path(plan_path).parent.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not Path(plan_path).parent.exists()


def test_it_ends_by_itself_when_its_time_is_over() -> None:
    with StandIn(for_s=3) as job:
        assert wait_until_gone(job.plan_path) == set()


def test_a_plan_of_somebody_elses_is_not_removed(tmp_path: Path) -> None:
    own = tmp_path / standin.PLAN_NAME
    own.write_text("{}")
    standin.remove(own)
    assert own.exists()
