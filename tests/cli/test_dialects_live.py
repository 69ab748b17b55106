"""The live verbs on plans of other dialects: real processes, judged, put in place and recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from processes import OWN_CPUS, program

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(len(OWN_CPUS) < 2, reason="needs two CPUs that this process may use"),
]

SLEEPER = "ready(); sleep()"
HERE = dict(os.environ)


def numascope(*arguments: str, state: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = HERE if state is None else HERE | {"XDG_STATE_HOME": str(state)}
    command = [sys.executable, "-m", "numascope", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


def written(folder: Path, text: str) -> str:
    path = folder / "plan"
    path.write_text(text)
    return str(path)


def verdicts(done: subprocess.CompletedProcess[str]) -> list[tuple[str, str]]:
    return [(one["target"], one["verdict"]) for one in json.loads(done.stdout)["threads"]]


@pytest.mark.parametrize(
    "text",
    [
        "taskset -c {cpu} x",
        "numactl --physcpubind={cpu} x",
        "VLLM_CPU_OMP_THREADS_BIND={cpu}",
        "srun --cpu-bind=map_cpu:{cpu} x",
    ],
)
def test_diff_judges_a_process_against_each_dialect(text: str, tmp_path: Path) -> None:
    cpu = str(OWN_CPUS[1])
    plan = written(tmp_path, text.format(cpu=cpu))
    with program(SLEEPER) as child:
        done = numascope("diff", plan, f"{child.pid}=device0", "--json", "--for", "100ms")
    assert done.returncode == 1, done.stderr
    assert verdicts(done) == [(cpu, "loose")]


def test_a_dialect_that_content_does_not_show_can_be_forced(tmp_path: Path) -> None:
    plan = written(tmp_path, str(OWN_CPUS[0]))
    with program(SLEEPER) as child:
        target = f"{child.pid}=device0"
        assert numascope("diff", plan, target, "--for", "100ms").returncode == 2
        done = numascope("diff", plan, target, "--dialect", "vllm", "--json", "--for", "100ms")
    assert verdicts(done) == [(str(OWN_CPUS[0]), "loose")]


def test_apply_puts_a_process_where_a_command_line_says_and_revert_undoes_it(tmp_path: Path) -> None:
    plan = written(tmp_path, f"taskset -c {OWN_CPUS[0]} x")
    with program(SLEEPER) as child:
        done = numascope("apply", plan, f"{child.pid}=device0", "--yes", state=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert os.sched_getaffinity(child.pid) == {OWN_CPUS[0]}
        assert numascope("revert", "--yes", state=tmp_path).returncode == 0
        assert os.sched_getaffinity(child.pid) == set(OWN_CPUS)


def test_a_recording_keeps_a_plan_of_any_dialect(tmp_path: Path) -> None:
    plan = written(tmp_path, f"numactl -C {OWN_CPUS[0]} x")
    recording = str(tmp_path / "seen.nsr")
    with program(SLEEPER) as child:
        done = numascope(
            "record", f"{child.pid}=device0", "--plan", plan, "-o", recording, "--for", "500ms", "--interval", "100ms"
        )
    assert done.returncode == 0, done.stderr
    os.unlink(plan)
    replayed = numascope("diff", "--replay", recording, "--json")
    assert verdicts(replayed) == [(str(OWN_CPUS[0]), "loose")]
    assert json.loads(replayed.stdout)["plan"]["dialect"] == "numactl"
