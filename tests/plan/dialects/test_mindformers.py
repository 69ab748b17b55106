from __future__ import annotations

from collections.abc import Mapping

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from plan.dialects.reading import HOST, given_cpus, notes, plan_in, refusal
from plan_questions import checked_text

from numascope.observe.roles import Role
from numascope.plan.dialects import yaml_part
from numascope.plan.json_reader import Value
from numascope.plan.objects import Subject
from numascope.plan.owners import owners_of
from numascope.plan.reasons import why_cpu
from numascope.plan.resolve import PYNATIVE_QUEUES, Member, resolve

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
        '11:9: MindSpore has no module "bogus" and ignores it',
        "9:18: runtime of device_0: position 9 is beyond its 5 CPUs, MindSpore drops it",
    ]
    as_json = '{"context": {"affinity_config": {"device_2": {"affinity_cpu_list": ["0-1"]}}}}'
    assert given_cpus(plan_in(as_json)) == {"device2 main": "0-1"}


def test_the_setting_is_the_one_below_context_wherever_else_its_name_stands() -> None:
    text = "train:\n  affinity_config: {device_5: {affinity_cpu_list: ['1']}}\n" + MINDFORMERS
    assert given_cpus(plan_in(text)).keys() == {"device0 main", "device0 runtime", "device1 main"}
    below_another = "train:\n  affinity_config: {device_5: {affinity_cpu_list: ['1']}}\n"
    assert '1:1: has no "affinity_config" below "context"' in refusal(below_another)


def test_anchors_aliases_and_merge_keys_mean_what_yaml_has_them_mean() -> None:
    text = """
common: &modules
  main: [0]
  runtime: &runtime [1, 2]
context:
  affinity_config: &all
    device_0: &first
      affinity_cpu_list: ["0-3"]
      module_to_cpu_dict: {<<: *modules, main: [3]}
    device_1:
      <<: *first
      affinity_cpu_list: ["8-11"]
    device_2: {affinity_cpu_list: ["4-7"], module_to_cpu_dict: {minddata: *runtime}}
"""
    plan = plan_in(text)
    assert given_cpus(plan) == {
        "device0 main": "3", "device0 runtime": "1-2", "device1 main": "11", "device1 runtime": "9-10", "device2 minddata": "5-6",
    }  # fmt: skip
    assert [str(rule.place) for rule in plan.rules[:2]] == ["file:9:48", "file:4:12"]


@pytest.mark.parametrize(
    ("rest", "problem"),
    [
        ("", None),
        ("a: !!binary aGVsbG8=\nb: 2024-01-01\nc: 0x1F\nd: 1e3\n", None),
        ("path: 'C:\\new'\nlong: |\n  two\tparts\n\n  of it\n", None),
        ("twice: 1\ntwice: 2\n", None),
        (
            "a: {{ model }}\n",
            "1:5: YAML's own loader does not read this: while constructing a mapping found unhashable key",
        ),
        ("{% if x %}\na: 1\n", "1:2: YAML's own loader does not read this"),
        (
            "a: !cls x\n",
            "1:4: YAML's own loader does not read this: could not determine a constructor for the tag '!cls'",
        ),
        ("a: !!python/object/apply:os.system ['x']\n", "could not determine a constructor"),
        ("a:\n\tb: 1\n", "2:1: YAML's own loader does not read this: while scanning for the next token"),
        ("a: 2024-13-01\n", '1:4: YAML\'s own loader does not read "2024-13-01" as timestamp'),
        ("a: !!int x\n", '1:4: YAML\'s own loader does not read "x" as int'),
        ("a: !!bool x\n", "as bool"),
        ("a: !!float ''\n", "as float"),
        ("a: !!timestamp x\n", "as timestamp"),
        ("a: *b\n", "1:4: YAML's own loader does not read this: found undefined alias"),
        ("a: &b [*b]\n", "1:8: *b is part of what it stands for"),
        ("a: \x07\n", "1:4: a character that YAML does not have"),
        ("--- 1\n---\n", "2:1: YAML's own loader does not read this: expected a single document"),
    ],
)
def test_the_rest_of_the_file_stops_nobody_but_where_yaml_itself_would_stop(rest: str, problem: str | None) -> None:
    text = rest + MINDFORMERS
    if problem is None:
        assert len(plan_in(text).rules) == 3
    else:
        assert problem in refusal(text, dialect="mindformers")


def test_lists_positions_and_modules_are_judged_as_mindspore_judges_them() -> None:
    one = "affinity_config:\n  device_0:\n    affinity_cpu_list: {}\n    module_to_cpu_dict: {}\n"
    assert given_cpus(plan_in(one.format("['4-7,2', '9']", "{main: [4, true]}"))) == {"device0 main": "2,5"}
    assert 'MindSpore takes texts only, write "12"' in refusal(one.format("['0-3', 12]", "null"))
    assert "expected CPUs such as" in refusal(one.format("['0 - 3']", "null"))
    assert "4:36: -1 in main of device_0: expected positions from 0" in refusal(
        one.format("['0-3']", "{main: [0, -1]}")
    )
    assert "1.5 in other of device_0: expected positions" in refusal(one.format("['0-3']", "{other: [1.5]}"))
    assert notes(plan_in(one.format("['0-3']", "{}"))) == [
        "4:25: module_to_cpu_dict of device_0 names no module: MindSpore binds nobody"
    ]
    plan = plan_in(one.format("['3-1,4', '7']", "{main: [1]}"))
    assert given_cpus(plan) == {"device0 main": "7"}
    assert notes(plan) == ['3:25: "3-1" in affinity_cpu_list of device_0: MindSpore takes it as no CPU']
    for nothing in ("[]", "null"):
        plan = plan_in(one.format(nothing, "{main: [0]}"))
        assert (plan.rules, notes(plan)) == (
            (), ["3:5: device_0 has no affinity_cpu_list: MindSpore computes its CPUs when it starts"],
        )  # fmt: skip
    assert (
        "CPU 99 of device_0 is not there or not allowed here: MindSpore ends with an error"
        in notes(plan_in(one.format("['99']", "null")))[0]
    )


def test_keys_that_mindformers_lets_pass_but_never_looks_up_are_for_nobody() -> None:
    plan = plan_in(
        "affinity_config:\n  device_00: {affinity_cpu_list: ['0']}\n  npu_1: {affinity_cpu_list: ['1']}\n  device_2:\n"
    )
    assert plan.rules == ()
    assert notes(plan)[:2] == [
        '2:3: MindFormers looks for device_0, device_1 and so on: no rank reads "device_00"',
        '3:3: MindFormers looks for device_0, device_1 and so on: no rank reads "npu_1"',
    ]
    assert "device_2 has no affinity_cpu_list" in notes(plan)[2]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("affinity_config: ./bind.json", 'names the file "./bind.json": give that file as the plan'),
        (
            "affinity_config:\n  device0:\n    a: 1",
            '2:3: "device0": expected "device_" and a number, did you mean "device_0"',
        ),
        ("affinity_config:\n  device_0: [1]", "device_0 is a list"),
        ("affinity_config:", "1:17: affinity_config names no device: MindSpore computes all CPUs"),
        ("affinity_config: true", "affinity_config is true: expected device_0"),
        ("affinity_config: .nan", "affinity_config is NaN: expected device_0"),
        ("affinity_config:\n  device_0: {affinity_cpu_list: [0-3", "expected ',' or ']'"),
        ("affinity_config:\n  ? [device_0]\n  : 1", "found unhashable key"),
        ("affinity_config: !!set {device_0}", 'the tag "tag:yaml.org,2002:set": write plain keys and lists'),
        (
            "context: 1\ncontext:\n  affinity_config: {device_0: {}}",
            '2:1: the key "context" is there twice, first in line 1',
        ),
        ("affinity_config: {}\naffinity_config: {}", '2:1: the key "affinity_config" is there twice, first in line 1'),
        (
            "x: &x {a: 1, a: 2}\naffinity_config:\n  device_0:\n    <<: *x",
            '1:14: the key "a" is there twice, first in line 1',
        ),
        ("affinity_config:\n  device_0:\n    affinity_cpu_list: ['3-70000']", "expected CPUs such as"),
        ("affinity_config:\n  device_0: {module_to_cpu_dict: [1]}", "module_to_cpu_dict of device_0 is a list"),
        ("affinity_config:\n  device_0: {module_to_cpu_dict: {main: 3}}", "main of device_0 is 3: expected a list"),
        ("affinity_config:\n  device_0: {a: 1, a: 2}", '2:20: the key "a" is there twice, first in line 2'),
    ],
)
def test_a_mindformers_setting_that_is_none(text: str, problem: str) -> None:
    assert problem in refusal(text)


LETTERS = st.characters(exclude_characters="\x85\u2028\u2029", exclude_categories=["Cs"])
"""Without the line breaks that the dumper itself does not bring through libyaml."""
SCALARS = st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(LETTERS, max_size=6)
KEYS = st.text(LETTERS, min_size=1, max_size=6)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


def plain(value: Value | None) -> object:
    """The value without its places."""
    assert value is not None
    if isinstance(value.data, tuple):
        return [plain(one) for one in value.data]
    if isinstance(value.data, Mapping):
        return {key: plain(entry.value) for key, entry in value.data.items()}
    return value.data


@settings(deadline=None)
@given(VALUES, st.sampled_from([None, False, True]), st.booleans())
def test_a_setting_is_read_as_pyyaml_itself_reads_it(value: object, flow: bool | None, shared: bool) -> None:
    document = {"other": [value] if shared else 1, "context": {"mode": 0, "affinity_config": value}}
    text = yaml.safe_dump(document, default_flow_style=flow, allow_unicode=True)
    assert plain(yaml_part.read_setting("p", text, ("context", ""), "affinity_config")) == value
    assert yaml.safe_load(text) == document


NESTED = "affinity_config: &a0 [x]\n" + "".join(f"b{at}: &a{at} [[[[*a{at - 1}]]]]\n" for at in range(1, 9))
LAUGHS = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"b{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]\n" for at in range(1, 12)
)
MERGES = "a: &a0 {x: 1}\n" + "".join(
    f"b{at}: &a{at} {{<<: [{', '.join([f'*a{at - 1}'] * 10)}]}}\n" for at in range(1, 12)
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("affinity_config: " + "[" * 100_000, "nest"),
        ("affinity_config: " + "{a: " * 60_000, "nested deeper than 32 levels"),
        ("affinity_config:\n" + "".join(" " * at + "a:\n" for at in range(1, 600)), "nested deeper than 32 levels"),
        (NESTED, "nested deeper than 32 levels"),
        (LAUGHS, "more than 20000 keys and values"),
        (MERGES, "more than 20000 keys and values"),
        ("affinity_config: [" + "1," * 120_000, "more than 20000 keys and values"),
        ("affinity_config: " + "9" * 200_000, "200000 characters that are no text"),
        ("affinity_config: " + "1:" * 100_000 + "1", "200001 characters that are no text"),
        ("affinity_config:" + "\n  device_{}: {affinity_cpu_list: ['0-65535']}" * 4, "is there twice"),
        ("affinity_config: {device_0: {affinity_cpu_list: ['0-1000000000']}}", "expected CPUs such as"),
        (
            "affinity_config:" + "".join(f"\n  device_{at}: {{affinity_cpu_list: ['0-65535']}}" for at in range(100)),
            "more than 65536 CPUs in all",
        ),
        ("affinity_config: {device_0: {affinity_cpu_list: ['" + "0," * 60_000 + "']}}", "expected CPUs such as"),
    ],
    ids=lambda one: one[:40] if isinstance(one, str) else "",
)
@pytest.mark.parametrize("loader", [yaml.SafeLoader, yaml_part._LOADER])
def test_a_hostile_file_ends_at_the_first_thing_that_is_too_much(
    text: str, problem: str, loader: type[yaml.SafeLoader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_part, "_LOADER", loader)
    assert problem in refusal(text, dialect="mindformers")


def test_positions_out_of_order_and_repeated_are_taken_as_they_are_written() -> None:
    """As MindSpore 2.10 did: frontend_queue on CPU 1, backend_queue on 0, bprop_queue on 0."""
    text = '{"affinity_config": {"device_0": {"affinity_cpu_list": ["4-7"], "module_to_cpu_dict": {"pynative": [1, 0, 1, 0]}}}}'
    plan = plan_in(text)
    assert given_cpus(plan) == {"device0 pynative": "4-5"}
    queues = [Member(name, Role("pynative", "named", ""), is_main=False, in_top=True) for name in PYNATIVE_QUEUES]
    found = resolve(plan, HOST, Subject(0), "mindspore", queues, None)
    assert [str(one.cpus) for one in found if one is not None] == ["5", "4", "5", "4"]
    assert "few-queues" not in {one.rule for one in checked_text(text, HOST).findings}
    owners = owners_of(plan, HOST, ())
    assert [one for one in why_cpu(owners, 5) if "position" in one] == [
        "by position 0 it holds frontend_queue",
        "by position 2 it holds launch_queue",
    ]
