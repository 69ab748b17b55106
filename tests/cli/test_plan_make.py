"""`numascope plan make --policy balanced` in the forms that launchers take, and what is said beside the plan."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from shapes import Shape, machine

from numascope.cli.plan_notes import not_said
from numascope.cli.plan_options import role_sizes
from numascope.errors import UsageError
from numascope.machine.quirks import implicit_node
from numascope.plan.make.balanced import BalancedWish, make_balanced
from numascope.plan.make.seats import found_seats

SERVER = ("--synthetic", "package:2 node:1(memory=64GiB) l3:4 core:8 pu:2(threads=last)")
DEVICES = tuple(word for at in range(4) for word in ("--device", f"{at}=node:{at // 2}"))
FLAT = ("--synthetic", "package:2 node:1 core:8 pu:1")


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "numascope", "plan", "make", "-p", "balanced", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_rank_that_is_bound_as_a_whole_has_all_threads_of_its_cores_and_nothing_is_lost() -> None:
    done = make(*SERVER, *DEVICES, "--to", "numactl", "--", "python", "train.py")
    assert done.stdout.splitlines()[:4] == [
        "# device 0",
        "numactl --physcpubind=1-15,65-79 --membind=0 python train.py",
        "# device 1",
        "numactl --physcpubind=16-31,80-95 --membind=0 python train.py",
    ]
    assert done.stderr == ""


def test_a_rank_that_is_bound_as_a_whole_has_no_cores_of_a_far_package() -> None:
    done = make(*SERVER, *(word for at in range(8) for word in ("--device", f"{at}=node:0")), "--to", "taskset")
    assert done.stdout.splitlines()[1] == "taskset -c 1-4,65-68 COMMAND"
    assert done.stderr == (
        "- node 1 is near no device of the plan: the cores there stay free\n- taskset binds no memory: numactl does\n"
    )


def test_roles_of_given_sizes_are_lost_in_one_line_for_all_devices() -> None:
    done = make(*SERVER, *DEVICES, "--to", "slurm", "--roles", "main=4,runtime=5")
    assert done.stderr.splitlines() == [
        "lost: main of devices 0-3: srun binds a rank as a whole, to all its CPUs",
        "lost: runtime of devices 0-3: srun binds a rank as a whole, to all its CPUs",
    ]


def test_the_document_is_of_the_plan_in_that_form() -> None:
    whole = json.loads(make(*SERVER, *DEVICES, "--to", "slurm", "--json").stdout)
    assert whole["devices"][0]["roles"] == {"any": "1-15,65-79"}
    assert set(json.loads(make(*SERVER, *DEVICES, "--json").stdout)["devices"][0]["roles"]) == {
        "main",
        "runtime",
        "minddata",
    }


def test_a_role_that_there_is_not_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        role_sizes("main=2,lodaer=4")
    assert str(caught.value) == '--roles: there is no role "lodaer", did you mean "loader": docs/roles.md has all'


def test_ranks_are_dealt_over_the_nodes_that_are_allowed() -> None:
    done = make(*FLAT, "--ranks", "2", "--allowed", "8-15", "--json")
    assert [device["node"] for device in json.loads(done.stdout)["devices"]] == [1, 1]


def test_a_dash_is_standard_output() -> None:
    assert make(*FLAT, "--ranks", "1", "-o", "-").stdout == make(*FLAT, "--ranks", "1").stdout


@pytest.mark.parametrize("target", [".", "/dev/full", "/proc/plan.json"])
def test_where_no_file_can_be_written_is_one_line(target: str) -> None:
    done = make(*FLAT, "--ranks", "1", "-o", target, "--force")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"numascope: {target}: ")
    assert done.stderr.count("\n") == 1


def test_a_full_disk_is_no_traceback() -> None:
    command = [sys.executable, "-m", "numascope", "plan", "make", "-p", "balanced", *FLAT, "--ranks", "1"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(b"numascope: ")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(("form", "count"), [("numactl", 1), ("torchrun", 1), ("taskset", 0)])
def test_lines_of_numactl_for_a_kernel_without_numa_nodes_come_with_a_warning(form: str, count: int) -> None:
    on = machine(Shape(1, 1, 1, 8), (0,))._replace(notes=(implicit_node(),))
    plan = make_balanced(on, BalancedWish(on.cpus.online, found_seats(on, ("npu",), None).seats))
    assert sum("this kernel has no NUMA nodes: numactl" in note for note in not_said(form, plan, on)) == count
