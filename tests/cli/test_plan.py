"""`numascope plan` as users call it: plans made for machines, written, printed, explained, and what is refused."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from captures import MACHINES
from conftest import REPOSITORY
from plans import loaded

NPUS = ("--capture", str(MACHINES / "qemu-npus" / "host.tar.gz"))
GPUS = ("--capture", str(MACHINES / "qemu-gpus" / "host.tar.gz"))
MEMORY_ONLY = ("--capture", str(MACHINES / "qemu-memory-only" / "host.tar.gz"))
WORDS = ("--synthetic", "package:2 node:1 l3:2 core:4 pu:2")


def plan(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "numascope", "plan", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def told(*arguments: str) -> str:
    done = plan(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refusal(*arguments: str, code: int = 2) -> str:
    done = plan(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    line = done.stderr.strip().splitlines()[-1]
    return line.removeprefix("numascope: ").removeprefix("Error: ")


def test_balanced_is_printed_as_mindspore_s_json_with_its_notes_beside_it() -> None:
    done = plan("make", "-p", "balanced", *NPUS)
    document = json.loads(done.stdout)
    assert document["bind_cpu"]["device0"] == {"main": "1", "runtime": "0", "minddata": "4-5"}
    assert document["bind_memory"] == {"device0": 0, "device1": 0, "device2": 2, "device3": 2}
    assert "- devices are numbered by PCI address" in done.stderr


def test_a_file_is_written_whole_and_told_how_to_start_with_it(tmp_path: Path) -> None:
    path = tmp_path / "bind.json"
    out = told("make", "-p", "balanced", *NPUS, "-o", str(path))
    assert out.startswith(f"wrote {path}: 4 devices, 16 CPUs (balanced)\n")
    assert f"msrun --worker_num=4 --local_worker_num=4 --bind_numa={path}" in out
    assert [str(subject) for subject in loaded(str(path)).subjects()] == ["device0", "device1", "device2", "device3"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert os.listdir(tmp_path) == ["bind.json"]


def test_a_file_that_is_there_is_only_written_over_with_force(tmp_path: Path) -> None:
    path = tmp_path / "bind.json"
    path.write_text("mine")
    assert refusal("make", "-p", "balanced", *NPUS, "-o", str(path)).startswith(f"{path}: is there already")
    assert path.read_text() == "mine"
    told("make", "-p", "balanced", *NPUS, "-o", str(path), "--force")
    assert loaded(str(path)).rules


def test_force_follows_no_link_and_makes_no_folder(tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "elsewhere.json")
    assert "is no regular file" in refusal("make", "-p", "balanced", *NPUS, "-o", str(link), "--force")
    missing = tmp_path / "no" / "bind.json"
    assert (
        refusal("make", "-p", "balanced", *NPUS, "-o", str(missing))
        == f"{missing}: cannot be written: No such file or directory"
    )


def test_the_document_is_numascope_plan_1() -> None:
    document = json.loads(told("make", "-p", "exclusive", *GPUS, "--json"))
    assert (document["schema"], document["policy"]) == ("numascope.plan/1", "exclusive")
    assert [device["cpus"] for device in document["devices"]] == ["0-1", "2-3", "8-9", "10-11"]
    assert {device["memory_nodes"] for device in document["devices"]} == {None}


def test_torch_modes_are_torchrun_s_own_option_where_torch_makes_the_same() -> None:
    out = told("make", "-p", "exclusive", *GPUS, "--", "python", "train.py")
    assert out == "torchrun --nproc-per-node=4 --numa-binding=exclusive train.py\n"
    lines = told("make", "-p", "socket", *MEMORY_ONLY).splitlines()
    assert lines[0] == "#!/bin/sh"
    assert lines[3].startswith('0) exec numactl --physcpubind=0-7 "$@" ;;')


def test_strict_torch_ends_1_with_the_words_of_torch() -> None:
    text = refusal("make", "-p", "socket", "--strict-torch", *MEMORY_ONLY, code=1)
    assert "ValueError: min() arg is an empty sequence" in text


def test_launch_lines_of_each_tool() -> None:
    done = plan("make", "-p", "balanced", *NPUS, "--to", "taskset", "--", "python", "-u", "train.py")
    assert done.stdout.splitlines()[:2] == ["# device 0 (0000:11:00.0)", "taskset -c 0-1,4-5 python -u train.py"]
    assert "- taskset binds no memory: numactl does" in done.stderr
    assert "numactl --physcpubind=0-1,4-5 --membind=0 COMMAND" in told(
        "make", "-p", "balanced", *NPUS, "--to", "numactl"
    )


def test_the_generator_s_options_are_its_own() -> None:
    words = ("--synthetic", "package:2 node:1 core:32 pu:1")
    out = json.loads(told("make", "-p", "msrun", *words, "--device-count", "2", "--indent", "0"))
    assert out["bind_cpu"] == {
        "device0": {"runtime": "4-8", "minddata": "9-12", "main": "13-19"},
        "device1": {"runtime": "36-40", "minddata": "41-44", "main": "45-51"},
        "scheduler": {"main": "20-23"},
    }
    out = json.loads(
        told("make", "-p", "msrun", *words, "--device-ids", "5,3", "--runtime-range", "0-1", "--pynative-range", "2-5")
    )
    assert out["bind_cpu"]["device5"]["runtime"] == "32-33"
    assert out["bind_cpu"]["device3"]["pynative"] == "2-5"


def test_roles_places_and_bounds_are_heeded() -> None:
    document = json.loads(
        told(
            "make", "-p", "balanced", *WORDS, "--device", "0=node:0", "--device", "1=node:1", "--roles", "main=2,omp=3",
            "--smt", "avoid", "--reserve", "1", "--allowed", "0-13,16-31", "--busy", "20", "--json",
        )
    )  # fmt: skip
    assert [device["roles"] for device in document["devices"]] == [
        {"main": "2,4", "omp": "8,10,12"},
        {"main": "18,22", "omp": "24,26,28"},
    ]


@pytest.mark.parametrize(
    ("arguments", "problem", "code"),
    [
        (("-p", "exclusive", *NPUS, "--smt", "avoid"), "--smt is for --policy balanced: leave it out with --policy exclusive", 2),
        (("-p", "balanced", *NPUS, "--strict-torch"), "--strict-torch is for --policy torch's modes", 2),
        (("-p", "balanced", *NPUS, "--roles", "main"), '--roles: "main" is no role with its CPUs', 2),
        (("-p", "balanced", *NPUS, "--roles", "main=1,main=2"), "--roles: main is there twice", 2),
        (("-p", "balanced", *NPUS, "--roles", "loader=1"), "MindSpore has no module loader", 2),
        (("-p", "balanced", *NPUS, "--roles", "main=99"), "main=99 of device 0 (0000:11:00.0) does not fit", 1),
        (("-p", "balanced", *NPUS, "--allowed", "99"), "--allowed 99: this machine has the CPUs 0-15", 2),
        (("-p", "balanced", *NPUS, "--allowed", "3-1"), "--allowed '3-1': the range runs backwards", 2),
        (("-p", "balanced", *NPUS, "--ranks", "9"), "--ranks 9: there are 4 devices", 2),
        (("-p", "balanced", *NPUS, "--", "python"), "a COMMAND is for --to numactl, taskset or torchrun", 2),
        (("-p", "balanced", *NPUS, "--avoid-busy"), "--avoid-busy looks at this host", 2),
        (("-p", "balanced", *WORDS), "no accelerator is seen here", 2),
        (("-p", "balanced", *WORDS, "--ranks", "99"), "device ", 1),
        (("-p", "msrun", *NPUS, "--main-range", "5"), '--main-range "5": give two positions', 2),
        (("-p", "msrun", *NPUS), "device0 gets 4 CPUs, and its runtime is to have those at positions 4-8", 1),
        (("-p", "msrun", *NPUS, "--device", "0=node:0", "--device-count", "1"), "--device, --device-ids and", 2),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_one_line(arguments: tuple[str, ...], problem: str, code: int) -> None:
    assert refusal("make", *arguments, code=code).startswith(problem)


def test_a_plan_is_drawn_and_explained(tmp_path: Path) -> None:
    path = tmp_path / "bind.json"
    told("make", "-p", "balanced", *NPUS, "-o", str(path))
    whole = told("explain", str(path), *NPUS)
    assert "A device0 0000:11:00.0 near node 0: CPUs on nodes 0-1, memory bound to node 0" in whole
    one = told("explain", str(path), *NPUS, "--cpu", "0", "--ascii")
    assert f"CPU 0 is runtime of device0: {path}:10:18 gives it CPU 0" in one.replace("\n", " ")
    assert one.isascii()
    device = told("explain", str(path), *NPUS, "--device", "1")
    assert "    minddata  2 CPUs  6-7  bind.json:16:19" in device
    document = json.loads(told("explain", str(path), *NPUS, "--json"))
    assert document["plan"]["dialect"] == "mindspore"
    assert document["devices"][1]["roles"]["minddata"] == "6-7"


def test_the_page_of_plans_shows_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    there = ("--capture", str(MACHINES / "made-ascend-server" / "host.tar.gz"))
    told("make", "-p", "msrun", *there, "-o", "bind.json")
    printed = told("explain", "bind.json", *there, "--cpu", "6").splitlines()
    page = (REPOSITORY / "docs" / "plans.md").read_text().split("numascope plan explain bind.json --cpu 6\n")[1]
    shown = [line.removeprefix("    ") for line in page.split("\nPLAN is")[0].splitlines() if line.strip(" …")]
    assert len(shown) > 8
    assert [line for line in shown if line not in printed] == []


def test_a_device_that_the_plan_has_not_is_answered_with_those_that_it_has(tmp_path: Path) -> None:
    path = tmp_path / "bind.json"
    told("make", "-p", "balanced", *NPUS, "-o", str(path))
    assert refusal("explain", str(path), *NPUS, "--device", "9").endswith("bind.json names devices 0-3")
    path.write_text('{"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device123456789": {"main": "0"}}}')
    assert refusal("explain", str(path), *NPUS, "--device", "9").endswith("names device 123456789")


def test_a_mode_of_torch_is_explained_by_name() -> None:
    out = told("explain", "torch:exclusive", *GPUS)
    assert "torch:exclusive: torchrun's --numa-binding, 4 devices, 8 of 16 CPUs planned" in out
    assert "ValueError" in refusal("explain", "torch:socket", *MEMORY_ONLY, code=1)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--cpu", "99"), "--cpu 99: this machine has the CPUs 0-15"),
        (("--device", "9"), "--device 9: "),
        (("--device", "x"), "--device x: "),
        (("--cpu", "1", "--device", "1"), "--cpu N and --device N each pick one thing"),
        (("--json", "--cpu", "1"), "--json is the whole plan"),
    ],
)
def test_what_is_not_there_cannot_be_explained(tmp_path: Path, arguments: tuple[str, ...], problem: str) -> None:
    path = tmp_path / "bind.json"
    told("make", "-p", "balanced", *NPUS, "-o", str(path))
    assert refusal("explain", str(path), *NPUS, *arguments).startswith(problem)


def test_a_broken_plan_is_one_line_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "bind.json"
    path.write_text('{"bind_config": {"bind_cpu_mode": "cpu"},\n "bind_cpu": {"device0": {"main": "0-1000000000"}}}')
    assert refusal("explain", str(path), *NPUS).startswith(f"{path}:2:35: ")
    path.write_text("[" * 100_000)
    assert "nested deeper" in refusal("explain", str(path), *NPUS)


def test_neither_verb_loads_a_screen() -> None:
    program = "import sys; sys.argv = ['numascope', 'plan', 'make', '-p', 'balanced', '--ranks', '1', '--synthetic', 'core:4 pu:1']\nfrom numascope.cli import main\ntry:\n main()\nfinally:\n print(sorted({'textual', 'rich'} & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == "[]"
