"""`numascope plan convert`, and the further forms of `plan make`, as users call them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from captures import MACHINES
from processes import OWN_CPUS, needs_two_cpus
from shapes import Shape, machine

from numascope.cli.plan_options import DIALECT_NAMES, FORM_NAMES
from numascope.cli.torch_job import JobPlan, plan_of_torchrun
from numascope.cpuset import CpuSet
from numascope.observe.jobs import Job
from numascope.observe.jobs.objects import Rank
from numascope.observe.sample import ProcessFacts
from numascope.plan.dialects.detect import DIALECTS
from numascope.plan.load import parse_plan
from numascope.plan.write.forms import FORMS

NPUS = ("--capture", str(MACHINES / "qemu-npus" / "host.tar.gz"))
WORDS = ("--synthetic", "package:2 node:1 l3:2 core:4 pu:1")


def plan(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "numascope", "plan", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def bind_json(folder: Path) -> str:
    path = folder / "bind.json"
    document = {
        "bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "numa"},
        "bind_cpu": {"device0": {"main": "2-7", "runtime": "0-1"}, "device1": {"main": "8-15"}},
        "bind_memory": {"device0": 0, "device1": 1},
    }
    path.write_text(json.dumps(document))
    return str(path)


def test_the_names_that_help_shows_are_those_that_there_are() -> None:
    assert tuple(FORMS) == FORM_NAMES
    assert DIALECT_NAMES == DIALECTS


def test_a_plan_is_printed_in_its_new_form_and_losses_go_beside_it(tmp_path: Path) -> None:
    path = bind_json(tmp_path)
    done = plan("convert", path, "--to", "slurm", *WORDS, "--", "python", "train.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "srun --ntasks=2 --cpu-bind=mask_cpu:0xff,0xff00 --mem-bind=mask_mem:0x1,0x2 python train.py\n"
    )
    lines = done.stderr.splitlines()
    assert lines[0].startswith(f"lost: {path}:1:")
    assert lines[0].endswith("main of device0 (CPU 2-7): srun binds a rank as a whole, to all its CPUs")
    assert len(lines) == 2


@pytest.mark.parametrize("form", ["msrun", "slurm", "vllm", "rankfile", "numactl", "torch_npu"])
def test_a_made_plan_is_checked_clean_in_whatever_form_it_is_written(tmp_path: Path, form: str) -> None:
    path = str(tmp_path / "plan")
    assert plan("make", "-p", "balanced", "--ranks", "2", *WORDS, "--to", form, "-o", path).returncode == 0
    done = plan("check", path, *WORDS)
    assert done.returncode == 0, done.stdout


def test_a_file_is_written_and_read_again(tmp_path: Path) -> None:
    out = str(tmp_path / "ranks.sh")
    done = plan("convert", bind_json(tmp_path), "--to", "numactl", "-o", out, *WORDS)
    assert done.stdout.startswith(f"wrote {out}: 2 ranks, from {tmp_path}/bind.json (mindspore)\nlost: ")
    again = plan("convert", out, "--to", "mindspore", *WORDS)
    assert json.loads(again.stdout)["bind_cpu"] == {"device0": {"main": "0-7"}, "device1": {"main": "8-15"}}
    assert again.stderr == ""
    refused = plan("convert", out, "--to", "numactl", "-o", out, *WORDS)
    assert (refused.returncode, "is there already" in refused.stderr) == (2, True)


def test_a_form_that_can_say_nothing_of_a_plan_ends_1(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text("numactl -m 1 x\n")
    done = plan("convert", str(path), "--to", "taskset", *WORDS)
    assert (done.returncode, done.stdout) == (1, "")
    assert "taskset can say nothing of this plan" in done.stderr


def test_a_mode_of_torch_becomes_launch_lines_and_a_forced_dialect_is_heeded(tmp_path: Path) -> None:
    done = plan("convert", "torch:exclusive", "--to", "numactl", "--device", "0=node:0", "--device", "1=node:1", *WORDS)
    assert done.stdout.splitlines()[1] == "numactl --physcpubind=0-7 COMMAND"
    bare = tmp_path / "value"
    bare.write_text("0-3|8-11")
    assert plan("convert", str(bare), "--to", "taskset", *WORDS).returncode == 2
    told = plan("convert", str(bare), "--to", "taskset", "--dialect", "vllm", *WORDS).stdout
    assert "taskset -c 8-11 COMMAND" in told


def test_explain_draws_every_dialect(tmp_path: Path) -> None:
    path = tmp_path / "ranks"
    path.write_text("rank 0=host slot=0-3\nrank 1=host slot=1:0-3\n")
    done = plan("explain", str(path), *WORDS)
    assert done.returncode == 0, done.stderr
    assert "Open MPI's rankfile, 2 devices" in " ".join(done.stdout.split())


def test_make_writes_the_further_forms_with_what_they_lose() -> None:
    done = plan("make", "-p", "balanced", "--to", "rankfile", *NPUS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].startswith("rank 0=localhost slot=")
    assert "lost: memory of devices 0-3: mpirun binds no memory" in done.stderr
    own = plan("make", "-p", "balanced", "--to", "numascope", *NPUS)
    assert json.loads(own.stdout)["numascope"] == 1
    assert "lost" not in own.stderr


def facts(pid: int, **environ: str) -> dict[int, ProcessFacts]:
    return {pid: ProcessFacts(pid, 1, 1, pid, "pt_elastic", ("torchrun",), environ)}


def torchrun(mode: str, ranks: int = 2) -> Job:
    found = tuple(Rank(1000 + number, number, number, number, "LOCAL_RANK") for number in range(ranks))
    return Job("torch", os.getpid(), found, plan_source=f"--numa-binding={mode}")


OWN = CpuSet.of(OWN_CPUS)
HOST = machine(Shape(1, 1, 1, OWN.last + 1), devices=(0, 0))
FAR = machine(Shape(2, 1, 1, OWN.last + 1), devices=(0, 1))


def test_a_live_torchrun_s_mode_is_the_plan_within_its_launcher_s_mask() -> None:
    found = plan_of_torchrun(torchrun("node"), facts(os.getpid()), HOST)
    assert isinstance(found, JobPlan)
    assert {str(rule.subject): rule.cpus for rule in found.plan.rules} == {"device0": OWN, "device1": OWN}
    assert found.source == f"--numa-binding=node of torchrun {os.getpid()}, computed"
    assert found.plan.path == "torch:node"
    kept = parse_plan("kept", found.data)
    assert [(rule.subject, rule.cpus) for rule in kept.rules] == [
        (rule.subject, rule.cpus) for rule in found.plan.rules
    ]


def test_only_devices_that_the_launcher_sees_count_for_torch_s_shares() -> None:
    alone = plan_of_torchrun(torchrun("exclusive", 1), facts(os.getpid(), CUDA_VISIBLE_DEVICES="1"), HOST)
    assert isinstance(alone, JobPlan)
    assert [(str(rule.subject), rule.cpus) for rule in alone.plan.rules] == [("device1", OWN)]
    for value, words in (("1,1", "names a device twice"), ("GPU-8f2a", "names no numbers")):
        told = plan_of_torchrun(torchrun("node"), facts(os.getpid(), CUDA_VISIBLE_DEVICES=value), HOST)
        assert isinstance(told, str)
        assert words in told


@needs_two_cpus
def test_shares_go_in_the_order_in_which_the_launcher_lists_its_devices() -> None:
    """Logical device 0 is the first of the list, and gets the first cores."""

    def of_list(listed: str) -> dict[str, CpuSet]:
        found = plan_of_torchrun(torchrun("exclusive"), facts(os.getpid(), CUDA_VISIBLE_DEVICES=listed), HOST)
        assert isinstance(found, JobPlan)
        return {str(rule.subject): rule.cpus for rule in found.plan.rules}

    sorted_, reordered = of_list("0,1"), of_list("1,0")
    assert sorted_["device0"] | sorted_["device1"] == OWN
    assert sorted_["device0"].first < sorted_["device1"].first
    assert (reordered["device1"], reordered["device0"]) == (sorted_["device0"], sorted_["device1"])
    assert of_list("1,0,7") == reordered, "CUDA ends the list at the first that is none"


def test_where_torch_itself_fails_the_job_has_no_plan_and_torch_s_words_say_why() -> None:
    told = plan_of_torchrun(torchrun("node"), facts(os.getpid()), FAR)
    assert isinstance(told, str)
    assert "Must bind to a non-empty set of CPU indices" in told
    assert "no accelerator is seen here" in str(
        plan_of_torchrun(torchrun("node"), facts(os.getpid()), HOST._replace(devices=()))
    )
    assert "is no mode of torch" in str(plan_of_torchrun(torchrun("wide"), facts(os.getpid()), HOST))
