"""Lines of numactl and taskset as these programs take them: the right values are those of the real ones (numactl 2.0.16, util-linux 2.38)."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from plan.dialects.reading import HOST, NPUS, given_cpus, memory, notes, plan_in, refusal
from processes import OWN_CPUS
from shapes import Shape, machine

from numascope.cpuset import CpuSet
from numascope.host.root import HostRoot
from numascope.machine.build import build_machine

BIG = machine(Shape(2, 1, 2, 8))


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("numactl -lC0 a", "0"),
        ("numactl -aC 3 a", "3"),
        ("numactl --phys=3 a", "3"),
        ("numactl -c 1 a", "node 1"),
        ("numactl --cpubind 1 a", "node 1"),
        ("numactl --cpun=0 a", "node 0"),
        ("numactl -C 0x4,010 a", "4,8"),
        ("numactl -C '0, 2' a", "0,2"),
        ("numactl -C 0,+1 a", "0-1"),
        ("numactl -C 3-1 a", "3"),
        ("numactl -C 0 -- a", "0"),
        ("numactl -N 0 numactl -C 1 a", "1"),
        ("taskset -ca 5 a", "5"),
        ("taskset --cpu 5 a", "5"),
        ("taskset -c -- 5 a", "5"),
        ("taskset -c 0-6:9 a", "0"),
        ("taskset -c 1-9:4 a", "1,5,9"),
        ("taskset 3,0 a", "4-5"),
        ("taskset 1, a", "0"),
    ],
)
def test_every_spelling_that_the_tool_takes(text: str, cpus: str) -> None:
    assert given_cpus(plan_in(text)) == {"device0 any": cpus}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("numactl --cpu=1 a", '"--cpu=1" is short for cpubind and cpunodebind: numactl refuses it'),
        ("numactl -C same a", '"same": expected numbers'),
        ("numactl -m same a", '"same" has no nodes before it'),
        ("numactl -C 0, a", "no list of CPUs that numactl takes"),
        ("numactl -C 0-1:2 a", "strides are taskset's"),
        ("numactl -C +16 a", "there is no CPU at position 16 of 16, which numactl refuses"),
        ("numactl -C 09 a", "reads 09 as octal"),
        ("numactl -p 0,1 a", "more than one preferred node: numactl refuses that"),
        ("numactl -l -m 0 a", "a second memory policy"),
        ("numactl -u -C 0 a", 'numactl binds nothing with "-u"'),
        ("taskset 0X1 a", '"0X1" is no mask'),
        ("taskset 0x1,,1 a", "is no mask"),
        ("taskset -c '0, 1' a", "no list of CPUs that taskset takes"),
        ("taskset -c 0, a", "no list of CPUs that taskset takes"),
        ("taskset -c +0 a", "no list of CPUs that taskset takes"),
        ("taskset -c 0x1 a", "no list of CPUs that taskset takes"),
        ("taskset -c 1-0 a", "runs backwards"),
        ("taskset -c0 a", 'taskset binds nothing with "-c0"'),
        ("taskset --cpu-list=0 a", "taskset binds nothing with"),
        ("taskset -cp 0 700", "taskset -p binds a process that runs already"),
        ("taskset --pid 700", "taskset -p binds a process that runs already"),
        ("numactl -C $CPUS a", '"$CPUS" is known to the shell alone'),
    ],
)
def test_every_spelling_that_the_tool_or_the_reader_refuses(text: str, problem: str) -> None:
    assert problem in refusal(text)


def test_same_stands_for_the_nodes_before_it() -> None:
    plan = plan_in("numactl -N 1 -m same a")
    assert (given_cpus(plan), memory(plan)) == ({"device0 any": "node 1"}, {"device0": "bind 1"})


def test_numactl_asks_that_both_ends_of_a_range_are_there_and_leaves_out_what_is_between() -> None:
    host = HOST._replace(cpus=HOST.cpus._replace(allowed=CpuSet.parse("0-3,6-15")))
    inside, end = plan_in("numactl -C 0-7 a", host), plan_in("numactl -C 0-4 a", host)
    assert given_cpus(inside) == {"device0 any": "0-3,6-7"}
    assert notes(inside) == ["1:12: CPU 4-5 is not there or not allowed here: numactl leaves it out silently"]
    assert notes(end) == ["1:12: CPU 4 is not there or not allowed here: numactl refuses the whole list"]
    assert notes(plan_in("numactl -aC 0-7 a", host)) == []


def test_taskset_fails_where_none_of_its_cpus_is_there() -> None:
    assert "taskset fails, and starts nobody" in notes(plan_in("taskset -c 99 a"))[0]


def test_the_inner_tool_goes_by_the_mask_of_the_outer_one() -> None:
    assert given_cpus(plan_in("taskset -c 4-7 numactl -C +1 a")) == {"device0 any": "5"}
    assert (
        "CPU 1 is not there or not allowed here: numactl refuses" in notes(plan_in("taskset -c 4-7 numactl -C 1 a"))[1]
    )
    assert given_cpus(plan_in("taskset -c 4-7 numactl -aC 1 a")) == {"device0 any": "1"}


def test_lines_that_only_show_or_name_a_tool_start_no_rank() -> None:
    script = "command -v numactl >/dev/null || exit 1\nwhich taskset\necho numactl -C 9 a\nnumactl -H\nnumactl --show\ntaskset -V\nnumactl -C 0 a"
    assert given_cpus(plan_in(script)) == {"device0 any": "0"}


@pytest.mark.parametrize(
    "text",
    [
        "for i in 0 1 2 3; do LOCAL_RANK=$i numactl -C $((i*8))-$((i*8+7)) -m $((i/2)) python a & done; wait",
        "for i in {0..3}\ndo\n  numactl -C $(( $i * 8 ))-$(( i*8 + 7 )) --membind=$((i / 2)) \\\n    python a --rank ${i} &\ndone\nwait\n",
        'for i in $(seq 0 3); do bash -c "numactl -C $((8*i))-$((8*i+7)) -m $((i/2)) a" & done',
        "for n in 0 1; do for c in 0 8; do numactl -m ${n} -C $((n*16+c))-$((n*16+c+7)) a & done; done",
    ],
)  # fmt: skip
def test_a_loop_over_numbers_is_a_line_for_each(text: str) -> None:
    plan = plan_in(text, BIG)
    assert given_cpus(plan) == {
        "device0 any": "0-7",
        "device1 any": "8-15",
        "device2 any": "16-23",
        "device3 any": "24-31",
    }
    assert memory(plan) == {"device0": "bind 0", "device1": "bind 0", "device2": "bind 1", "device3": "bind 1"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "for i in $LIST; do numactl -N $i a & done",
            "1:10: what this loop goes over is known to the shell alone: write its numbers out",
        ),
        ("for ((i=0;i<8;i++)); do numactl -N $((i/4)) a & done", '1:36: "$((i/4))" is known to the shell alone'),
        ("for i in {0..9999}; do numactl -N 0 a & done", "1:1: loops of more than 4096 turns"),
        ("for i in 0; do " * 5 + "numactl -N 0 a" + "; done" * 5, "or in more than 4 loops"),
    ],
)
def test_a_loop_that_only_a_shell_can_work_out(text: str, problem: str) -> None:
    assert problem in refusal(text, BIG)


def test_a_rank_that_only_a_shell_can_work_out_is_told() -> None:
    plan = plan_in("while read r; do LOCAL_RANK=$r numactl -C 0 a; done")
    assert notes(plan) == [
        '1:18: "LOCAL_RANK=$r" is known to the shell alone: taken for device0, by the order of the lines'
    ]


@pytest.mark.parametrize(
    "before",
    [
        "OMP_NUM_THREADS=8 exec ", "env A=1 nohup setsid stdbuf -o0 ", "sudo -u bob ", "time ", "( ", "srun -n1 --cpu-bind=none ",
    ],
)  # fmt: skip
def test_what_stands_before_a_tool_does_not_hide_it(before: str) -> None:
    assert given_cpus(plan_in(f"{before}numactl -C 2 a")) == {"device0 any": "2"}


def test_the_text_of_a_shell_is_read_too() -> None:
    plan = plan_in("bash -c 'cd /a && LOCAL_RANK=1 numactl -C 2 a'")
    assert (given_cpus(plan), str(plan.rules[0].place)) == ({"device1 any": "2"}, "file:1:43")


def test_all_ranks_of_a_torchrun_behind_a_tool_inherit_from_it() -> None:
    plan = plan_in("numactl -C 0-7 -m 0 torchrun --nproc-per-node=2 a.py")
    assert given_cpus(plan) == {"device0 any": "0-7", "device1 any": "0-7"}
    assert memory(plan) == {"device0": "bind 0", "device1": "bind 0"}
    assert len(plan_in("numactl -C 0-7 torchrun --nproc-per-node=auto a.py", NPUS).rules) == 2
    bound = plan_in("taskset -c 2-3,8-15 torchrun --nproc-per-node=2 --numa-binding=node a.py", NPUS)
    assert (bound.dialect, given_cpus(bound)) == ("torch", {"device0 any": "2-3", "device1 any": "8-15"})


def test_a_tool_that_a_torchrun_starts_is_a_line_for_each_rank() -> None:
    plan = plan_in(
        "torchrun --nproc-per-node=4 --no-python bash -c 'numactl -N $((LOCAL_RANK/2)) -m $((LOCAL_RANK/2)) python a'",
        BIG,
    )
    assert given_cpus(plan) == {
        "device0 any": "node 0", "device1 any": "node 0", "device2 any": "node 1", "device3 any": "node 1",
    }  # fmt: skip
    assert memory(plan) == {"device0": "bind 0", "device1": "bind 0", "device2": "bind 1", "device3": "bind 1"}
    problem = refusal("torchrun --nproc-per-node=gpu --no-python numactl -C 0 a", BIG)
    assert problem == "1:1: no accelerator is seen here for torchrun to count: give --nproc-per-node a number"
    counted = plan_in("torchrun --nproc-per-node=gpu --no-python numactl -C 0 a", NPUS)
    assert given_cpus(counted) == {"device0 any": "0", "device1 any": "0"}


LIVE = (
    "numactl -C {0} {c}", "numactl -lC{0} {c}", "numactl --phys {0} {c}", "numactl -C all {c}", "numactl -N 0 {c}", "numactl -C +0 {c}",
    "numactl -aC {0} {c}", "numactl -C 0{0:o} {c}", "numactl -C {0:#x} {c}", "taskset -c {0} {c}", "taskset -ac {0} {c}",
    "taskset {1:x} {c}", "taskset {1:#x} {c}", "taskset --cpu {0} {c}", "taskset -c {0}-{0}:2 {c}", "taskset -c {0},4999 {c}",
    "taskset -c {0} numactl -C +0 {c}", "taskset -c {0} numactl -C all {c}", "numactl -C {0} taskset -c {0} {c}",
    "for i in {0}; do taskset -c $i {c}; done", "for i in 1; do taskset -c $((i*{0})) {c}; done", "bash -c 'taskset -c {0} {c}'",
)  # fmt: skip


@pytest.mark.live
@pytest.mark.parametrize("line", LIVE)
def test_the_real_tools_bind_to_what_is_read_from_the_line(line: str) -> None:
    if shutil.which("numactl") is None or shutil.which("taskset") is None:
        pytest.skip("numactl or taskset is not installed")
    here = build_machine(HostRoot())
    text = line.format(OWN_CPUS[-1], 1 << OWN_CPUS[-1], c="grep Cpus_allowed_list /proc/self/status")
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True)
    rule = plan_in(text, here).rules[0]
    nodes = CpuSet() if rule.nodes is None else rule.nodes
    read = (
        rule.cpus
        if rule.nodes is None
        else CpuSet.of(cpu for node in here.nodes if node.id in nodes for cpu in node.cpus)
    )
    assert CpuSet.parse(done.stdout.split()[-1]) == read & here.cpus.online
