"""Notes of a dialect's reader become findings: with the rule that they belong to, and a remedy of their own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from plan_questions import NO_FACTS, checked_text, told
from shapes import Shape, machine

from numascope.plan.check.noted import noted
from numascope.plan.check.objects import CheckFinding
from numascope.plan.dialects.draft import Scene
from numascope.plan.given import read_plan
from numascope.plan.make.seats import given_seats
from numascope.plan.objects import Note, NoteKind, Place

SERVER = machine(Shape(2, 2, 2, 4), devices=(0, 2))
NUMACTL = "numactl -C 0-3 -m 0 a"
ODD = NoteKind("reading", "info", "mend it", told_by=("cpu-",))


def found_in(text: str, rule: str) -> list[CheckFinding]:
    return [one for one in checked_text(text, SERVER, NO_FACTS).findings if one.rule == rule]


def serious(text: str) -> list[tuple[str, str, str]]:
    return [one for one in told(checked_text(text, SERVER).findings) if one[1] != "info"]


def findings_of(*notes: Note, ruled: tuple[CheckFinding, ...] = ()) -> list[CheckFinding]:
    return list(noted(replace(read_plan("plan", NUMACTL.encode(), Scene(SERVER)), notes=notes), ruled))


def rule_at(rule: str, line: int) -> CheckFinding:
    return CheckFinding(rule, "error", (Place("plan", line, 1),), "", (), "")


def test_notes_with_the_same_remedy_are_one_finding_by_their_order_in_the_file() -> None:
    (found,) = findings_of(Note(Place("plan", 2, 1), "second", ODD), Note(Place("plan", 1, 7), "first", ODD))
    assert (found.rule, found.severity, found.remedy) == ("reading", "info", "mend it")
    assert (found.text, found.evidence) == ("first", ("line 2: second",))
    assert [str(one) for one in found.places] == ["plan:1:7", "plan:2:1"]


def test_notes_with_different_remedies_are_findings_of_their_own() -> None:
    other = ODD._replace(remedy="remove it")
    found = findings_of(Note(Place("plan", 1, 1), "one", ODD), Note(Place("plan", 1, 2), "other", other))
    assert [(one.text, one.remedy) for one in found] == [("one", "mend it"), ("other", "remove it")]


@pytest.mark.parametrize(("place", "shown"), [(None, "plan:1:1"), ("other", "other:1:1")])
def test_a_note_on_a_whole_file_is_told_of_its_beginning(place: str | None, shown: str) -> None:
    (found,) = findings_of(Note(place, "odd", ODD))
    assert ([str(one) for one in found.places], found.text) == ([shown], "odd")


def test_what_a_rule_on_the_machine_says_of_the_same_place_is_not_told_again() -> None:
    note = Note(Place("plan", 1, 1), "odd", ODD)
    assert findings_of(note, ruled=(rule_at("cpu-absent", 1),)) == []
    assert findings_of(note, ruled=(rule_at("cpu-absent", 2),)) != []
    assert findings_of(note, ruled=(rule_at("overlap", 1),)) != []


def test_a_kind_of_which_a_rule_speaks_at_another_place_is_not_told_again_either() -> None:
    note = Note(Place("plan", 1, 1), "odd", ODD._replace(anywhere=True))
    assert findings_of(note, ruled=(rule_at("cpu-absent", 2),)) == []
    assert findings_of(note, ruled=(rule_at("overlap", 2),)) != []


def test_a_kind_that_no_rule_speaks_of_is_always_told() -> None:
    note = Note(Place("plan", 1, 1), "odd", ODD._replace(told_by=()))
    assert findings_of(note, ruled=(rule_at("cpu-absent", 1),)) != []


def test_words_of_the_plan_itself_do_not_change_what_a_note_is() -> None:
    text = 'context:\n  affinity_config:\n    device_0:\n      "runs backwards": 1\n      affinity_cpu_list: ["0-3"]\n'
    (found,) = found_in(text, "unknown-key")
    assert (found.severity, found.text) == ("warning", '"runs backwards" of device_0 is not known')


def test_an_unknown_name_of_any_form_is_told_as_such_with_what_was_meant() -> None:
    own = '{"numascope": 1,\n "bind_config": {"bind_cpu_mode": "cpu"},\n "bind_cpu": {"device0": {"main": "0-3", "loadr": "4"}}}'
    (found,) = found_in(own, "unknown-key")
    assert (found.severity, found.places[0].line, found.places[0].column) == ("warning", 3, 42)
    assert 'did you mean "loader"' in found.text
    assert found.remedy == "mend its name, or remove it: it is ignored"


def test_cpus_that_are_not_there_are_told_once_by_the_rule_that_says_most() -> None:
    for text in (
        "numactl -C 0-3,40 -m 0 a", "taskset -c 0-3,40 a", "srun --cpu-bind=map_cpu:40 a",
        "VLLM_CPU_OMP_THREADS_BIND=0-3,40", "CPU_AFFINITY_CONF=1,npu0:30-40",
        "msrun --bind_core='{\"device0\":[\"0-40\"]}' a",
        'context:\n  affinity_config:\n    device_0:\n      affinity_cpu_list: ["0-3", "40"]\n',
    ):  # fmt: skip
        assert [rule for rule, _, _ in serious(text)] == ["cpu-absent"], text


def test_a_worker_of_msrun_that_nobody_names_is_unbound() -> None:
    (found,) = found_in('msrun --local_worker_num=2 --bind_core=\'{"device0":["0-3"]}\' a', "unbound")
    assert found.remedy == "give a key for each worker, in the order of the workers"


CORES = """--bind_core='{"device0":["0-3"],"device1":["16-19"]}'"""


def test_memory_that_msrun_binds_for_some_is_missing_for_the_others_once() -> None:
    line = f"""msrun --local_worker_num=2 {CORES} --bind_numa='{{"device0":["0"]}}' a"""
    assert serious(line) == [("mem-missing", "warning", "--bind_numa binds no memory for device1")]


def test_a_node_that_ends_msrun_is_told_beside_memory_that_is_missing() -> None:
    line = f"""msrun --local_worker_num=2 {CORES} --bind_numa='{{"device0":["0"],"device5":["7"]}}' a"""
    rules = {rule: text for rule, _, text in serious(line)}
    assert "mem-missing" in rules
    assert rules["reading"] == (
        "node 7 of device5 is not there or not allowed here: msrun ends with RuntimeError, whoever would get it"
    )


@pytest.mark.parametrize(
    ("text", "rule", "severity"),
    [
        ("numactl -C 3-1 a", "reading", "warning"),
        ('msrun --bind_numa=\'{"device0":["1-0"]}\' a', "reading", "warning"),
        ('msrun --bind_core=\'{"device0":["3-1"]}\' a', "crash", "error"),
    ],
)
def test_a_range_that_runs_backwards_ends_taskset_and_not_numactl(text: str, rule: str, severity: str) -> None:
    (found,) = [one for one in checked_text(text, SERVER).findings if "runs backwards" in one.text]
    assert (found.rule, found.severity, found.remedy) == (rule, severity, "write the smaller number first")


def test_a_device_of_unknown_node_is_no_unknown_key() -> None:
    npus = tuple(one._replace(kind="npu", node=None, claims=()) for one in SERVER.devices)
    found = checked_text("CPU_AFFINITY_CONF=1,npu_affine:1", SERVER._replace(devices=npus)).findings
    (one,) = [one for one in found if "node of device 0 is not known" in one.text]
    assert (one.rule, one.remedy) == ("reading", "say where it sits: --device 0=node:N")


def test_core_options_beside_a_bind_json_are_to_be_removed_and_its_null_to_be_emptied() -> None:
    document = '{"bind_config":{"bind_cpu_mode":"cpu"},"bind_cpu":{"device0":{"main":"0-3","runtime":null}}}'
    found = checked_text(f"msrun --bind_core='{{}}' --bind_numa='{document}' a", SERVER).findings
    remedies = {one.rule: one.remedy for one in found}
    assert (remedies["no-effect"], remedies["affinity-refuses"]) == ("remove it", 'write "" for no CPUs')


def test_what_torch_does_with_devices_that_the_user_does_not_name_is_told_with_how_to_hide_them() -> None:
    gpus = SERVER._replace(devices=tuple(one._replace(kind="gpu") for one in SERVER.devices))
    seats = given_seats(gpus, [f"0={gpus.devices[0].address}"])
    plan = read_plan("torch:node", b"torch:node", Scene(gpus, seats))
    (found,) = noted(plan, ())
    assert found.text.startswith("torch counts every device that it sees, 2 here")
    assert (found.severity, found.remedy) == ("info", "hide the others: CUDA_VISIBLE_DEVICES of the launcher")


def test_memory_that_a_device_does_not_bind_is_told_once_whatever_else_is_told_of_memory() -> None:
    own = """{"numascope": 1, "bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "numa"},
"bind_cpu": {"device0": {"main": "0-3"}, "device1": {"main": "4-7"}, "device2": {}}, "bind_memory": {"device0": 7}}"""
    memory = [one for one in checked_text(own, SERVER).findings if "device" in one.text and "emory" in one.text]
    assert sorted((one.rule, one.text) for one in memory) == [
        ("mem-absent", "memory of device0 is bound to node 7, which is not here"),
        ("mem-missing", '"bind_memory" has no "device1", and "bind_memory_mode" is "numa"'),
        ("reading", 'device2 has no entry in "bind_memory": its memory is not bound'),
    ]
