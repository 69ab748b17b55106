from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shapes import Shape, machine

from numascope.errors import InputError, NumascopeError
from numascope.machine.objects import Machine
from numascope.plan.dialects.detect import DIALECTS, dialect_of
from numascope.plan.dialects.draft import Scene
from numascope.plan.given import read_given, read_plan
from numascope.plan.objects import Plan

HOST = machine(Shape(2, 1, 2, 4))
NPUS = machine(Shape(2, 1, 2, 4), devices=(0, 1))
PAIRED = machine(Shape(2, 1, 2, 2, 2))


def plan_in(text: str | bytes, host: Machine = HOST, dialect: str | None = None) -> Plan:
    data = text if isinstance(text, bytes) else text.encode()
    return read_plan("file", data, Scene(host), dialect)


def given_cpus(plan: Plan) -> Mapping[str, str]:
    return {
        f"{rule.subject} {rule.role}": str(rule.cpus) if rule.nodes is None else f"node {rule.nodes}"
        for rule in plan.rules
    }


def memory(plan: Plan) -> Mapping[str, str]:
    return {str(one.subject): f"{one.policy} {one.nodes}".strip() for one in plan.memory}


def refusal(text: str | bytes, host: Machine = HOST, dialect: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        plan_in(text, host, dialect)
    return str(caught.value).removeprefix("file:")


def notes(plan: Plan) -> list[str]:
    return [note.removeprefix("file:") for note in plan.notes]


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ('{"bind_config": {}}', None),
        ('{"affinity_config": {"device_0": {"affinity_cpu_list": ["0-3"]}}}', "mindformers"),
        ("model: x\ncontext:\n  affinity_config:\n    device_0: {}\n", "mindformers"),
        ("torch:node", "torch"),
        ("# as started\ntorchrun --numa-binding=node x.py", "torch"),
        ("/opt/bin/msrun --bind_core=True x.py", "msrun"),
        ("export CPU_AFFINITY_CONF=1", "torch_npu"),
        ("VLLM_CPU_OMP_THREADS_BIND=0-3 vllm serve x", "vllm"),
        ("# ranks\nrank 0=host slot=0", "rankfile"),
        ("srun -n2 --cpu-bind=verbose,map_cpu:0,1 x", "slurm"),
        ("SLURM_CPU_BIND=quiet,mask_cpu:0x3", "slurm"),
        ("srun --cpu-bind=none numactl -C 0 x", "numactl"),
        ("LOCAL_RANK=0 taskset -c 0 x", "numactl"),
        ("# numactl -C 0 x", None),
        ("hello", None),
        ("", None),
    ],
)
def test_the_content_shows_the_dialect_whatever_the_name(text: str, dialect: str | None) -> None:
    assert dialect_of(text.encode()) == dialect


def test_numactl_lines_are_ranks_in_their_order_with_cpus_nodes_and_memory() -> None:
    plan = plan_in("numactl -C 0-3,8 -m 0 python x\nnumactl --cpunodebind=1 --interleave=all python x\n")
    assert given_cpus(plan) == {"device0 any": "0-3,8", "device1 any": "node 1"}
    assert memory(plan) == {"device0": "bind 0", "device1": "interleave 0-1"}
    assert (plan.dialect, plan.cpu_mode, str(plan.rules[1].place)) == ("numactl", "cpu", "file:2:23")


def test_a_comment_a_variable_or_a_case_label_names_the_device() -> None:
    text = """#!/bin/sh
    # device 5 (0000:3b:00.0)
    numactl --physcpubind 0 a
    LOCAL_RANK=2 numactl -l -N0 a
    case "$LOCAL_RANK" in
    3) exec numactl --preferred=1 -C 4 "$@" ;;
    9) exec taskset -c 6 "$@" ;;  # device 4 (0000:3c:00.0)
    esac
    """
    plan = plan_in(text)
    assert given_cpus(plan) == {"device5 any": "0", "device2 any": "node 0", "device3 any": "4", "device4 any": "6"}
    assert memory(plan) == {"device2": "local", "device3": "preferred 1"}


def test_taskset_takes_masks_lists_and_strides() -> None:
    assert given_cpus(plan_in("taskset 0xf0 a")) == {"device0 any": "4-7"}
    assert given_cpus(plan_in("/usr/bin/taskset --cpu-list 0-6:2,9 a")) == {"device0 any": "0,2,4,6,9"}
    assert given_cpus(plan_in("taskset ff,00000003 a")) == {"device0 any": "0-1,32-39"}
    assert plan_in("taskset -ac 0 a").dialect == "taskset"


def test_numactl_that_starts_taskset_binds_memory_and_these_cpus() -> None:
    plan = plan_in("numactl -m 1 -C 0-3 taskset -c 2 a")
    assert (given_cpus(plan), memory(plan)) == ({"device0 any": "2"}, {"device0": "bind 1"})
    assert notes(plan) == ["1:32: taskset comes after numactl: its CPUs hold"]


def test_relative_and_inverted_lists_are_of_the_allowed_cpus() -> None:
    host = HOST._replace(cpus=HOST.cpus._replace(allowed=HOST.cpus.online - HOST.nodes[0].cpus))
    plan = plan_in("numactl -C +0-1 a\nnumactl -C '!9-15' a", host)
    assert given_cpus(plan) == {"device0 any": "8-9", "device1 any": "8"}
    assert "relative to the cpuset: here 8-15" in notes(plan)[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("numactl -m 0 -i 1 a", "1:14: a second memory policy: numactl refuses that"),
        ("numactl --touch a", '1:9: numactl binds nothing with "--touch"'),
        ("numactl -C", '1:9: "-C" has no value behind it'),
        ("numactl -C 3-1 a", '1:12: the CPU list is "3-1": the range runs backwards'),
        ("numactl -m netdev:eth0 a", '1:12: "netdev:eth0": give node numbers'),
        ("taskset -p 0x1 700", "1:9: taskset -p binds a process that runs already"),
        ("taskset xyz a", '1:9: "xyz" is no mask'),
        ("taskset -c 0-3:0 a", '1:12: "0-3:0": a stride of 0'),
        ("taskset -c", "1:9: taskset has no CPUs behind it"),
        ("numactl -C 0 'a", "1:14: a quote or backslash of the command line is not closed"),
        ("# device 1\ntaskset -c 0 a\n# device 1\ntaskset -c 1 a", "4:1: device1 has a line already, line 2"),
        (b"taskset -c 0 \xff", "1:14: is not UTF-8"),
        (b"taskset -c 0 \0", "has a zero byte in it"),
    ],
)
def test_a_line_that_the_tool_itself_refuses(text: str | bytes, problem: str) -> None:
    assert problem in refusal(text)


def test_a_cpu_that_is_not_there_is_told_as_the_tool_takes_it() -> None:
    assert "numactl refuses the whole list" in notes(plan_in("numactl -C 12-19 a"))[0]
    assert "taskset leaves it out silently" in notes(plan_in("taskset -c 12-19 a"))[0]


def test_a_rankfile_names_logical_cores_with_all_their_threads() -> None:
    plan = plan_in("# from the cluster\nrank 0=node7 slot=0-1,3\nrank 1=node7 slots=1:0-1  # second\n", PAIRED)
    assert given_cpus(plan) == {"device0 any": "0-1,3,8-9,11", "device1 any": "4-5,12-13"}
    assert str(plan.rules[1].place) == "file:3:20"
    by_thread = plan_in("# --map-by rankfile:file=x:hwtcpus\nrank 0=a slot=0-1", PAIRED)
    assert given_cpus(by_thread) == {"device0 any": "0,8"}
    assert given_cpus(plan_in("rank 0=a slot=p9", PAIRED)) == {"device0 any": "1,9"}
    assert given_cpus(plan_in("rank 0=a slot=1:*", PAIRED)) == {"device0 any": "4-7,12-15"}


def test_only_the_first_host_of_a_rankfile_is_read_by_local_rank() -> None:
    plan = plan_in("rank 3=b slot=0\nrank 1=a slot=1\nrank 2=b slot=2\n")
    assert given_cpus(plan) == {"device0 any": "2", "device1 any": "0"}
    assert '2 hosts are named: only the ranks of "b" are read here' in notes(plan)[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rank 0=a slot=16", '1:15: "16": this machine has 16 of them, counted from 0'),
        ("rank 0=a slot=2:0", '1:15: "2:0": this machine has 2 packages, counted from 0'),
        ("rank 0=a slot=1:0:0", "hardware threads are given with hwtcpus"),
        ("rank 0=a slot=0\nrank 0=a slot=1", "2:1: rank 0 is there twice, first in line 1"),
        ("rank 0=a slot=0\nhost a", '2:1: "host a" is no line of a rankfile'),
        ("rank 0=a slot=3-1", '"3-1" runs backwards, did you mean "1-3"'),
        ("rank 0=a slot=x", '"x": expected cores such as 0-3'),
    ],
)
def test_a_rankfile_that_names_no_cores_of_this_machine(text: str, problem: str) -> None:
    assert problem in refusal(text)


def test_ranks_that_share_a_core_are_told_of() -> None:
    assert "mpirun refuses without overload-allowed" in notes(plan_in("rank 0=a slot=0-1\nrank 1=a slot=1"))[0]


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
        ("srun --cpu-bind=map_cpu:0,x a", '1:27: "x": expected a number such as 4'),
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


def test_torch_npu_mode_1_is_a_range_each_and_equal_slices_for_the_rest() -> None:
    plan = plan_in("export CPU_AFFINITY_CONF=1,npu1:2-3,npu1:6-6", NPUS)
    assert given_cpus(plan) == {"device0 any": "0-7", "device1 any": "2-3,6"}
    assert given_cpus(plan_in("CPU_AFFINITY_CONF=1,npu0:0-3")) == {"device0 any": "0-3"}
    assert "gives each NPU an equal slice, and no accelerator is seen here" in refusal("CPU_AFFINITY_CONF=1")


def test_torch_npu_mode_2_pins_the_hot_threads_to_the_first_cpus() -> None:
    plan = plan_in("CPU_AFFINITY_CONF=2,npu0:4-9,npu1:12-13", NPUS)
    assert given_cpus(plan) == {
        "device0 main": "4",
        "device0 name:acl_thread": "5",
        "device0 name:release_thread": "6",
        "device0 name:hccl_watchdog_t": "7",
        "device0 any": "8-9",
        "device1 any": "12-13",
    }
    assert "fewer than five: all its threads get all of them" in notes(plan)[0]


def test_torch_npu_binds_nobody_where_one_cpu_is_missing_unless_forced() -> None:
    assert "torch_npu then binds nobody, unless force:1" in notes(plan_in("CPU_AFFINITY_CONF=1,npu0:8-20"))[0]
    assert notes(plan_in("CPU_AFFINITY_CONF=1,npu0:8-20,force:1")) == []
    assert "it binds nothing" in refusal("CPU_AFFINITY_CONF=0")
    assert "expected 0 (off), 1" in refusal("CPU_AFFINITY_CONF=7,npu0:0-1")


def test_torch_npu_affine_takes_the_cpus_of_the_device_s_node() -> None:
    assert given_cpus(plan_in("CPU_AFFINITY_CONF=1,npu_affine:1", NPUS)) == {
        "device0 any": "0-7",
        "device1 any": "8-15",
    }


def test_vllm_pins_openmp_and_binds_memory_near_it() -> None:
    plan = plan_in("VLLM_CPU_OMP_THREADS_BIND='0-3|8-9' vllm serve m")
    assert given_cpus(plan) == {
        "device0 any": "0-3", "device0 omp": "0-3", "device1 any": "8-9", "device1 omp": "8-9",
    }  # fmt: skip
    assert memory(plan) == {"device0": "bind 0", "device1": "bind 1"}
    assert given_cpus(plan_in("0-1|2", dialect="vllm"))["device1 any"] == "2"
    assert "auto is computed by vLLM" in refusal("VLLM_CPU_OMP_THREADS_BIND=auto")
    assert "binds nothing" in refusal("VLLM_CPU_OMP_THREADS_BIND=nobind")


MINDFORMERS = """# a model
context:
  mode: 0  # graph
  affinity_config:
    device_0:
      affinity_cpu_list: ["4-7", "12"]
      module_to_cpu_dict:
        main: [0, 1]
        runtime: [2,
                  4, 9]
        bogus: [1]
    device_1: {affinity_cpu_list: ['8-9']}
  max_device_memory: "58GB"
"""


def test_mindformers_positions_count_in_the_device_s_own_list() -> None:
    plan = plan_in(MINDFORMERS)
    assert given_cpus(plan) == {"device0 main": "4-5", "device0 runtime": "6,12", "device1 main": "8-9"}
    assert (str(plan.rules[0].place), plan.fixed_actors) == ("file:8:15", False)
    assert notes(plan) == [
        "9:18: runtime of device_0: position 9 is beyond its 5 CPUs, MindSpore drops it",
        '11:9: MindSpore has no module "bogus" and ignores it',
    ]
    as_json = '{"context": {"affinity_config": {"device_2": {"affinity_cpu_list": ["0-1"]}}}}'
    assert given_cpus(plan_in(as_json)) == {"device2 main": "0-1"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("affinity_config: ./bind.json", 'names the file "./bind.json": give that file as the plan'),
        (
            "affinity_config:\n  device0:\n    a: 1",
            '2:3: "device0": expected "device_" and a number, did you mean "device_0"',
        ),
        ("affinity_config:\n  device_0: [1]", "device_0 is a list"),
        ("affinity_config:\n\tdevice_0: 1", "2:1: a tab indents this line"),
        ("affinity_config: &a\n  device_0: 1", "no anchors"),
        ("affinity_config:\n  device_0: {affinity_cpu_list: [0-3", "is not closed"),
        ("affinity_config:\n  device_0:\n    affinity_cpu_list: ['3-1']", "expected CPUs such as"),
        ("affinity_config:\n  device_0: {a: 1, a: 2}", "expected a key that is not there yet"),
    ],
)
def test_a_mindformers_setting_that_is_none(text: str, problem: str) -> None:
    assert problem in refusal(text)


OWN = """{"numascope": 1,
"bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "numa"},
"bind_cpu": {"device0": {"main": "0-1", "loader": "2-3", "name:NCCL*": "4", "any": {"nodes": 1}, "loadr": "9"}},
"bind_memory": {"device0": {"policy": "interleave", "nodes": "0-1"}}}"""


def test_the_own_json_names_any_role_nodes_and_policies() -> None:
    plan = plan_in(OWN)
    assert plan.dialect == "numascope"
    assert given_cpus(plan) == {
        "device0 main": "0-1", "device0 loader": "2-3", "device0 name:NCCL*": "4", "device0 any": "node 1",
    }  # fmt: skip
    assert memory(plan) == {"device0": "interleave 0-1"}
    assert notes(plan) == ['3:98: there is no role "loadr": it is ignored in device0, did you mean "loader"']


def test_without_its_key_the_same_is_mindspore_s_which_ignores_the_rest() -> None:
    text = (
        OWN.replace('"numascope": 1,\n', "")
        .replace('{"nodes": 1}', '"8"')
        .replace('{"policy": "interleave", "nodes": "0-1"}', "0")
    )
    plan = plan_in(text)
    assert (plan.dialect, given_cpus(plan)) == ("mindspore", {"device0 main": "0-1"})


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"numascope": 1', '"numascope": 2', '1:15: "numascope" is 2: this version reads 1'),
        ('"numascope": 1', '"numascope": true', "this version reads 1"),
        ('{"nodes": 1}', '{"node": 1}', 'expected CPUs such as "0-3", or {"nodes": 0}'),
        ('"interleave"', '"striped"', 'expected {"policy": "bind" or'),
        ('"policy": "interleave", ', '"policy": "local", ', 'without nodes for "local"'),
    ],
)
def test_the_own_json_says_what_it_takes(old: str, new: str, problem: str) -> None:
    assert problem in refusal(OWN.replace(old, new))


def test_a_dialect_that_is_forced_reads_what_content_would_not_show(tmp_path: Path) -> None:
    path = tmp_path / "bind"
    path.write_text("0-3|4-7")
    with pytest.raises(InputError, match="this is no bind plan"):
        read_given(str(path), HOST)
    assert read_given(str(path), HOST, dialect="vllm").dialect == "vllm"
    assert "is read as numascope and not as mindspore" in refusal(OWN, dialect="mindspore")


HOSTILE = st.sampled_from([
    "numactl", "taskset", "-C", "-c", "-m", "0-3", "+0", "!1", "0xff", "rank 0=a slot=", "rank ", "1:0-2", "p3", "*", "\n", " ", ",", "|", ":",
    "srun --cpu-bind=", "map_cpu:", "mask_cpu:", "map_ldom:", "0*9", "CPU_AFFINITY_CONF=", "1,npu0:", "npu1:3-1", "force:1",
    "VLLM_CPU_OMP_THREADS_BIND=", "affinity_config:", "\n  device_0:", "\n    affinity_cpu_list: ", "[", "]", "{", "}", "'", '"', "\\", "#", "; ",
    "-1", "99999999999", "é", "\t", "0-1000000000", "--",
])  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(st.lists(HOSTILE | st.text(max_size=4), max_size=12), st.sampled_from([None, *DIALECTS]))
def test_any_text_is_a_plan_or_one_error_on_one_line(pieces: list[str], dialect: str | None) -> None:
    try:
        told = plan_in("".join(pieces).encode(errors="surrogatepass"), NPUS, dialect).dialect
    except NumascopeError as error:
        told = str(error)
    assert told
    assert "\n" not in told


@pytest.mark.parametrize(
    "data",
    [
        b"taskset -c 0 a\n" * 100_000,
        b"rank 0=a slot=0\n" * 16_000,
        b"srun --cpu-bind=map_cpu:" + b"0," * 120_000,
        b"CPU_AFFINITY_CONF=1," + b"npu0:0-1," * 25_000,
        b"VLLM_CPU_OMP_THREADS_BIND=" + b"0|" * 120_000,
        b"affinity_config:" + b"\n  a:" * 40_000,
        b"affinity_config: " + b"[" * 100_000,
        b"numactl " + b"'" * 200_001,
        b"taskset " + b"f" * 200_000 + b" a",
        b"numactl -C " + b"0-65535," * 8_000 + b" a",
    ],
    ids=lambda data: bytes(data[:24]).decode(),
)
def test_a_file_without_end_is_refused_at_the_first_thing_that_is_wrong(data: bytes) -> None:
    with pytest.raises(NumascopeError):
        plan_in(data, NPUS)
