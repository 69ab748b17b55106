"""`numascope plan convert`, and the further forms of `plan make`, as users call them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from captures import MACHINES

from numascope.cli.plan_options import DIALECT_NAMES, FORM_NAMES
from numascope.plan.dialects.detect import DIALECTS
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


@pytest.mark.parametrize("form", ["mindspore", "vllm"])
def test_a_command_is_refused_where_the_form_has_no_place_for_it(form: str) -> None:
    done = plan("convert", "torch:node", *WORDS, "--device", "0=node:0", "--to", form, "--", "python", "train.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert "a COMMAND is for --to numactl, taskset or torchrun" in done.stderr
