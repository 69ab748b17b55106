"""`numascope run` as a launcher calls it: real processes, looked at from within."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import OWN_CPUS

from numascope.cpuset import CpuSet
from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.plan.make.seats import has_accelerator
from numascope.steer.own_process import Policy, RunningKernel, policy_of

pytestmark = pytest.mark.live

CPU = str(OWN_CPUS[0])
DIALECTS = [
    json.dumps({"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": {"main": CPU, "runtime": "0"}}}),
    f"msrun --bind_core='{json.dumps({'device0': [CPU]})}' x",
    f"taskset -c {CPU} x",
    f"numactl -C {CPU} x",
    f"VLLM_CPU_OMP_THREADS_BIND={CPU}",
    f"srun --cpu-bind=map_cpu:{CPU} x",
    f"srun --cpu-bind=mask_cpu:{1 << int(CPU):#x} x",
    f"rank 0=localhost slot={CPU}",
]
SEEN = """
import json, os, signal
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "cpus": sorted(os.sched_getaffinity(0)), "policy": open("/proc/self/numa_maps").read(60).split()[1], "pid": os.getpid(),
    "ignored": int(status["SigIgn"], 16), "blocked": int(status["SigBlk"], 16),
}))
"""


def plan_file(folder: Path, text: str) -> str:
    path = folder / "plan"
    path.write_text(text)
    return str(path)


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "numascope", "run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


def test_the_command_has_the_planned_cpu_and_memory_and_keeps_the_process_id(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, f"numactl -C {CPU} -m 0 x")
    command = [
        sys.executable,
        "-m",
        "numascope",
        "run",
        "--plan",
        plan,
        "--device",
        "0",
        "--",
        sys.executable,
        "-c",
        SEEN,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        out, _ = process.communicate()
    found = json.loads(out)
    assert (found["cpus"], found["policy"], found["pid"]) == ([int(CPU)], "bind:0", process.pid)


@pytest.mark.parametrize(
    ("policy", "kept"),
    [
        ("--preferred=0", "prefer"),
        ("--preferred-many=0", "prefer"),
        ("--interleave=0", "interleave:0"),
        ("-l", "local"),
    ],
)
def test_other_policies_are_set_as_they_are_planned(policy: str, kept: str, tmp_path: Path) -> None:
    done = run("--plan", plan_file(tmp_path, f"numactl {policy} x"), "--device", "0", sys.executable, "-c", SEEN)
    found = json.loads(done.stdout)
    assert found["policy"].startswith(kept)
    assert found["cpus"] == list(OWN_CPUS)


def test_main_is_what_a_process_gets_of_a_mindspore_plan(tmp_path: Path) -> None:
    text = {"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device1": {"main": CPU, "runtime": CPU}}}
    plan = plan_file(tmp_path, json.dumps(text))
    told = run("--plan", plan, "--device", "1", "--dry-run", "--", "true").stdout
    assert told.splitlines()[0].startswith(f"device1: CPU {CPU} (")
    assert "not set by a prefix: runtime" in told


def test_the_local_rank_of_the_launcher_is_the_device_where_none_is_given(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, f"# device 3\ntaskset -c {CPU} x")
    done = run("--plan", plan, "--", sys.executable, "-c", SEEN, env=os.environ | {"LOCAL_RANK": "3"})
    assert json.loads(done.stdout)["cpus"] == [int(CPU)]
    without = {name: value for name, value in os.environ.items() if "RANK" not in name}
    refused = run("--plan", plan, "--", "true", env=without)
    assert refused.returncode == 125
    assert "no launcher's variable names a rank here: give --device N (LOCAL_RANK, " in refused.stderr


def test_signals_and_limits_are_as_they_were_found(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, f"taskset -c {CPU} x")
    look = SEEN + "\nimport resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n"
    soft = 300

    def before() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, soft))
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])

    done = run("--plan", plan, "--device", "0", sys.executable, "-", input=look, preexec_fn=before)
    first, second = done.stdout.splitlines()
    found = json.loads(first)
    of_python = (1 << (signal.SIGPIPE - 1)) | (1 << (signal.SIGXFSZ - 1))  # of the one that looks
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    ignored_here = int(lines["SigIgn"], 16)
    assert found["ignored"] & ~of_python == (ignored_here | 1 << (signal.SIGHUP - 1)) & ~of_python
    assert found["blocked"] == 1 << (signal.SIGUSR1 - 1)
    assert second == str(soft)


def test_the_environment_is_that_of_the_caller_in_a_plain_locale_too(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, f"taskset -c {CPU} x")
    env = {"PATH": os.environ["PATH"], "LANG": "C", "A": "b"}
    assert run("--plan", plan, "--device", "0", "env", env=env).stdout == f"PATH={env['PATH']}\nLANG=C\nA=b\n"


def test_no_signal_is_left_ignored_by_our_own_python(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, f"taskset -c {CPU} x")
    done = run("--plan", plan, "--device", "0", "grep", "SigIgn", "/proc/self/status")
    assert int(done.stdout.split()[1], 16) & (1 << (signal.SIGPIPE - 1)) == 0


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (("/no/such/command",), 127, "no such file or directory"),
        (("",), 127, "COMMAND is empty: no such file or directory"),
        (("/etc/passwd",), 126, "permission denied"),
        (("sh", "-c", "exit 7"), 7, ""),
        (("sh", "-c", "kill -TERM $$"), -signal.SIGTERM, ""),
    ],
)
def test_it_ends_as_env_and_taskset_do(command: tuple[str, ...], code: int, words: str, tmp_path: Path) -> None:
    done = run("--plan", plan_file(tmp_path, f"taskset -c {CPU} x"), "--device", "0", *command)
    assert done.returncode == code
    assert words in done.stderr


def test_a_script_that_names_no_interpreter_is_not_given_to_a_shell(tmp_path: Path) -> None:
    script = tmp_path / "go"
    script.write_text("echo started")
    script.chmod(0o700)
    done = run("--plan", plan_file(tmp_path, f"taskset -c {CPU} x"), "--device", "0", str(script))
    assert (done.returncode, done.stdout) == (126, "")
    assert "exec format error: a script without a first line of #! needs its interpreter before it" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--device", "5", "--", "true"), "says nothing of device5 (--device): it names device0"),
        (("--device", "x", "--", "true"), '--device is "x": expected a device number, or scheduler'),
        (("--device", "0", "--nope"), "No such option '--nope'"),
        (("--device", "0"), "Missing argument"),
    ],
)
def test_its_own_refusals_end_125_and_start_nothing(arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    done = run("--plan", plan_file(tmp_path, f"taskset -c {CPU} x"), *arguments)
    assert (done.returncode, done.stdout) == (125, "")
    assert words in done.stderr


def test_a_mode_of_torch_without_accelerators_says_how_to_name_them() -> None:
    if has_accelerator(build_machine(HostRoot())):
        pytest.skip("this machine has accelerators")
    done = run("--plan", "torch:node", "--device", "0", "true")
    assert done.returncode == 125
    assert done.stderr.endswith("numascope plan make takes that, and writes a plan that run takes\n")


def test_a_broken_plan_ends_125_with_its_place(tmp_path: Path) -> None:
    done = run("--plan", plan_file(tmp_path, "taskset xyz a"), "--device", "0", "true")
    assert done.returncode == 125
    assert ':1:9: "xyz" is no mask' in done.stderr


def test_cpus_that_are_not_there_are_refused_and_a_fallback_says_what_is_left(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, f"taskset -c {CPU},60000 x")
    refused = run("--plan", plan, "--device", "0", "true")
    assert refused.returncode == 125
    assert f"CPU 60000 not on this machine; --fallback starts it on CPU {CPU} alone" in refused.stderr
    done = run("--plan", plan, "--device", "0", "--fallback", "--", sys.executable, "-c", SEEN)
    assert json.loads(done.stdout)["cpus"] == [int(CPU)]
    assert f"CPU 60000 not on this machine; by --fallback it is started on CPU {CPU} alone" in done.stderr


def test_nodes_that_are_not_there_are_refused_and_a_fallback_leaves_memory_alone(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, "numactl -m 900 x")
    refused = run("--plan", plan, "--device", "0", "true")
    assert refused.returncode == 125
    assert "node 900 not on this machine; --fallback starts it without a memory policy" in refused.stderr
    done = run("--plan", plan, "--device", "0", "--fallback", "--", sys.executable, "-c", SEEN)
    assert json.loads(done.stdout)["policy"] == "default"


@pytest.mark.parametrize("text", DIALECTS)
def test_a_process_gets_the_same_cpu_by_every_dialect(text: str, tmp_path: Path) -> None:
    done = run("--plan", plan_file(tmp_path, text), "--device", "0", sys.executable, "-c", SEEN)
    assert json.loads(done.stdout)["cpus"] == [int(CPU)], done.stderr


def test_roles_without_main_leave_the_cpus_and_set_the_memory(tmp_path: Path) -> None:
    text = {
        "bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "numa"},
        "bind_cpu": {"device0": {"runtime": CPU}},
        "bind_memory": {"device0": 0},
    }
    done = run("--plan", plan_file(tmp_path, json.dumps(text)), "--device", "0", sys.executable, "-c", SEEN)
    found = json.loads(done.stdout)
    assert (found["cpus"], found["policy"]) == (list(OWN_CPUS), "bind:0")


def test_a_policy_is_read_back_as_it_was_set() -> None:
    kernel = RunningKernel()
    before = kernel.policy()
    try:
        kernel.set_policy(policy_of("bind", CpuSet.of((0,))))
        assert kernel.policy() == Policy(2, CpuSet.of((0,)))
    finally:
        kernel.set_policy(before)
    assert kernel.policy() == before
