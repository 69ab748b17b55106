"""What MindSpore takes without a word and does not do."""

from __future__ import annotations

import json

from plan_questions import rules

from numascope.cpuset import CpuSet
from numascope.plan.check.judged import View
from numascope.plan.check.mindspore import outcome_words, silent_faults
from numascope.plan.check.msrun_judge import judge
from numascope.plan.check.objects import CheckFinding
from numascope.plan.json_reader import read_json

VIEW = View(CpuSet.parse("0-7"), CpuSet.parse("0"))
CPU = {"bind_cpu_mode": "cpu", "actor_thread_fix_bind": True}


def silent(plan: object) -> tuple[CheckFinding, ...]:
    document = read_json("bind.json", json.dumps(plan).encode())
    return silent_faults("bind.json", document, judge(document, VIEW))


def devices(**entries: object) -> tuple[CheckFinding, ...]:
    return silent({"bind_config": CPU, "bind_cpu": entries})


def test_a_sound_plan_has_none() -> None:
    assert devices(device0={"main": "0-3", "runtime": "4"}, scheduler={"main": "5"}) == ()


def test_an_unknown_name_is_told_with_the_nearest_known_one_on_each_level() -> None:
    found = silent(
        {
            "bind_config": {**CPU, "bind_mem_mode": "numa"},
            "bind_cpu": {"device0": {"main": "0", "runtme": "1"}},
            "bind_memroy": {},
        }
    )
    assert rules(found) == [("unknown-key", "warning")]
    assert found[0].text == 'MindSpore does not know the setting "bind_mem_mode", did you mean "bind_memory_mode"'
    assert any('"runtme", did you mean "runtime"' in line for line in found[0].evidence)
    assert any('"bind_memroy", did you mean "bind_memory"' in line for line in found[0].evidence)
    assert len(found[0].places) == 3


def test_the_number_zero_for_main_binds_nobody() -> None:
    found = devices(device0={"main": 0})
    assert rules(found) == [("unbound", "warning")]
    assert found[0].text == '"main" of device0 is the number 0: msrun takes it as none'


def test_null_and_empty_entries_bind_nobody() -> None:
    found = devices(device0=None, device1={}, device2={"main": ""}, device3={"foo": "1"})
    assert ("unbound", "warning") in rules(found)
    assert len(next(one for one in found if one.rule == "unbound").places) == 4


def test_a_device_with_leading_zeros_never_matches() -> None:
    found = devices(device00={"main": "0"})
    assert found[0].text == '"device00" never matches a worker, did you mean "device0"'


def test_modules_without_main_are_a_note() -> None:
    assert rules(devices(device0={"runtime": "0"})) == [("no-main", "info")]


def test_the_underscored_device_wins_wherever_it_stands() -> None:
    found = devices(device_0={"main": "0"}, device0={"main": "1"})
    assert rules(found) == [("twice", "warning")]


def test_sections_that_their_mode_switches_off_have_no_effect() -> None:
    found = silent({"bind_config": {}, "bind_cpu": {"device0": {"main": "0"}}, "bind_memory": {"device0": 0}})
    assert rules(found) == [("no-effect", "warning")]
    assert rules(silent({"bind_config": {}})) == [("no-effect", "warning")]


def test_an_empty_object_is_accepted_and_binds_nobody() -> None:
    assert rules(silent({})) == [("unbound", "warning")]
    document = read_json("bind.json", b"{}")
    assert outcome_words(judge(document, VIEW)) == "accept it, and bind nobody"


def test_actors_share_their_cpus_unless_it_is_said() -> None:
    found = silent({"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": {"main": "0", "runtime": "1-5"}}})
    assert rules(found) == [("actors-shared", "info")]
