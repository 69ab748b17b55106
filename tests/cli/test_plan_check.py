"""`numascope plan check` as users call it: what it prints, its exit codes, hostile files, and live jobs."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from captures import MACHINES

SERVER = ("--capture", str(MACHINES / "made-ascend-server" / "host.tar.gz"))
GPUS = ("--capture", str(MACHINES / "qemu-gpus" / "host.tar.gz"))
HEAD = '{"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": '


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "numascope", "plan", "check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def plan_of(tmp_path: Path, **devices: object) -> str:
    path = tmp_path / "bind.json"
    plan = {"bind_config": {"bind_cpu_mode": "cpu", "actor_thread_fix_bind": True}, "bind_cpu": devices}
    path.write_text(json.dumps(plan, indent=1))
    return str(path)


CLEAN = {"main": "144-151", "runtime": "152-156"}


def test_a_clean_plan_ends_0_and_notes_count_only_when_asked(tmp_path: Path) -> None:
    path = plan_of(tmp_path, device0=CLEAN)
    done = check(path, *SERVER)
    assert done.returncode == 0
    assert done.stdout.endswith('exit 0: findings, all below "warning"\n')
    assert check(path, *SERVER, "--fail-on", "info").returncode == 1


def test_a_finding_stands_with_its_place_rule_evidence_and_remedy(tmp_path: Path) -> None:
    path = plan_of(tmp_path, device0={**CLEAN, "pynative": "157-158"})
    done = check(path, *SERVER, "--width", "200")
    assert done.returncode == 1
    assert (
        f"error    {path}:10:16  few-queues\n  pynative of device0 has 2 CPUs, its queues take 4 by position\n"
        in done.stdout
    )
    assert "\n  → give pynative 4 CPUs, or leave it out\n" in done.stdout
    assert "\nwhat MindSpore would do: accept it, bind 1 rank at the start; runtime, pynative when" in done.stdout
    assert check(path, *SERVER, "--fail-on", "never").returncode == 0


def test_the_document_has_every_finding_with_line_and_column(tmp_path: Path) -> None:
    path = plan_of(tmp_path, device0={"main": "0", "runtme": "500"})
    done = check(path, *SERVER, "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert document["schema"] == "numascope.plan-check/1"
    assert (document["summary"]["error"], document["summary"]["warning"]) == (1, 1)
    assert next(one for one in document["findings"] if one["severity"] == "error")["line"] == 9
    assert document["exit"]["code"] == 1
    found = next(one for one in document["findings"] if one["rule"] == "unknown-key")
    assert (found["path"], found["line"], found["column"]) == (path, 9, 4)
    assert 'did you mean "runtime"' in found["text"]
    assert found["places"] == [{"path": path, "line": 9, "column": 4}]
    assert document["mindspore"].startswith("refuse it before it starts anybody: CPU 500 of")


@pytest.mark.parametrize(
    ("written", "place"),
    [
        (b'{"bind_config":' * 100_000, ":1:481: nested deeper than 32 levels"),
        (b"[" * 100_000, ":1:33: nested deeper than 32 levels"),
        (HEAD + '{"device0": {"main": "0"}, "device0": {}}}', ':1:82: the key "device0" is there twice'),
        (HEAD + '{"device0": {"main": NaN}}}', ':1:76: found "NaN"'),
        (b'{"bind_config": "\xff"}', ":1:18: byte 0xff is not UTF-8"),
        (HEAD.encode("utf-16"), ":1:1: is UTF-16 text"),
        (b"", ":1:1: the file is empty"),
        (HEAD + "{}", ":1:57: "),
        (b'{"bind_config":' + b" " * (5 << 20), ": is over 4 MiB"),
    ],
    ids=["deep", "deep list", "twice", "NaN", "not UTF-8", "UTF-16", "empty", "cut off", "large"],
)
def test_a_file_that_is_no_plan_gets_one_line(tmp_path: Path, written: str | bytes, place: str) -> None:
    path = tmp_path / "bind.json"
    path.write_bytes(written if isinstance(written, bytes) else written.encode())
    done = check(str(path), *SERVER)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"numascope: {path}{place}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("devices", "column", "words"),
    [
        ('{"device0": {"main": "0-1000000000"}}', 76, "expected numbers from 0 to 65535"),
        ('{"device0": {"main": ["0"]}}', 76, '"main" of device0 is a list'),
        ('{"device0": {"main": "5-2"}}', 76, "the range runs backwards"),
        ('{"device0": "0-3"}', 67, 'device0 is "0-3"'),
        ('{"Device0": {}}', 56, '"Device0" in "bind_cpu" is neither a device nor the scheduler'),
        ("[1]", 55, '"bind_cpu" is a list'),
    ],
)
def test_what_mindspore_refuses_is_told_at_its_place_and_ends_2(
    tmp_path: Path, devices: str, column: int, words: str
) -> None:
    path = tmp_path / "bind.json"
    path.write_text(HEAD + devices + "}")
    done = check(str(path), *SERVER, "--width", "300")
    assert done.returncode == 2
    assert done.stdout.count("\nerror ") == 1
    assert done.stderr.startswith(f"numascope: {path}:1:{column}: ")
    assert f"error    {path}:1:{column}  refused\n  " in done.stdout
    assert words in done.stdout
    assert "\nwhat MindSpore would do: refuse it before it starts anybody: " in done.stdout


def test_a_number_of_a_file_is_bounded_in_what_it_costs_and_prints(tmp_path: Path) -> None:
    path = tmp_path / "bind.json"
    singles = ",".join(map(str, range(0, 20_000, 2)))[:60_000].rpartition(",")[0]
    path.write_text(
        HEAD
        + "{"
        + ",".join(f'"device{at}": {{"main": "{singles if not at else "0-65535"}"}}' for at in range(900))
        + "}}"
    )
    done = check(str(path), *SERVER)
    assert done.returncode == 1
    assert len(done.stdout) < 10_000


def test_escape_sequences_of_a_key_reach_no_terminal(tmp_path: Path) -> None:
    path = tmp_path / "bind.json"
    path.write_text(HEAD + '{"device0": {"ma\\u001b[31min": "0"}}}')
    assert "\x1b" not in check(str(path), *SERVER).stdout


def test_torch_s_own_refusal_is_a_finding_with_its_words() -> None:
    done = check("torch:exclusive", *GPUS, "--allowed", "0")
    assert done.returncode == 1
    assert "framework-refuses" in done.stdout
    assert "RuntimeError" in done.stdout


def test_a_mode_of_torch_is_checked_on_the_machine() -> None:
    done = check("torch:node", *GPUS, "--json")
    document = json.loads(done.stdout)
    assert document["plan"]["dialect"] == "torch"
    assert document["mindspore"] is None
    assert {one["severity"] for one in document["findings"]} <= {"info"}


def test_threads_of_a_role_are_counted_as_the_user_says(tmp_path: Path) -> None:
    path = plan_of(tmp_path, device0={**CLEAN, "minddata": "157-160"})
    assert check(path, *SERVER, "--threads", "loader=4").returncode == 0
    done = check(path, *SERVER, "--threads", "loader=5")
    assert (done.returncode, "few-cpus" in done.stdout) == (1, True)
    refused = check(path, *SERVER, "--threads", "CPUs=x").stderr
    assert '--threads: "CPUs=x" is no role with its threads: give main=7,runtime=5' in refused


def test_numactl_s_refusal_under_a_narrow_launcher_is_foretold(tmp_path: Path) -> None:
    path = tmp_path / "bind.json"
    config = {"bind_cpu_mode": "cpu", "bind_memory_mode": "numa"}
    path.write_text(
        json.dumps({"bind_config": config, "bind_cpu": {"device0": {"main": "144-151"}}, "bind_memory": {"device0": 6}})
    )
    done = check(str(path), *SERVER, "--allowed", "144-147")
    assert (done.returncode, "numactl-refuses" in done.stdout) == (1, True)
    assert check(str(path), *SERVER, "--allowed", "144-167").returncode == 0


@pytest.mark.parametrize(
    ("line", "rules"),
    [
        ("numactl -C 144-151 -m 6 a", ["numactl-refuses"]),
        ("taskset -c 144-151 a", []),
        ("VLLM_CPU_OMP_THREADS_BIND=144-151", []),
        ("CPU_AFFINITY_CONF=1,npu0:144-151", ["reading"]),
        ('msrun --bind_core=\'{"device0":["144-151"]}\' --bind_numa=\'{"device0":["6"]}\' a', ["numactl-refuses"]),
        ('{"affinity_config": {"device_0": {"affinity_cpu_list": ["144-151"]}}}', []),
        ("numactl -N 6 -m 6 a", []),
    ],
)
def test_a_narrow_launcher_is_told_once_and_only_where_the_tool_looks_at_it(
    tmp_path: Path, line: str, rules: list[str]
) -> None:
    path = tmp_path / "plan"
    path.write_text(line + "\n")
    done = check(str(path), *SERVER, "--allowed", "144-147", "--json")
    assert [one["rule"] for one in json.loads(done.stdout)["findings"] if one["severity"] != "info"] == rules


@contextmanager
def job(bind_file: str, sha256: str) -> Iterator[int]:
    environ = os.environ | {
        "MS_ROLE": "MS_WORKER", "RANK_ID": "0", "DEVICE_ID": "0", "MS_SCHED_HOST": "127.0.0.1",
        "MS_SCHED_PORT": "8118", "MSRUN_BIND_FILE": bind_file, "MSRUN_BIND_FILE_HASH": sha256,
    }  # fmt: skip
    process = subprocess.Popen(["sleep", "60"], env=environ, start_new_session=True)
    try:
        _until_exec(process.pid)
        yield process.pid
    finally:
        process.kill()
        process.wait()


def _until_exec(pid: int) -> None:
    for _ in range(200):
        if Path(f"/proc/{pid}/comm").read_text() == "sleep\n":
            return
        time.sleep(0.01)


def test_a_live_job_s_plan_is_compared_by_hash_and_path(tmp_path: Path) -> None:
    path = plan_of(tmp_path, device0={"main": "0"})
    sha256 = hashlib.sha256(Path(path).read_bytes()).hexdigest()

    def hashed() -> list[str]:
        done = check(path, "--job", str(pid), "--json")
        return [one["rule"] for one in json.loads(done.stdout)["findings"] if one["rule"].startswith("job-")]

    with job(path, sha256) as pid:
        assert hashed() == []
        Path(path).write_text(Path(path).read_text() + " ")
        assert hashed() == ["job-hash"]
    copied = tmp_path / "other.json"
    copied.write_bytes(Path(path).read_bytes())
    with job(str(copied), hashlib.sha256(copied.read_bytes()).hexdigest()) as pid:
        assert hashed() == ["job-path"]
        copied.unlink()
        assert hashed() == ["job-hash"]


def test_a_wrong_pid_is_a_warning_and_a_job_of_another_user_s_is_unknown(tmp_path: Path) -> None:
    path = plan_of(tmp_path, device0={"main": "0"})
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        _until_exec(sleeper.pid)
        done = check(path, "--job", str(sleeper.pid), "--json")
        sleeper.kill()
    (found,) = [one for one in json.loads(done.stdout)["findings"] if one["rule"] == "job-plan"]
    assert (found["severity"], done.returncode) == ("warning", 1)
    ended = subprocess.Popen(["true"])
    time.sleep(0.2)  # a zombie, until its parent asks for it
    assert check(path, "--job", str(ended.pid)).returncode == 4
    ended.wait()


def test_interrupts_of_a_captured_machine_are_told_of_the_devices_that_the_form_means(tmp_path: Path) -> None:
    plan = tmp_path / "line"
    plan.write_text("numactl -C 144-151 -m 6 python train.py\n")
    done = check(str(plan), *SERVER, "--json")
    (found,) = [one for one in json.loads(done.stdout)["findings"] if one["rule"] == "irq"]
    assert found["text"] == "1 interrupt of device 0 (0000:01:00.0) goes to CPU 144 of device0"
    assert found["remedy"] == (
        "as root: echo LIST > /proc/irq/100/smp_affinity_list, where LIST is CPUs in no role, such as 152-167; irqbalance may undo it"
    )
    plan.write_text("export VLLM_CPU_OMP_THREADS_BIND=144-151\n")
    assert "irq" not in [one["rule"] for one in json.loads(check(str(plan), *SERVER, "--json").stdout)["findings"]]


def test_a_job_that_is_gone_ends_4_and_another_machine_has_none(tmp_path: Path) -> None:
    path = plan_of(tmp_path, device0={"main": "0"})
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert check(path, "--job", str(gone.pid)).returncode == 4
    assert check(path, "--job", "1", *SERVER).returncode == 2
