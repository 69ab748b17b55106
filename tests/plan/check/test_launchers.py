"""The same mistake in every form: what its launcher makes of it, and what to write instead."""

from __future__ import annotations

import pytest
from plan_questions import checked, checked_text, document, rules, told
from shapes import Shape, machine

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.machine.quirks import implicit_node
from numascope.plan.check.objects import CheckFinding, HostFacts

PLAIN = Shape(2, 2, 2, 4)
SERVER = machine(PLAIN, devices=(0, 2))


def one(text: str, rule: str, of: Machine = SERVER, host: HostFacts | None = None) -> CheckFinding:
    """The finding of that rule, which is there once."""
    (found,) = [finding for finding in checked_text(text, of, host or HostFacts()).findings if finding.rule == rule]
    return found


REFUSAL = "numactl refuses the whole list, and the rank ends with its usage text"


@pytest.mark.parametrize(
    ("text", "severity", "outcome"),
    [
        ("numactl -C 0-3,40 a", "error", REFUSAL),
        ("taskset -c 0-3,40 a", "warning", "the kernel leaves them out silently"),
        ("taskset -c 40 a", "error", "nothing is left: the kernel refuses (EINVAL), and the rank does not start"),
        ("srun --cpu-bind=map_cpu:40 a", "error", "srun ends the step: CPU binding outside of job step allocation"),
        ("VLLM_CPU_OMP_THREADS_BIND=0-3,40", "error", "vLLM ends: it pins a thread to each CPU of the list"),
        ("CPU_AFFINITY_CONF=1,npu0:30-40", "warning", "torch_npu then binds nobody, of no device, unless force:1 is given"),
        ("CPU_AFFINITY_CONF=1,npu0:30-40,force:1", "warning", "the kernel leaves them out silently"),
        ("msrun --bind_core='{\"device0\":[\"0-40\"]}' a", "error", "MindSpore ends before it starts anybody"),
        ('{"affinity_config": {"device_0": {"affinity_cpu_list": ["0-40"]}}}', "error", "set_cpu_affinity ends the program with RuntimeError"),
        ('{"numascope": 1, "bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": {"any": "0-40"}}}', "error",
         "numascope run refuses it unless --fallback is given, MindSpore ends"),
    ],
)  # fmt: skip
def test_a_cpu_that_is_not_there(text: str, severity: str, outcome: str) -> None:
    found = one(text, "cpu-absent")
    assert (found.severity, found.evidence[-1]) == (severity, outcome)
    assert found.remedy == "plan CPUs of 0-31"


def test_an_offline_cpu_is_in_the_mask_that_numactl_looks_at() -> None:
    """As numactl 2.0.16 did on kernel 6.1: it goes on with the CPUs that are left, and fails where none is."""
    lame = machine(PLAIN, offline="3")
    assert one("numactl -C 2-3 a", "cpu-offline", lame).severity == "warning"
    assert one("numactl -C 3 a", "cpu-offline", lame).severity == "error"


def test_numactl_is_held_against_its_launcher_s_mask_by_cpus_and_not_by_nodes() -> None:
    """`taskset -c 0-1 numactl -C 0-3` fails, `taskset -c 0-1 numactl -N 1` does not."""
    narrow = CpuSet.parse("0-1")
    by_cpus = checked_text("numactl -C 0-3 -m 0 a", SERVER, mask=narrow).findings
    assert told(by_cpus)[0] == (
        "numactl-refuses",
        "error",
        "numactl refuses CPUs 2-3 of device0: its launcher may not use them",
    )
    assert "numactl-refuses" not in dict(rules(checked_text("numactl -N 1 -m 1 a", SERVER, mask=narrow).findings))
    assert "numactl-refuses" not in dict(rules(checked_text("taskset -c 0-3 a", SERVER, mask=narrow).findings))


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("numactl -C 0-3 a\nnumactl -C 3-5 a", "numascope plan make --policy balanced --to numactl"),
        ("rank 0=h slot=0-3\nrank 1=h slot=3-5", "numascope plan make --policy balanced --to rankfile"),
        ("VLLM_CPU_OMP_THREADS_BIND=0-3|3-5", "numascope plan make --policy balanced --to vllm"),
    ],
)
def test_cpus_of_two_ranks_are_parted_by_a_plan_of_the_same_form(text: str, command: str) -> None:
    found = one(text, "overlap")
    assert (found.severity, found.remedy) == ("warning", f"give each its own CPUs: {command} does")


def test_ranks_on_one_whole_node_are_meant_to_share_it_and_on_one_list_of_cpus_are_not() -> None:
    assert one("taskset -c 0-7 a\ntaskset -c 0-7 a", "overlap").severity == "info"
    assert one("taskset -c 0-5 a\ntaskset -c 0-5 a", "overlap").severity == "warning"
    mains = (
        '{"affinity_config": {"device_0": {"affinity_cpu_list": ["%s"]}, "device_1": {"affinity_cpu_list": ["%s"]}}}'
    )
    assert one(mains % ("0-7", "0-7"), "overlap").severity == "info"
    assert one(mains % ("0-7", "0-6"), "overlap").severity == "warning"


def test_an_offline_cpu_that_two_ranks_name_is_no_overlap() -> None:
    lame = machine(PLAIN, offline="3")
    assert "overlap" not in dict(rules(checked_text("taskset -c 0-3 a\ntaskset -c 3-5 a", lame).findings))


def test_memory_on_a_node_that_is_not_there_is_not_far_as_well() -> None:
    found = checked_text("numactl -C 0-3 -m 9 a", SERVER).findings
    assert [rule for rule, severity in rules(found) if severity != "info"] == ["mem-absent"]
    assert one("numactl -C 0-3 -m 9 a", "mem-absent").evidence == (
        "numactl refuses it, and the rank ends with its usage text",
    )


def test_far_memory_is_told_where_it_belongs() -> None:
    found = one("numactl -C 0-3 -m 2 a\nnumactl -C 16-19 -m 0 a", "mem-far")
    assert found.remedy == "bind memory where the CPUs are: device0 to node 0, device1 to node 2"


def test_memory_of_a_node_without_cpus_is_a_note_for_the_cpus_that_are_nearest_to_it() -> None:
    server = machine(PLAIN, devices=(0, 2))
    hbm = server.nodes[0]._replace(id=4, cpus=CpuSet(), distances={0: 13, 1: 23, 2: 33, 3: 33, 4: 10})
    nodes = tuple(node._replace(distances={**node.distances, 4: hbm.distances[node.id]}) for node in server.nodes)
    server = server._replace(nodes=(*nodes, hbm), nodes_allowed=None)
    assert one("numactl -N 0 -m 4 a", "mem-far", server).severity == "info"
    assert one("numactl -N 1 -m 4 a", "mem-far", server).severity == "warning"


def test_what_mindspore_refuses_is_told_beside_a_warning_of_the_same_place() -> None:
    bare = SERVER._replace(nodes=(SERVER.nodes[0], SERVER.nodes[1]._replace(memory_kib=0), *SERVER.nodes[2:]))
    found = checked(document({"device0": 0, "device1": 1}, {"device0": 0}, mode="numa"), bare).findings
    assert [one for one in rules(found) if one[1] != "info"] == [("refused", "error"), ("mem-missing", "warning")]


def test_more_ranks_than_devices_are_a_note_where_ranks_are_told_by_their_order() -> None:
    assert one("taskset -c 0 a\ntaskset -c 1 a\ntaskset -c 2 a", "dev-absent").severity == "info"
    assert one("msrun --bind_core='{\"device0\":[\"0\"],\"device1\":[\"1\"],\"device2\":[\"2\"]}' a", "dev-absent").severity == "warning"  # fmt: skip


def test_queues_and_actors_are_counted_wherever_mindspore_binds_them() -> None:
    lists = '{"affinity_config": {"device_0": {"affinity_cpu_list": ["0-7"], "module_to_cpu_dict": {"pynative": [0, 1], "runtime": [4, 5]}}}}'
    assert one(lists, "few-queues").severity == "error"
    assert one(lists, "few-actors").text == "runtime of device0 has 2 CPUs for 5 threads, which share them"


def test_of_torch_npu_s_slices_those_that_are_named_are_held_against_each_other() -> None:
    """Device 1 would get CPUs 16-31 where it is not named; whether a rank is started there is not said."""
    assert "overlap" not in dict(rules(checked_text("CPU_AFFINITY_CONF=1,npu0:16-23", SERVER).findings))
    assert "overlap" not in dict(rules(checked_text("CPU_AFFINITY_CONF=npu0:16-23,1", SERVER).findings))
    assert one("CPU_AFFINITY_CONF=1,npu0:0-15,npu1:15-31", "overlap").text == "device1 and device0 share 1 CPU: 15"
    assert [one[2] for one in told(checked_text("CPU_AFFINITY_CONF=1", SERVER).findings) if one[0] == "dev-far"] == []


def test_a_tool_that_is_not_installed() -> None:
    bare = HostFacts(tools={"numactl": False, "taskset": False})
    assert one("numactl -C 0-3 a", "tool-missing", host=bare).severity == "error"
    assert one("torchrun --numa-binding=node a", "tool-missing", host=bare).severity == "error"
    bound = one('msrun --bind_core=\'{"device0":["0-3"]}\' a', "tool-missing", host=bare)
    assert (bound.severity, bound.text) == ("warning", "taskset is not installed")
    assert "tool-missing" not in dict(rules(checked_text("rank 0=h slot=0-3", SERVER, bare).findings))


def test_without_cgroup_v1_msrun_s_lists_and_set_cpu_affinity_bind_nobody() -> None:
    modern = HostFacts(has_v1_cpuset=False)
    assert one('msrun --bind_core=\'{"device0":["0-3"]}\' a', "cgroup-v1", host=modern).severity == "info"
    by_node = checked_text('msrun --bind_numa=\'{"device0":["0"]}\' a', SERVER, modern)
    assert "cgroup-v1" not in dict(rules(by_node.findings))


def test_each_isolated_cpu_of_vllm_s_list_has_its_thread() -> None:
    apart = machine(PLAIN, isolated="2-3")
    assert one("VLLM_CPU_OMP_THREADS_BIND=0-3", "cpu-isolated", apart).severity == "info"
    assert one("numactl -C 0-3 a", "cpu-isolated", apart).severity == "warning"


def test_lines_of_several_tools_are_each_held_to_their_own() -> None:
    """As the programs did under `taskset -c 0`: taskset goes past the mask of its launcher, `numactl --all` too."""
    narrow = CpuSet.parse("0-1")
    for line in ("numactl -m 0 taskset -c 0-3 a", "numactl --all -C 0-3 a", "numactl -l a; taskset -c 0-3 b"):
        assert "numactl-refuses" not in dict(rules(checked_text(line, SERVER, mask=narrow).findings)), line
    both = "numactl -m 0 taskset -c 0-3 a\nnumactl -C 16-19 b"
    refused = [
        finding for finding in checked_text(both, SERVER, mask=narrow).findings if finding.rule == "numactl-refuses"
    ]
    assert [str(place) for finding in refused for place in finding.places] == ["plan:2:12"]
    absent = [
        finding
        for finding in checked_text("numactl -C 0,40 a\ntaskset -c 1,41 b", SERVER).findings
        if finding.rule == "cpu-absent"
    ]
    assert [(finding.severity, finding.evidence[-1]) for finding in absent] == [
        ("error", REFUSAL),
        ("warning", "the kernel leaves them out silently"),
    ]


def test_each_tool_that_a_line_needs_is_looked_for() -> None:
    bare = HostFacts(tools={"numactl": True, "taskset": False})
    assert one("numactl -m 0 taskset -c 0-3 a", "tool-missing", host=bare).text == "taskset is not installed"
    bare = HostFacts(tools={"numactl": False, "taskset": True})
    assert one("numactl -m 0 taskset -c 0-3 a", "tool-missing", host=bare).text == "numactl is not installed"


def test_a_kernel_without_nodes_ends_numactl_and_what_msrun_would_do_by_it() -> None:
    flat = machine(Shape(1, 1, 1, 8))
    flat = flat._replace(notes=(implicit_node(),))
    assert one("numactl -C 0-3 a", "node-absent", flat).severity == "error"
    assert one("numactl -m 0 taskset -c 0-3 a", "node-absent", flat).places[0].column == 12
    assert "node-absent" not in dict(rules(checked_text("taskset -c 0-3 a", flat).findings))
    by_node = one('msrun --bind_numa=\'{"device0":["0"]}\' a', "node-absent", flat)
    assert (by_node.severity, by_node.text) == (
        "warning", "this kernel has no NUMA nodes: msrun then binds nobody by --bind_numa, and says so in its log",
    )  # fmt: skip
    found = checked(document({"device0": 0}, mode="numa"), flat)
    assert found.outcome == (
        "refuse it before it starts anybody: the kernel tells of no node with CPUs and memory (RuntimeError)"
    )
    assert checked(document({"device0": {"main": "0-3"}}), flat).outcome == "accept it, bind 1 rank at the start"
