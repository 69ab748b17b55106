from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan.dialects.reading import HOST, NPUS, given_cpus, memory, notes, plan_in, refusal

from numascope.errors import InputError, NumascopeError
from numascope.plan.dialects.detect import DIALECTS, dialect_of
from numascope.plan.given import read_given


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
        ("srun --cpu-bind=MAP_CPU:0 taskset -c 0 x", "slurm"),
        ("srun --cpu-bind=cores x", "slurm"),
        ("context: {mode: 0, 'affinity_config': {device_0: {}}}", "mindformers"),
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
    assert notes(plan) == ['1:32: two tools in this line bind to CPUs: the second one\'s hold, not "0-3"']


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
        b"VLLM_CPU_OMP_THREADS_BIND=0" + b";a" * 100_000,
        b"srun --cpu-bind=map_cpu:0 " + b"-n " * 80_000,
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
