"""The modes of a unified bind JSON: CPUs, whole nodes, memory, none."""

from __future__ import annotations

from plans import CPU, NUMA, notes, read, refusal, with_cpus, with_memory

from numascope.cpuset import EMPTY, CpuSet
from numascope.plan.objects import SCHEDULER, MemoryRule, Place, Rule, Subject


def test_without_bind_config_it_is_no_unified_json() -> None:
    assert refusal('\n{"bind_cpu": {"device0": {"main": "0"}}}') == (
        '2:1: there is no "bind_config", so this is no unified bind JSON: expected such as '
        '{"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": {"main": "0-7"}}}'
    )


def test_modes_are_read_in_any_case_and_default_to_none() -> None:
    upper = read('{"bind_config": {"bind_cpu_mode": "CPU", "bind_memory_mode": "NUMA"}, "bind_cpu": {"device0": null}}')
    absent = read('{"bind_config": {}}')
    assert (upper.cpu_mode, upper.memory_mode) == ("cpu", "numa")
    assert (absent.cpu_mode, absent.memory_mode, absent.fixed_actors) == ("none", "none", False)


def test_actors_are_fixed_only_by_true() -> None:
    assert read('{"bind_config": {"actor_thread_fix_bind": true}}').fixed_actors
    assert not read('{"bind_config": {"actor_thread_fix_bind": false}}').fixed_actors


def test_numa_mode_binds_the_whole_process_to_nodes() -> None:
    plan = read(with_cpus('{"device0": 1, "device1": "2-3", "device2": null, "scheduler": "0"}', NUMA))
    assert plan.rules == (
        Rule(Subject(0), "any", EMPTY, Place("bind.json", 2, 25), CpuSet.parse("1")),
        Rule(Subject(1), "any", EMPTY, Place("bind.json", 2, 39), CpuSet.parse("2-3")),
        Rule(SCHEDULER, "any", EMPTY, Place("bind.json", 2, 76), CpuSet.parse("0")),
    )


def test_spaces_behind_a_node_break_numactl_and_those_before_do_not() -> None:
    assert notes(with_cpus('{"device0": "0, 1"}', NUMA)) == []
    assert notes(with_cpus('{"device0": "0 - 1"}', NUMA)) == [
        '2:25: device0 is "0 - 1": msrun hands that on to numactl, which fails, remove its spaces'
    ]


def test_an_empty_text_for_a_node_breaks_numactl_too() -> None:
    assert notes(with_cpus('{"device0": ""}', NUMA)) == [
        '2:25: device0 is "": msrun hands that on to numactl, which fails, leave it out, or write null'
    ]


def test_a_mode_of_null_is_none() -> None:
    plan = read(with_cpus('{"device0": {"main": "0"}}', '{"bind_cpu_mode": null}'))
    assert (plan.cpu_mode, plan.rules) == ("none", ())
    assert plan.notes[0].text.endswith('"bind_cpu_mode" is null, which MindSpore takes as "none"')


def test_a_section_that_is_no_object_is_refused_only_where_its_mode_is_on() -> None:
    assert read('{"bind_config": {}, "bind_cpu": [1]}').rules == ()
    assert refusal('{"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": null}').startswith('1:55: "bind_cpu" is null')


def test_memory_is_a_number_or_a_list_of_nodes() -> None:
    plan = read(with_memory('{"device0": 0, "device_1": "0-1,3", "device2": "", "device3": null}'))
    assert plan.memory == (
        MemoryRule(Subject(0), CpuSet.parse("0"), Place("bind.json", 2, 28)),
        MemoryRule(Subject(1), CpuSet.parse("0-1,3"), Place("bind.json", 2, 43)),
    )


def test_a_device_without_memory_is_noted_and_the_scheduler_is_not() -> None:
    config = '{"bind_cpu_mode": "cpu", "bind_memory_mode": "numa"}'
    sections = '"bind_cpu": {"scheduler": null, "device0": null, "device1": null}, "bind_memory": {"device0": 0}'
    assert notes(f'{{"bind_config": {config},\n{sections}}}') == [
        '2:50: device1 has no entry in "bind_memory": its memory is not bound'
    ]


def test_mode_none_leaves_the_section_without_effect() -> None:
    cpu, memory = with_cpus('{"device0": {"main": "0"}}', "{}"), with_memory('{"device0": 0}', "{}")
    assert read(cpu).rules == ()
    assert read(memory).memory == ()
    assert notes(cpu) == ['2:1: "bind_cpu" has no effect: "bind_cpu_mode" is "none"']
    assert notes(memory) == ['2:1: "bind_memory" has no effect: "bind_memory_mode" is "none"']


def test_a_mode_without_a_section_is_noted() -> None:
    assert notes(f'{{"bind_config": {CPU}}}') == [
        '1:2: "bind_cpu_mode" is "cpu", but "bind_cpu" is empty: nothing is bound'
    ]
