from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import NUMA, cpus, loaded, notes, read, refusal, with_cpus, with_memory

from numascope.cpuset import CpuSet
from numascope.errors import InputError
from numascope.plan.load import parse_plan
from numascope.plan.notes import MOST_NOTES
from numascope.plan.objects import SCHEDULER, MemoryRule, Place, Plan, Rule, Subject
from numascope.plan.ranges import LONGEST_LIST


def test_reads_a_plan_that_msrun_ran(shared: Path) -> None:
    path = str(shared / "data" / "mindspore" / "bind2.json")
    plan = loaded(path)
    device = Subject(1)
    assert (plan.path, plan.dialect, plan.cpu_mode, plan.memory_mode) == (path, "mindspore", "cpu", "numa")
    assert plan.fixed_actors
    assert plan.subjects() == (Subject(0), device, SCHEDULER)
    assert plan.rules[-1] == Rule(device, "minddata", CpuSet.parse("0"), Place(path, 6, 60))
    assert plan.memory[-1] == MemoryRule(device, CpuSet.parse("0"), Place(path, 8, 44))
    assert plan.notes == ()


def test_an_error_says_what_was_found_where_and_what_was_meant() -> None:
    text = '{\n "bind_config": {"bind_cpu_mode": "cpu"},\n "bind_cpu": {\n  "device3": {\n   "runtime": "5-2"\n}}}'
    assert refusal(text) == '5:15: "runtime" of device3 is "5-2": the range runs backwards, did you mean "2-5"'


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('"0-4"', "0-4"),
        ('"0,2,4"', "0,2,4"),
        ('"0-3,8-11"', "0-3,8-11"),
        ('" 0 - 1 , 3 "', "0-1,3"),
        ('"0,0-1"', "0-1"),
        ('"8,0"', "0,8"),
        ("3", "3"),
    ],
)
def test_cpu_lists_are_strings_or_one_number(written: str, expected: str) -> None:
    assert cpus(read(with_cpus(f'{{"device0": {{"runtime": {written}}}}}'))) == {"device0 runtime": expected}


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ('"1-0"', 'is "1-0": the range runs backwards, did you mean "0-1"'),
        ('"0,7-5"', 'is "0,7-5": in "7-5" the range runs backwards, did you mean "5-7"'),
        ('"0,"', 'is "0,": there is a comma too many, expected a number on each side of a comma'),
        ('"0,,1"', 'is "0,,1": there is a comma too many, expected a number on each side of a comma'),
        ('"0-1:2"', 'is "0-1:2": a range has no stride here, expected each number, such as "0,2,4"'),
        ('"-1"', 'is "-1": the number is negative, expected 0 or more'),
        ("-1", "is -1: expected a number from 0 to 65535"),
        ('"65536"', 'is "65536": the number is too large, expected 0 to 65535'),
        ('"٣"', 'is "٣": expected numbers and ranges such as "0-3,8"'),
        ('"0-"', 'is "0-": expected numbers and ranges such as "0-3,8"'),
        ('"0 1"', 'is "0 1": expected numbers and ranges such as "0-3,8"'),
        ('["0"]', 'is a list: expected a CPU list in quotes such as "0-3,8"'),
        ('{"a": 1}', 'is an object: expected a CPU list in quotes such as "0-3,8"'),
        ("true", 'is true: expected a CPU list in quotes such as "0-3,8"'),
        ("1.5", 'is 1.5: expected a CPU list in quotes such as "0-3,8"'),
    ],
)
def test_a_wrong_cpu_list_is_named_with_its_mending(written: str, problem: str) -> None:
    assert refusal(with_cpus(f'{{"device0": {{"main": {written}}}}}')) == f'2:34: "main" of device0 {problem}'


def test_the_length_of_a_list_is_bounded() -> None:
    text = with_cpus(json.dumps({"device0": {"main": "0," * LONGEST_LIST}}))
    assert refusal(text).endswith("the list is over 65536 characters, expected ranges")


@pytest.mark.parametrize("written", ['{"main": ""}', '{"main": " "}', '{"main": null}', "null", "{}"])
def test_empty_and_null_bind_nothing(written: str) -> None:
    assert read(with_cpus(f'{{"device0": {written}}}')).rules == ()


def test_a_null_module_is_noted() -> None:
    expected = (
        '2:37: "runtime" of device0 is null: msrun takes it as no CPUs, set_cpu_affinity ends the rank with ValueError'
    )
    assert notes(with_cpus('{"device0": {"runtime": null}}')) == [expected]
    assert notes(with_cpus('{"scheduler": {"main": null}}')) == [
        '2:36: "main" of scheduler is null: msrun takes it as no CPUs'
    ]


def test_a_number_as_main_is_read_and_noted() -> None:
    one, zero = (with_cpus(f'{{"device0": {{"main": {number}}}}}') for number in (1, 0))
    assert cpus(read(one)) == {"device0 main": "1"}
    (note,) = notes(one)
    assert note.startswith('2:34: "main" of device0 is the number 1: msrun stops with an error, the scheduler stays')
    assert note.endswith('write "1" in quotes')
    assert notes(zero) == [
        '2:34: "main" of device0 is the number 0: msrun leaves the process unbound, write "0" in quotes'
    ]


def test_a_number_as_another_module_is_fine() -> None:
    assert notes(with_cpus('{"device0": {"runtime": 1}}')) == []


def test_an_unknown_module_is_noted_and_ignored() -> None:
    text = with_cpus('{"device0": {"mian": "0", "gpu": "1", "runtime": "2"}}')
    assert cpus(read(text)) == {"device0 runtime": "2"}
    assert notes(text) == [
        '2:26: MindSpore has no module "mian" and ignores it in device0, did you mean "main"',
        '2:39: MindSpore has no module "gpu" and ignores it in device0',
    ]


def test_an_unknown_module_is_still_judged() -> None:
    assert refusal(with_cpus('{"device0": {"foo": "5-2"}}')).startswith('2:33: "foo" of device0 is "5-2": the range')


def test_device_n_is_a_device_too() -> None:
    assert cpus(read(with_cpus('{"device_1": {"main": "0"}, "device_02": {"main": "1"}}'))) == {
        "device1 main": "0",
        "device2 main": "1",
    }


@pytest.mark.parametrize(
    ("section", "place"),
    [
        ('{"device0": {"main": "1"},\n"device_0": {"main": "0"}}', "2:14"),
        ('{"device_0": {"main": "0"},\n"device0": {"main": "1"}}', "3:1"),
    ],
)
def test_the_underscore_wins_where_both_are_there(section: str, place: str) -> None:
    winner = 3 if place == "2:14" else 2
    assert cpus(read(with_cpus(section))) == {"device0 main": "0"}
    assert notes(with_cpus(section)) == [f"{place}: device0 is there twice: MindSpore takes the one in line {winner}"]


def test_leading_zeros_match_nobody() -> None:
    text = with_cpus('{"device00": {"main": "0"}}')
    assert read(text).rules == ()
    assert notes(text) == ['2:14: "device00" never matches a worker, did you mean "device0"']


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("gpu0", ', such as "device0"'),
        ("Device0", ', did you mean "device0"'),
        ("device-3", ', did you mean "device3"'),
        ("schedule", ', did you mean "scheduler"'),
        ("device", ""),
        ("", ""),
    ],
)
@pytest.mark.parametrize("mode", ["cpu", "none"])
def test_a_wrong_key_is_refused_in_every_mode(key: str, meant: str, mode: str) -> None:
    config = f'{{"bind_cpu_mode": "{mode}", "bind_memory_mode": "{mode.replace("cpu", "numa")}"}}'
    expected = f'"{key}" in "%s": expected "scheduler" or "device" and a number{meant}'
    assert refusal(with_cpus(f'{{"{key}": 0}}', config)) == f"2:14: {expected % 'bind_cpu'}"
    assert refusal(with_memory(f'{{"{key}": 0}}', config)) == f"2:17: {expected % 'bind_memory'}"


def test_a_hostile_key_is_made_safe() -> None:
    assert refusal(with_cpus(r'{"\u001b[2J": 0}')).startswith(r'2:14: "\x1b[2J" in "bind_cpu"')


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (with_cpus('["0"]'), '2:13: "bind_cpu" is a list: expected an object such as {"device0": …}'),
        (
            with_cpus('{"device0": "0-1"}'),
            '2:25: device0 is "0-1": expected an object such as {"main": "0-7"} (bind_cpu_mode is "cpu")',
        ),
        (
            with_cpus('{"device0": {"main": "0"}}', NUMA),
            '2:25: device0 is an object: expected a node such as 0 or "0-1" (bind_cpu_mode is "numa")',
        ),
        (
            with_cpus('{"device0": true}', NUMA),
            '2:25: device0 is true: expected a node such as 0 or "0-1" (bind_cpu_mode is "numa")',
        ),
        (
            with_memory('{"device0": [0]}'),
            '2:28: device0 in "bind_memory" is a list: expected a node such as 0 or "0-1"',
        ),
        (
            with_memory('{"device0": false}'),
            '2:28: device0 in "bind_memory" is false: expected a node such as 0 or "0-1"',
        ),
        (
            with_memory('{"device0": "1-0"}'),
            '2:28: device0 in "bind_memory" is "1-0": the range runs backwards, did you mean "0-1"',
        ),
    ],
)
def test_a_section_of_the_wrong_kind_is_refused(text: str, problem: str) -> None:
    assert refusal(text) == problem


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ("null", '1:17: "bind_config" is null: expected an object such as {"bind_cpu_mode": "cpu"}'),
        (
            '{"bind_cpu_mode": "cpus"}',
            '1:35: "bind_cpu_mode" is "cpus": expected "cpu", "numa" or "none", did you mean "cpu"',
        ),
        ('{"bind_cpu_mode": 1}', '1:35: "bind_cpu_mode" is 1: expected "cpu", "numa" or "none"'),
        ('{"bind_memory_mode": "cpu"}', '1:38: "bind_memory_mode" is "cpu": expected "numa" or "none"'),
        ('{"actor_thread_fix_bind": "yes"}', '1:43: "actor_thread_fix_bind" is "yes": expected true or false'),
        ('{"actor_thread_fix_bind": null}', '1:43: "actor_thread_fix_bind" is null: expected true or false'),
    ],
)
def test_a_wrong_setting_is_refused(config: str, problem: str) -> None:
    assert refusal(f'{{"bind_config": {config}}}') == problem


def test_unknown_keys_are_noted_with_the_nearest_known() -> None:
    assert notes('{"bind_config": {"bind_cpu_mod": "none"},\n"bind_cpus": 1, "comment": 2}') == [
        '2:1: MindSpore does not know the key "bind_cpus" and ignores it, did you mean "bind_cpu"',
        '2:17: MindSpore does not know the key "comment" and ignores it',
        '1:18: MindSpore does not know the setting "bind_cpu_mod" and ignores it, did you mean "bind_cpu_mode"',
    ]


def test_the_number_of_notes_is_bounded() -> None:
    modules = json.dumps({f"m{number}": "" for number in range(MOST_NOTES + 7)})
    found = notes(with_cpus(f'{{"device0": {modules}}}'))
    assert len(found) == MOST_NOTES + 1
    assert found[-1] == " 7 more notes, left out here"


def test_a_byte_order_mark_is_noted() -> None:
    plan = parse_plan("bind.json", b'\xef\xbb\xbf{"bind_config": {}}')
    assert [*map(str, plan.notes)] == [
        "bind.json:1:1: the file begins with a byte order mark, which msrun refuses: save it without"
    ]


def test_the_hash_of_the_text_does_not_depend_on_line_ends() -> None:
    """MindSpore hashes the text as Python's text mode reads it, so that a CRLF file has two hashes."""
    unix, dos = b'{\n"bind_config": {}\n}', b'{\r\n"bind_config": {}\r\n}'
    plan = parse_plan("bind.json", dos)
    assert plan.sha256 == hashlib.sha256(dos).hexdigest()
    assert plan.text_sha256 == hashlib.sha256(unix).hexdigest()


@given(st.sets(st.integers(0, 8191), min_size=1), st.integers(0, 999))
def test_what_numascope_prints_it_reads_back(ids: set[int], device: int) -> None:
    plan = read(with_cpus(json.dumps({f"device{device}": {"main": str(CpuSet.of(ids))}})))
    assert [(rule.subject, rule.cpus) for rule in plan.rules] == [(Subject(device), CpuSet.of(ids))]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(("0-3", "numa", "cpu", "")),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(("device0", "device_0", "scheduler", "main", "runtime", "x")), inner, max_size=3
        )
    ),
    max_leaves=8,
)
CONFIGS = st.fixed_dictionaries(
    {}, optional={"bind_cpu_mode": st.sampled_from(("cpu", "numa", "none")), "bind_memory_mode": st.just("numa")}
)


@given(st.fixed_dictionaries({"bind_config": CONFIGS | JSON}, optional={"bind_cpu": JSON, "bind_memory": JSON}))
def test_any_document_is_a_plan_or_one_error_with_a_place(document: object) -> None:
    plan = plan_or_error(json.dumps(document))
    if isinstance(plan, InputError):
        assert plan.line == 1
        assert plan.column is not None
    else:
        assert all(rule.cpus or rule.nodes for rule in plan.rules)
        assert all(rule.nodes for rule in plan.memory)


def plan_or_error(text: str) -> Plan | InputError:
    try:
        return read(text)
    except InputError as failure:
        return failure
