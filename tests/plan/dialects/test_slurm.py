from __future__ import annotations

import pytest
from plan.dialects.reading import HOST, given_cpus, memory, notes, plan_in, refusal
from shapes import Shape, machine

from numascope.machine.objects import Machine


def test_slurm_lists_are_by_task_and_begin_again() -> None:
    plan = plan_in("srun -n 3 --cpu-bind=v,mask_cpu:0x3,f0 --mem-bind=map_mem:0,1 ./a")
    assert given_cpus(plan) == {"device0 any": "0-1", "device1 any": "4-7", "device2 any": "0-1"}
    assert memory(plan) == {"device0": "bind 0", "device1": "bind 1", "device2": "bind 0"}
    assert str(plan.rules[1].place) == "file:1:37"
    assert given_cpus(plan_in("srun --cpu-bind map_cpu:0*2,0x5 a")) == {
        "device0 any": "0",
        "device1 any": "0",
        "device2 any": "5",
    }
    assert given_cpus(plan_in("SLURM_CPU_BIND=map_ldom:1,0")) == {"device0 any": "node 1", "device1 any": "node 0"}
    assert given_cpus(plan_in("srun --cpu-bind=mask_ldom:0x3 a")) == {"device0 any": "node 0-1"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("srun --cpu-bind=map_cpu:0,x a", '1:27: --cpu-bind has "x", which Slurm does not know'),
        ("srun --cpu-bind=map_cpu:0,9x a", '1:27: "9x": expected a number such as 4'),
        ("srun --cpu-bind=map_cpu:1-3 a", '"1-3": expected a number such as 4'),
        ("A=x\nsrun --cpu-bind=map_cpu:0,$A a", '2:6: --cpu-bind has "x", which Slurm does not know'),
        ("srun --cpu-bind=mask_cpu:$MASKS a", "the shell's variable is not known here"),
        ("srun --cpu-bind=${BIND} a", "write its value, the shell's is not known here"),
        ("srun --cpu-bind=none a", "1:17: --cpu-bind=none binds nothing"),
        (
            "srun --cpu-bind=v,cores a",
            '--cpu-bind="v,cores" names no CPUs: srun chooses them of those that the job gets',
        ),
        ("srun --cpu-bind=quiet a", "names no CPUs"),
        ("srun --cpu-bind=rank a", "how many tasks there are is not said: give --ntasks"),
        ("srun -n2 --cpu-bind=map_mem:0 a", '--cpu-bind has "map_mem:0"'),
        ("srun --cpu-bind=map_cpu:0-1000000000 a", "expected a number"),
        ("srun --cpu-bind=map_cpu:99999999 a", "expected a number"),
        ("srun --cpu-bind=mask_cpu:0x0 a", '"0x0": expected a hexadecimal mask'),
        ("srun --cpu-bind=map_cpu:1*99999 a", "more than 4096 elements"),
        (
            "srun --cpu-bind=map_cpu:0 a\nsrun --cpu-bind=map_cpu:1 b",
            "2:17: a second --cpu-bind, the first is in line 1",
        ),
        ("srun -n0 --cpu-bind=map_cpu:0 a", 'the number of tasks (n) is "0"'),
    ],
)
def test_a_slurm_list_that_makes_no_sense(text: str, problem: str) -> None:
    assert problem in refusal(text)


def dealt(text: str, host: Machine = HOST) -> list[str]:
    return list(given_cpus(plan_in(text, host, "slurm")).values())


def test_flags_stand_before_or_behind_a_list_in_any_case_and_the_last_kind_holds() -> None:
    assert dealt("srun --cpu-bind=Verbose,MAP_CPU:0,1,quiet a") == ["0", "1"]
    assert dealt("srun --cpu-bind=mask_cpu:fe,ff,v a") == ["1-7", "0-7"]
    assert dealt("srun --cpu-bind=rank,maskcpu=0x3,0x0C,cores a") == ["0-1", "2-3"]
    assert dealt("srun --cpu_bind mapcpu:2*3 a") == ["2", "2", "2"]
    assert memory(plan_in("srun --cpu-bind=map_cpu:0 --mem-bind=v,prefer,map_mem:1 a")) == {"device0": "preferred 1"}


def test_rank_kinds_deal_cpus_and_nodes_by_task() -> None:
    assert dealt("srun -n 3 --cpu-bind=rank a") == ["0", "1", "2"]
    assert dealt("srun -n 17 --cpu-bind=verbose,rank a")[15:] == ["15", "0"]
    assert dealt("srun -n 3 --cpu-bind=rank_ldom a") == ["node 0", "node 1", "node 0"]


def test_a_node_that_is_not_there_counts_modulo_the_nodes() -> None:
    plan = plan_in("srun --cpu-bind=map_ldom:1,2,7 a")
    assert list(given_cpus(plan).values()) == ["node 1", "node 0", "node 1"]
    assert "1:28: node 2 is not there: Slurm counts modulo the nodes and takes 0" in notes(plan)[1]
    assert "Slurm refuses this where the job has not the whole host" in notes(plan)[0]


SCRIPT = """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4   # one a GPU
#SBATCH -o %x.out
export OMP_NUM_THREADS=7
srun {}--cpu-bind=map_cpu:1,9,17,25 {}
"""


@pytest.mark.parametrize(
    ("before", "behind", "tasks"),
    [
        ("", "./a", 4),
        ("", "head -n 2 file", 4),
        ("--exclusive ", "head -n 2 file", 4),
        ("-n 8 ", "./a", 4),
        ("-n 3 ", "./a", 3),
        ("-n $SLURM_NTASKS ", "./a", 4),
        ("--ntasks-per-node=2 ", "./a", 2),
        ("-l -N1 --tasks-per-node 1 ", "./a", 1),
    ],
)
def test_tasks_of_one_host_are_those_of_srun_or_of_the_job_script(before: str, behind: str, tasks: int) -> None:
    wide = machine(Shape(2, 1, 2, 16))
    plan = plan_in(SCRIPT.format(before, behind), wide)
    assert list(given_cpus(plan).values()) == ["1", "9", "17", "25"][:tasks]
    assert str(plan.rules[0].place).startswith("file:6:")


def test_tasks_are_spread_over_the_hosts_of_the_job() -> None:
    assert len(dealt("srun -N2 -n16 --cpu-bind=map_cpu:0,1,2,3,4,5,6,7 a")) == 8
    assert len(dealt("srun --nodes=2-4 -n 2 --cpu-bind=map_cpu:0,1,2 a")) == 2
    assert len(dealt("srun -n 99 hostname\nsrun --cpu-bind=map_cpu:0,1,2 a")) == 3
    assert len(dealt("export SLURM_CPU_BIND=map_cpu:0,1,2\nsrun -n 2 a")) == 2


def test_what_the_script_gave_its_variables_before_stands_in_their_place() -> None:
    lumi = """CPU_BIND="mask_cpu:7e,7e00"
CPU_BIND="${CPU_BIND},7e0000"
srun --cpu-bind=${CPU_BIND} ./select_gpu ./a
"""
    assert dealt(lumi) == ["1-6", "9-14", "17-22"]
    masks = 'c=fe\nMASKS="0x${c}00,0x${c}"\nsrun -l --cpu-bind=mask_cpu:$MASKS python3 $CMD\n'
    assert dealt(masks) == ["9-15", "1-7"]
    assert dealt("BIND='--cpu-bind=map_cpu:3,1 -n 1'\nsrun $BIND ./a\n") == ["3"]
    assert str(plan_in(lumi).rules[2].place) == "file:3:6"
    endless = "A=00000000\n" + "A=$A$A\n" * 40 + "srun --cpu-bind=mask_cpu:$A a"
    assert "expected a hexadecimal mask" in refusal(endless)


def test_a_tool_that_each_task_begins_with_is_told_as_not_read() -> None:
    found = notes(plan_in("srun -n 2 --exclusive --cpu-bind=map_cpu:0,1 numactl -m 0 ./a"))
    assert found[-1] == (
        "1:46: numactl behind srun is not read here: each task gets the CPUs and memory that it binds to, not srun's"
    )
    assert all("numactl" not in one for one in notes(plan_in("numactl -N 0 srun -n 2 --cpu-bind=map_cpu:0,1 ./a")))
