from __future__ import annotations

import json

import pytest
from plan_questions import document, question, rules, told
from shapes import GIB_KIB, Shape, machine

from numascope.cpuset import CpuSet
from numascope.plan.check.cpus import isolated_cpus, unusable_cpus, unusable_nodes
from numascope.plan.check.devices import far_devices, odd_devices
from numascope.plan.check.launch import launcher_refusals, linked_file
from numascope.plan.check.memory import bound_memory, missing_memory
from numascope.plan.check.objects import DeviceIrqs, HostFacts, JobFacts
from numascope.plan.check.overlap import scheduler_slice, shared_cpus
from numascope.plan.check.siblings import paired_cores, split_cores
from numascope.plan.check.spread import spread_roles
from numascope.plan.check.surroundings import device_interrupts, idle_cpus
from numascope.plan.check.threads import few_cpus
from numascope.plan.objects import HOT_ROLES

PLAIN = Shape(2, 2, 2, 4)
"""Two packages of two nodes, each of two L3s of four cores: node 0 is 0-7, node 1 is 8-15, node 2 is 16-23, node 3 is 24-31."""

THREADS = Shape(1, 2, 1, 4, threads=2)
"""Two nodes of four cores: the sibling of CPU c is c + 8."""

SERVER = machine(PLAIN, devices=(0, 2))


def one(**roles: str) -> bytes:
    return document({"device0": roles})


def test_cpus_that_are_not_there_end_msrun() -> None:
    found = unusable_cpus(question(one(main="0-7", runtime="30-33"), SERVER))
    assert told(found) == [("cpu-absent", "error", "2 CPUs of runtime of device0 are not on this machine: 32-33")]
    assert found[0].places[0].line == 9
    assert found[0].remedy == "plan CPUs of 0-31"
    assert "MindSpore ends before it starts anybody" in found[0].evidence


def test_offline_cpus_and_those_outside_the_cpuset_are_told_apart() -> None:
    cut = machine(PLAIN, offline="1")
    cut = cut._replace(cpus=cut.cpus._replace(allowed=CpuSet.parse("0-15") - CpuSet.parse("1")))
    found = unusable_cpus(question(one(main="0-1,16"), cut))
    assert told(found) == [
        ("cpu-offline", "error", "1 CPU of main of device0 is offline: 1"),
        ("cpu-denied", "error", "1 CPU of main of device0 is outside the cpuset: 16"),
    ]


def test_a_plan_within_what_may_be_used_has_no_such_finding() -> None:
    assert unusable_cpus(question(one(main="0-31"), SERVER)) == ()


def test_threads_of_a_set_pile_up_on_isolated_cpus_and_one_thread_each_does_not() -> None:
    apart = machine(PLAIN, isolated="4-7")
    found = isolated_cpus(question(one(main="0-4", runtime="5-7"), apart))
    assert told(found) == [
        ("cpu-isolated", "warning", "1 CPU of main of device0 is isolated: 4"),
        ("cpu-isolated", "info", "3 CPUs of runtime of device0 are isolated: 5-7"),
    ]


def test_nodes_that_are_not_there_or_have_no_cpu_are_errors() -> None:
    found = unusable_nodes(question(document({"device0": 7}, mode="numa"), SERVER))
    assert told(found) == [("node-absent", "error", "node 7 of device0 is not on this machine")]


def test_two_devices_on_one_cpu_overlap() -> None:
    found = shared_cpus(question(document({"device0": {"main": "0-4"}, "device1": {"main": "4-7"}}), SERVER))
    assert told(found) == [("overlap", "warning", "main of device1 and main of device0 share 1 CPU: 4")]
    assert found[0].evidence == ("the other is bind.json:8:12",)


def test_neighbours_do_not_overlap() -> None:
    assert shared_cpus(question(document({"device0": {"main": "0-3"}, "device1": {"main": "4-7"}}), SERVER)) == ()


def test_two_roles_of_one_device_overlap() -> None:
    assert rules(shared_cpus(question(one(main="0-3", runtime="3-5"), SERVER))) == [("overlap", "warning")]


def test_a_role_within_its_own_process_s_set_is_meant_to_share_it() -> None:
    whole = b'{"numascope": 1, "bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": {"omp": "0-1", "any": "%b"}}}'
    assert [found.severity for found in shared_cpus(question(whole % b"0-3", SERVER))] == ["info"]
    assert [found.severity for found in shared_cpus(question(whole % b"1-3", SERVER))] == ["warning"]


def test_devices_on_one_node_are_meant_to_share_it() -> None:
    found = shared_cpus(question(document({"device0": 1, "device1": 1}, mode="numa"), SERVER))
    assert rules(found) == [("overlap", "info")]


def test_the_scheduler_beside_a_device_is_a_note() -> None:
    plan = document({"device0": {"main": "0-3"}, "scheduler": {"main": "6-7"}})
    assert rules(scheduler_slice(question(plan, SERVER))) == [("slice", "info")]
    before = document({"device0": {"main": "2-3"}, "scheduler": {"main": "0-1"}})
    assert scheduler_slice(question(before, SERVER)) == ()


def test_a_core_split_between_devices_is_a_warning_and_within_one_a_note() -> None:
    two = machine(THREADS, devices=(0, 1))
    found = split_cores(question(document({"device0": {"main": "0-3"}, "device1": {"main": "8-11"}}), two))
    assert told(found) == [
        ("smt-split", "warning", "main of device0 and main of device1 have threads of 4 cores: CPUs 0,8, CPUs 1,9, CPUs 2,10, …")
    ]  # fmt: skip
    assert rules(split_cores(question(one(main="0", runtime="8"), two))) == [("smt-split", "info")]
    assert split_cores(question(one(main="0,8", runtime="1"), two)) == ()


def test_devices_that_share_a_whole_node_split_no_core() -> None:
    two = machine(THREADS, devices=(0, 1))
    assert split_cores(question(document({"device0": 1, "device1": 1}, mode="numa"), two)) == ()
    four = machine(Shape(1, 1, 1, 2, threads=4))
    assert split_cores(question(document({"device0": {"main": "0-7"}, "device1": {"main": "0-7"}}), four)) == ()


def test_both_threads_of_a_core_in_a_hot_role_are_a_note() -> None:
    two = machine(THREADS)
    assert told(paired_cores(question(one(main="0-1,8"), two))) == [
        ("smt-pair", "info", "main of device0 has all threads of 1 core: 0,8")
    ]
    assert paired_cores(question(one(main="0-1", minddata="2,10"), two)) == ()
    four = machine(Shape(1, 1, 1, 2, threads=4))
    assert told(paired_cores(question(one(main="1,5"), four))) == [
        ("smt-pair", "info", "main of device0 has several threads of 1 core: 1,3,5,7")
    ]


def test_a_role_is_told_by_its_widest_reach_where_one_part_would_hold_it() -> None:
    found = spread_roles(question(one(main="7,24", runtime="6,8", pynative="2-5"), SERVER))
    assert told(found) == [
        ("spread-package", "warning", "main of device0 reaches over 2 packages (0, 1), one would hold its 2 CPUs"),
        ("spread-node", "info", "runtime of device0 reaches over 2 nodes (0, 1), one would hold its 2 CPUs"),
        ("spread-l3", "info", "pynative of device0 reaches over 2 L3s (0-3, 4-7), one would hold its 4 CPUs"),
    ]


@pytest.mark.parametrize(("role", "severity"), [*((role, "warning") for role in HOT_ROLES), ("loader", "info")])
def test_the_roles_that_a_balanced_plan_takes_for_hot_are_hot_here_too(role: str, severity: str) -> None:
    own = {"numascope": 1, **json.loads(one(**{role: "7,24"}))}
    assert rules(spread_roles(question(json.dumps(own).encode(), SERVER))) == [("spread-package", severity)]


def test_a_role_that_no_smaller_part_holds_is_not_spread() -> None:
    assert spread_roles(question(one(main="0-7"), SERVER)) == ()
    assert rules(spread_roles(question(one(main="0-8"), SERVER))) == []
    assert spread_roles(question(one(main="0-31"), SERVER)) == ()


def test_memory_far_from_main_is_a_warning_and_beside_it_none() -> None:
    far = question(document({"device0": {"main": "0-7"}}, {"device0": 2}), SERVER)
    assert told(bound_memory(far)) == [
        ("mem-far", "warning", "memory of device0 is bound to node 2, its CPUs are on node 0, distance 24")
    ]
    near = question(document({"device0": {"main": "0-7"}}, {"device0": 0}), SERVER)
    assert bound_memory(near) == ()


def test_a_node_without_memory_or_without_cpus_is_refused() -> None:
    bare = SERVER.nodes[1]._replace(memory_kib=0)
    gpu = SERVER.nodes[0]._replace(id=4, cpus=CpuSet(), memory_kib=GIB_KIB)
    odd = SERVER._replace(nodes=(SERVER.nodes[0], bare, *SERVER.nodes[2:], gpu), nodes_allowed=None)
    plan = document({"device0": {"main": "0-7"}}, {"device0": "1,4", "device1": 9})
    errors = [text for _, severity, text in told(bound_memory(question(plan, odd))) if severity == "error"]
    assert errors == [
        "memory of device1 is bound to node 9, which is not here",
        "memory of device0 is bound to node 1, which has no memory",
        "memory of device0 is bound to node 4, which has no CPU",
    ]


def test_a_nearly_full_node_is_a_warning_where_its_page_cache_is_known() -> None:
    full = SERVER._replace(nodes=(SERVER.nodes[0]._replace(free_kib=GIB_KIB), *SERVER.nodes[1:]))
    plan = document({"device0": {"main": "0-7"}}, {"device0": 0})
    assert rules(bound_memory(question(plan, full))) == [("mem-full", "info")]
    assert rules(bound_memory(question(plan, full, HostFacts(cache_kib={0: GIB_KIB})))) == [("mem-full", "warning")]
    assert bound_memory(question(plan, full, HostFacts(cache_kib={0: 100 * GIB_KIB}))) == ()


def test_a_device_without_an_entry_among_others_that_have_one_is_told_what_to_add() -> None:
    plan = document({"device0": {"main": "0-7"}, "device1": {"main": "16-23"}}, {"device0": 0})
    found = missing_memory(question(plan, SERVER))
    assert rules(found) == [("mem-missing", "warning")]
    assert found[0].remedy == 'add "device1": 2'
    assert rules(missing_memory(question(document({"device0": {"main": "0-7"}}, {}), SERVER))) == [
        ("mem-missing", "info")
    ]


def test_far_devices_that_would_both_gain_are_told_to_swap() -> None:
    plan = document({"device0": {"main": "16-19"}, "device1": {"main": "0-3"}})
    found = far_devices(question(plan, SERVER))
    assert rules(found) == [("dev-far", "info")]
    assert found[0].text == "device0 runs on node 2, its device 0000:00:00.0 is near node 0: distance 24"
    assert found[0].remedy == "swap the CPUs of device0 and device1: each comes nearer"
    assert len(found[0].places) == 2


def test_a_device_on_its_own_node_is_not_far() -> None:
    assert far_devices(question(one(main="0-3", minddata="8-11"), SERVER)) == ()


def test_a_device_above_the_last_npu_is_refused_and_one_that_is_not_named_is_a_note() -> None:
    found = odd_devices(question(document({"device0": {"main": "0"}, "device5": {"main": "1"}}), SERVER))
    assert told(found) == [
        ("dev-absent", "error", "device5 is not on this machine, which has devices 0-1"),
        ("dev-missing", "info", "1 device of this machine is not in the plan: 1"),
    ]


def test_a_pynative_list_below_four_is_read_past_its_end() -> None:
    assert rules(few_cpus(question(one(main="0-3", pynative="4-6"), SERVER))) == [("few-queues", "error")]
    assert few_cpus(question(one(main="0-3", pynative="4-7"), SERVER)) == ()


def test_too_few_cpus_for_the_actors_are_a_warning_where_idle_cores_would_do() -> None:
    found = few_cpus(question(one(main="4", runtime="0-2"), SERVER))
    assert told(found) == [
        ("few-actors", "warning", "runtime of device0 has 3 CPUs for 5 threads, which take one each in turn")
    ]
    assert found[0].evidence == ("on CPU 0: the first actor, resize_queue",)
    full = question(one(main="4-7", runtime="0-2", minddata="3"), SERVER)
    assert rules(few_cpus(full)) == [("few-actors", "info")]
    assert few_cpus(question(one(main="5-7", runtime="0-4"), SERVER)) == ()


def test_loaders_and_openmp_s_team_are_counted_against_the_cpus_that_they_inherit() -> None:
    asked = question(one(main="0-3", minddata="4-7"), SERVER)._replace(threads={"loader": 6, "omp": 4})
    assert told(few_cpus(asked)) == [
        ("few-cpus", "warning", "loader threads run in minddata of device0, 4 CPUs for 6 threads")
    ]


def test_a_live_job_s_openmp_variable_is_counted() -> None:
    job = JobFacts(7, "mindspore", None, None, None, None, None, ranks=1, omp_threads=8)
    found = few_cpus(question(one(main="0-3"), SERVER, job=job))
    assert found[0].evidence == ("8 by OMP_NUM_THREADS of the job",)


def test_numactl_refuses_what_its_launcher_may_not_use_and_taskset_does_not() -> None:
    narrow = CpuSet.parse("0-3")
    bound = question(document({"device0": {"main": "0-7"}}, {"device0": 0}), SERVER)._replace(mask=narrow)
    assert told(launcher_refusals(bound)) == [
        ("numactl-refuses", "error", "numactl refuses CPUs 4-7 of main of device0: its launcher may not use them")
    ]
    assert launcher_refusals(question(one(main="0-7"), SERVER)._replace(mask=narrow)) == ()


def test_a_link_is_a_note_where_the_job_itself_reads_the_file() -> None:
    linked = HostFacts(is_link=True)
    assert rules(linked_file(question(one(main="0", runtime="1"), SERVER, linked))) == [("symlink", "info")]
    assert linked_file(question(one(main="0"), SERVER, linked)) == ()


def test_idle_cpus_are_listed_and_those_beside_a_hot_role_apart() -> None:
    found = idle_cpus(question(one(main="0-3"), machine(THREADS)))
    assert found[0].text == "8 CPUs are in no role: 4-7,12-15"
    assert found[0].evidence == ("4 CPUs idle beside a role on their core: 8-11",)
    assert idle_cpus(question(one(main="0-31"), SERVER)) == ()


def test_interrupts_of_a_device_on_a_planned_cpu_are_told_with_its_role() -> None:
    irqs = (DeviceIrqs("0000:00:00.0", {40: CpuSet.parse("2"), 41: CpuSet.parse("9"), 42: CpuSet.parse("0-31")}),)
    found = device_interrupts(question(one(main="0-3"), SERVER, HostFacts(irqs=irqs)))
    assert told(found) == [("irq", "info", "1 interrupt of device 0 (0000:00:00.0) goes to CPU 2 of main of device0")]
    assert found[0].evidence == ("IRQ 40",)
