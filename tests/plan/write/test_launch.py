from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from processes import OWN_CPUS
from shapes import Shape, machine

from numascope.cpuset import CpuSet
from numascope.plan.make.made import Made, RoleCpus, Share
from numascope.plan.make.seats import Seat
from numascope.plan.objects import Subject
from numascope.plan.write.forms import written
from numascope.plan.write.launch import launch_lines, torchrun_lines
from numascope.plan.write.outline import Outline, Part, Setting


def made(*cpus: str, memory: str | None = None, mode: str | None = None, numbers: tuple[int, ...] = ()) -> Made:
    shares = tuple(
        Share(
            Seat(number, f"0000:{number:02x}:00.0", 0, 0),
            (RoleCpus("any", CpuSet.parse(text)),),
            None if memory is None else CpuSet.parse(memory),
        )
        for number, text in zip(numbers or range(len(cpus)), cpus, strict=True)
    )
    return Made("exclusive", shares, torch_mode=mode)


def test_each_rank_has_a_line_with_its_device_before_it() -> None:
    assert launch_lines(made("0-3", "8,10", memory="1"), "numactl", ("python", "my train.py")) == [
        "# device 0 (0000:00:00.0)",
        "numactl --physcpubind=0-3 --membind=1 python 'my train.py'",
        "# device 1 (0000:01:00.0)",
        "numactl --physcpubind=8,10 --membind=1 python 'my train.py'",
    ]
    assert launch_lines(made("0-3"), "taskset", ())[1] == "taskset -c 0-3 COMMAND"
    assert launch_lines(made("0-3"), "numactl", ())[1] == "numactl --physcpubind=0-3 COMMAND"


def test_ranks_of_torchrun_that_are_not_of_the_first_devices_are_told_which_to_see() -> None:
    lines = torchrun_lines(made("0", "1", numbers=(3, 5)), ("./x",))
    assert lines[1] == "# CUDA_VISIBLE_DEVICES=3,5 torchrun --nproc-per-node=2 --no-python ./THIS-FILE ./x"
    assert lines[4] == '1) exec numactl --physcpubind=1 "$@" ;;  # device 5 (0000:05:00.0)'
    assert torchrun_lines(made("0", "1"), ("./x",))[1].startswith("# torchrun ")


def test_torchrun_makes_its_own_plan_with_its_own_option() -> None:
    lines = torchrun_lines(made("0", "1", mode="exclusive"), ("train.py",))
    assert lines == ["torchrun --nproc-per-node=2 --numa-binding=exclusive train.py"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("python", "-u", "train.py", "--lr", "1"), "train.py --lr 1"),
        (("/usr/bin/python3.11", "-m", "pkg"), "-m pkg"),
        (("python", "-O", "train.py"), "--no-python python -O train.py"),
        (("./serve", "x"), "--no-python ./serve x"),
        (("--standalone", "train.py"), "--standalone train.py"),
    ],
)
def test_torchrun_starts_python_itself(command: tuple[str, ...], words: str) -> None:
    lines = torchrun_lines(made("0", "1", mode="node"), command)
    assert lines == [f"torchrun --nproc-per-node=2 --numa-binding=node {words}"]


def test_any_other_plan_is_a_script_between_torchrun_and_its_ranks() -> None:
    for plan in (made("0-3", "4-7", memory="0"), made("0-3", "4-7", mode="node", numbers=(1, 2))):
        lines = torchrun_lines(plan, ("python", "train.py"))
        assert lines[0] == "#!/bin/sh"
        assert lines[1].endswith("torchrun --nproc-per-node=2 --no-python ./THIS-FILE python train.py")
        assert shlex.split(lines[3], comments=True)[:4] == ["0)", "exec", "numactl", "--physcpubind=0-3"]


def test_a_line_break_in_the_command_cannot_leave_its_comment() -> None:
    lines = torchrun_lines(made("0"), ("echo", "a\nrm b"))
    assert lines[1].endswith(r"echo 'a\x0arm b'")
    assert all("\n" not in line for line in lines)


@pytest.mark.live
def test_the_script_binds_the_rank_and_refuses_one_that_is_not_planned(tmp_path: Path) -> None:
    cpu = OWN_CPUS[0]
    stand_in = tmp_path / "numactl"
    stand_in.write_text('#!/bin/sh\nexec taskset -c "${1#--physcpubind=}" "$2" "$3" "$4"\n')
    stand_in.chmod(0o755)
    script = tmp_path / "bind.sh"
    script.write_text("\n".join([*torchrun_lines(made(str(cpu)), ()), ""]))
    script.chmod(0o755)
    path = f"{tmp_path}:/usr/bin:/bin"
    command = [str(script), "grep", "Cpus_allowed_list", "/proc/self/status"]
    done = subprocess.run(command, env={"PATH": path, "LOCAL_RANK": "0"}, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == str(cpu)
    done = subprocess.run(command, env={"PATH": path, "LOCAL_RANK": "1"}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "no CPUs are planned for LOCAL_RANK=1: this plan has 1\n")


def test_msrun_is_told_which_devices_are_meant_where_they_are_not_the_first_ones() -> None:
    parts = tuple(Part(Subject(device), (RoleCpus("any", CpuSet.span(device, device)),)) for device in (3, 5))
    done = written(Outline(parts), {}, "msrun", Setting(machine(Shape(1, 1, 1, 8)), ("train.py",)))
    assert done.text == (
        "ASCEND_RT_VISIBLE_DEVICES=3,5 msrun --worker_num=2 --local_worker_num=2"
        """ '--bind_core={"device3": ["3"], "device5": ["5"]}' train.py\n"""
    )
    assert done.lost == ()
