from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numascope.cpuset import CpuSet
from numascope.errors import InputError
from numascope.plan.dialects.msrun_options import Available, Options, read_msrun_options
from numascope.plan.dialects.words import Word
from numascope.plan.objects import Plan

TWO = '{"scheduler": ["0"], "device0": ["0-3"], "device1": ["8,9", "4-5"]}'


def read(core: str | None = None, numa: str | None = None, workers: int | None = None) -> Plan:
    return read_msrun_options("line", Options(value(core), value(numa), workers))


def value(text: str | None) -> Word | None:
    return None if text is None else Word(text, 1, 1)


def bound(plan: Plan) -> dict[str, str]:
    found = {
        str(rule.subject): f"cpus {rule.cpus}" if rule.nodes is None else f"nodes {rule.nodes}" for rule in plan.rules
    }
    for rule in plan.memory:
        found[str(rule.subject)] += f", memory {rule.nodes}"
    return found


def notes(plan: Plan) -> list[str]:
    return [str(note) for note in plan.notes]


def refusal(core: str) -> str:
    with pytest.raises(InputError) as caught:
        read(core)
    return str(caught.value).removeprefix("line:")


def test_each_key_binds_the_whole_process_of_its_worker() -> None:
    plan = read(TWO)
    assert bound(plan) == {"device0": "cpus 0-3", "device1": "cpus 4-5,8-9", "scheduler": "cpus 0"}
    assert {rule.role for rule in plan.rules} == {"any"}
    assert str(plan.rules[0].place) == "line:1:33"
    assert (plan.dialect, plan.cpu_mode, plan.memory_mode, plan.notes) == ("msrun", "cpu", "none", ())


def test_nodes_bind_memory_and_cpus_and_cpus_of_the_other_option_win() -> None:
    assert bound(read(None, '{"device0": ["1"]}')) == {"device0": "nodes 1, memory 1"}
    both = read('{"device0": ["0-3"]}', '{"scheduler": ["0"], "device0": ["1"]}')
    assert bound(both) == {"device0": "cpus 0-3, memory 1", "scheduler": "nodes 0, memory 0"}


@pytest.mark.parametrize("text", ['{"device1": ["1"], "device0": ["0"]}', '{"device1": ["1"]}', '{"device02": ["1"]}'])
def test_keys_that_are_not_in_the_order_of_workers_bind_nobody(text: str) -> None:
    plan = read(text)
    assert bound(plan) == {}
    assert "msrun matches keys by their order" in plan.notes[0].text


def test_keys_and_workers_of_different_number() -> None:
    assert bound(read(TWO, workers=1)) == {"device0": "cpus 0-3", "scheduler": "cpus 0"}
    assert notes(read(TWO, workers=1)) == ["line:1:42: device1 is beyond the 1 workers: nobody gets it"]
    assert notes(read(TWO, workers=4)) == ["line:1:42: --bind_core has no key for worker 2-3, and binds nothing there"]


@pytest.mark.parametrize("text", ["{}", "false", "False", '{"device0": []}', '{"device0": ["5-2"]}'])
def test_what_msrun_lets_pass_and_binds_nobody_with(text: str) -> None:
    assert bound(read(text)) == {}


def test_leading_zeros_match_a_worker_here() -> None:
    assert bound(read('{"device00": ["1"]}')) == {"device0": "cpus 1"}


def test_a_range_that_runs_backwards_ends_taskset_and_is_cut_by_numactl() -> None:
    assert notes(read('{"device0": ["5-2"]}')) == [
        'line:1:14: "5-2" runs backwards: msrun hands it on, and taskset ends the rank there, did you mean "2-5"'
    ]
    assert "numactl takes its first number alone" in read(None, '{"device0": ["1-0"]}').notes[0].text


def test_an_empty_list_is_how_a_process_is_left_out() -> None:
    plan = read('{"scheduler": [], "device0": [], "device1": ["20-29", "40-49"]}')
    assert bound(plan) == {"device1": "cpus 20-29,40-49"}
    assert [note.text.partition("is how")[2] for note in plan.notes] == [" msrun is told to leave it unbound"] * 2


def test_any_blank_within_a_text_is_let_pass() -> None:
    assert bound(read('{"device0": ["\\t4 -\\n5 "]}')) == {"device0": "cpus 4-5"}


@pytest.mark.parametrize("text", [" true", "true "])
def test_true_with_a_blank_is_no_object(text: str) -> None:
    assert refusal(text).endswith('is true: expected true, false or an object such as {"device0": ["0-7"]}')


def test_visible_devices_are_sorted_and_keys_name_them() -> None:
    options = Options(value('{"device3": ["0"], "device5": ["1"], "device7": ["2"]}'), visible=(3, 5))
    plan = read_msrun_options("line", options)
    assert bound(plan) == {"device3": "cpus 0", "device5": "cpus 1"}
    assert notes(plan) == ["line:1:38: device7 is beyond the 2 workers: nobody gets it"]
    assert bound(read_msrun_options("line", Options(value(TWO), visible=(3, 5)))) == {"scheduler": "cpus 0"}


def test_every_number_is_checked_even_one_that_nobody_gets() -> None:
    available = Available(CpuSet.span(0, 3), CpuSet.span(0, 0))
    plan = read_msrun_options(
        "line", Options(value('{"device1": ["2-4"]}'), value('{"scheduler": ["1"]}')), available=available
    )
    assert [note for note in notes(plan) if "RuntimeError" in note] == [
        "line:1:13: CPU 4 of device1 is not there or not allowed here: msrun ends with RuntimeError, whoever would get it",
        "line:1:15: node 1 of scheduler is not there or not allowed here: msrun ends with RuntimeError, whoever would get it",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"device0":"0-1"}', '1:12: device0 is "0-1": expected a list of texts such as ["0-3"] (CPU numbers)'),
        ('{"device_0":["0"]}', '1:2: "device_0": expected "scheduler" or "device" and a number, did you mean "device0"'),
        ('{"dev0":["0"]}', '1:2: "dev0": expected "scheduler" or "device" and a number, did you mean "device0"'),
        ('{"device0":["0-1,3"]}', '1:13: device0 holds "0-1,3": expected one range "0-3", or numbers "0,2,4", in each text'),
        ('{"device0":[0]}', '1:13: device0 holds 0: expected a text such as "0-3" (CPU numbers)'),
        ('{"device0":[""]}', '1:13: device0 holds "": expected one range "0-3", or numbers "0,2,4", in each text'),
        ("[1]", '1:1: --bind_core is a list: expected true, false or an object such as {"device0": ["0-7"]}'),
        ("1", '1:1: --bind_core is 1: expected true, false or an object such as {"device0": ["0-7"]}'),
        ("yes", '1:1: --bind_core: found "yes": expected a value'),
        ("{'device0':['0']}", """1:2: --bind_core: found "'": expected a key in double quotes (JSON has no single quotes)"""),
        ('{"bind_cpu":{"x":1}}', "1:1: --bind_core is the unified bind JSON: write it to a file, and give --bind_numa=FILE"),
        ('{"device0":["0-999999999"]}', '1:13: device0 holds "0-999999999": the number is too large, expected 0 to 65535'),
    ],
)  # fmt: skip
def test_what_msrun_refuses_is_refused_with_its_place(text: str, problem: str) -> None:
    assert refusal(text) == problem


def test_true_needs_the_machine_that_msrun_would_ask() -> None:
    with pytest.raises(InputError, match=r"^line:1:1: --bind_core is true, which msrun computes from the machine"):
        read("true")
    plan = read_msrun_options("line", Options(value("True"), None, 2), {0: CpuSet.span(0, 3), 1: CpuSet.span(4, 7)})
    assert bound(plan) == {"device0": "cpus 0-3", "device1": "cpus 4-7"}


def test_three_thousand_devices_are_read_and_a_hundred_thousand_are_refused() -> None:
    many = "{" + ",".join(f'"device{at}":["{at}"]' for at in range(3_000)) + "}"
    assert len(read(many).rules) == 3_000
    with pytest.raises(InputError, match="more than 10000 values"):
        read("{" + ",".join(f'"device{at}":["{at}"]' for at in range(100_000)) + "}")


KEYS = st.sampled_from(["scheduler", "device0", "device1", "device2", "device_0", "device01", "gpu0"]) | st.text(
    max_size=4
)
PIECES = (
    st.sampled_from(["0-3", "1,2", "5-2", "", "0-1,3", " 4 - 5 ", "70000", "7"]) | st.text(max_size=4) | st.integers()
)


@settings(deadline=None)
@given(
    st.dictionaries(KEYS, st.lists(PIECES, max_size=3) | PIECES, max_size=4) | st.text(max_size=8),
    st.none() | st.integers(1, 4),
)
def test_any_value_is_a_plan_or_one_error_with_a_place(document: object, workers: int | None) -> None:
    text = document if isinstance(document, str) else json.dumps(document)
    try:
        rules, problem = read(text, workers=workers).rules, ""
    except InputError as error:
        rules, problem = (), str(error)
    assert not problem or re.match(r"line:\d+:\d+: ", problem)
    assert "\n" not in problem
    devices = [key for key in document if key != "scheduler"] if isinstance(document, dict) else []
    for rule in rules:
        if rule.subject.device is not None:
            assert devices[rule.subject.device] == str(rule.subject)
            assert workers is None or rule.subject.device < workers
