"""MindSpore's course over bind JSONs that nobody writes on purpose; each answer was seen of MindSpore 2.10 itself (two CPUs, one node)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mindspore_foretold import ended, judged, prefixes, value_of
from mindspore_inputs import BOX, CASES, config, cpus, main, memory

from numascope.cpuset import CpuSet
from numascope.plan.check.judged import View
from numascope.plan.check.mindspore import outcome_words
from numascope.plan.check.msrun_affinity import affinities_of
from numascope.plan.check.msrun_judge import judge
from numascope.plan.json_reader import read_json

NODES = config("none", "numa")

SEEN: Mapping[str, tuple[Any, str | list[str]]] = {
    "a mode of null is none": ({"bind_config": {"bind_cpu_mode": None}, "bind_cpu": main("0")["bind_cpu"]}, ["", "", ""]),
    "a section of null is no object": ({"bind_config": config(), "bind_cpu": None}, "!TypeError"),
    "memory of null is no object": ({"bind_config": NODES, "bind_memory": None}, "!TypeError"),
    "a section that is off is not looked at": (
        {"bind_config": NODES, "bind_cpu": [], "bind_memory": {"device0": 0}}, ["", "numactl --membind 0", ""],
    ),
    "an empty node goes to numactl": (
        cpus({"device0": "", "device1": "0"}, "numa"), ["", "numactl --cpunodebind ", "numactl --cpunodebind 0"],
    ),
    "an empty memory node goes to numactl": (memory({"device0": ""}), ["", "numactl --membind  --physcpubind 0", ""]),
    "memory of null in an entry is none": (memory({"device0": None}), ["", "taskset -c 0", ""]),
    "true is node 1": (cpus({"device0": True}, "numa"), "!RuntimeError"),
    "device_0 is asked after device1": (cpus({"device_0": {"main": "2-3"}, "device1": {"main": 1.5}}), "!TypeError"),
    "device_0 wins where it stands first": (cpus({"device_0": {"main": "0"}, "device0": {"main": "1"}}), ["", "taskset -c 0", ""]),
    "the scheduler's number ends it too": (cpus({"scheduler": {"main": 1}}), "!ValueError"),
    "true for main": (cpus({"device0": {"main": True}}), "!ValueError"),
    "false for main": (cpus({"device0": {"main": False}}), ["", "", ""]),
    "a comma between blanks goes to taskset": (main("0, ,1"), ["", "taskset -c 0,,1", ""]),
    "a sign goes to taskset": (main("+1"), ["", "taskset -c +1", ""]),
    "a number that no machine has": (main("70000"), "!RuntimeError"),
    "a negative number": (cpus({"device0": {"runtime": -1}}), "!RuntimeError"),
    "sections alone are taken for processes": ({"bind_cpu": {}}, "!ValueError"),
    "and their entries for lists": ({"bind_cpu": [1]}, "!TypeError"),
    "of nodes": ({"bind_cpu": ["7"]}, "!RuntimeError"),
}  # fmt: skip


@pytest.mark.parametrize("name", SEEN)
def test_what_mindspore_was_seen_to_do_is_foretold(name: str) -> None:
    document, seen = SEEN[name]
    judgement = judged(document)
    assert (ended(judgement) or prefixes(judgement, ("scheduler", "device0", "device1"))) == seen


BOUND: Mapping[str, tuple[Any, object, object]] = {
    "main is left to msrun": (main("0"), {}, {"main": "0"}),
    "a number is a CPU": (cpus({"device0": {"runtime": 0}}), {"runtime": "0"}, {"runtime": "0"}),
    "an empty module beside another": (
        cpus({"device0": {"main": "0", "runtime": ""}}), {"runtime": ""}, {"main": "0", "runtime": ""},
    ),
    "false is no CPU": (cpus({"device0": {"main": "1", "runtime": False}}), "ValueError", "ValueError"),
    "true within a range is one": (
        cpus({"device0": {"main": "0-1", "runtime": True}}), {"runtime": "1"}, {"main": "0-1", "runtime": "1"},
    ),
    "a CPU that is not there": (cpus({"device0": {"main": "0", "foo": "7"}}), "RuntimeError", "RuntimeError"),
    "a section of null": ({"bind_config": config(), "bind_cpu": None}, "ValueError", "ValueError"),
    "no entry": (cpus({"device1": {"main": "0"}}), {}, {}),
}  # fmt: skip


@pytest.mark.parametrize("is_under_msrun", [True, False])
@pytest.mark.parametrize("name", BOUND)
def test_what_set_cpu_affinity_was_seen_to_bind_is_foretold(name: str, is_under_msrun: bool) -> None:
    document, launched, alone = BOUND[name]
    answer = affinities_of(value_of(document), BOX, is_under_msrun=is_under_msrun).of(0)
    found = answer.exception or {module: str(ids) for module, ids in answer.modules.items()}
    assert found == (launched if is_under_msrun else alone)


@pytest.mark.parametrize(
    ("node", "is_read"),
    [
        (0, True),
        ("0-0,0", True),
        ("0, 0", True),
        (" 0", True),
        ("0 ", False),
        ("0 - 0", False),
        ("", False),
        ("  ", False),
    ],
)
def test_nodes_that_numactl_was_seen_to_refuse_are_told(node: object, is_read: bool) -> None:
    assert (judged(memory({"device0": node})).first("runs") is None) == is_read


def test_a_number_for_runtime_is_told_among_what_the_job_binds_itself() -> None:
    words = outcome_words(judged(cpus({"device0": {"main": "1", "runtime": 0}})))
    assert words.endswith("; runtime when the job calls set_cpu_affinity(bind_file=…)")


def test_a_number_for_the_scheduler_s_main_ends_msrun_before_anybody_starts() -> None:
    assert outcome_words(judged(cpus({"scheduler": {"main": 1}}))).startswith("refuse it before it starts anybody")
    assert outcome_words(judged(cpus({"device0": {"main": 1}}))).startswith("start the scheduler, then end")


def test_without_a_node_of_cpus_and_memory_a_mode_of_nodes_ends_msrun() -> None:
    problem = judged(memory({"device0": 0}), BOX._replace(nodes=CpuSet())).first("checks")
    assert problem is not None
    assert problem.kind == "RuntimeError"


def test_nothing_is_held_against_a_plan_on_a_host_of_which_nothing_is_known() -> None:
    assert judged(memory({"device0": 7}, {"main": "0-900"}), View()).problems == ()


def test_a_number_for_main_breaks_off_after_the_scheduler_has_started() -> None:
    problem = judged(CASES["cpu main int"]).first("starts")
    assert problem is not None
    assert (problem.kind, problem.remedy) == ("ValueError", 'write "1" in quotes')


def test_a_byte_order_mark_is_refused() -> None:
    first = judge(value_of(main("0")), BOX, has_mark=True).first("reads")
    assert first is not None
    assert first.kind == "ArgumentTypeError"


KEYS = st.sampled_from(["device0", "device_0", "device00", "scheduler", "gpu0", "main", "runtime", "foo"])
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("0123,- +_a", max_size=8)
)
VALUES = st.recursive(
    LEAVES, lambda one: st.lists(one, max_size=2) | st.dictionaries(KEYS, one, max_size=3), max_leaves=8
)
SECTIONS = st.fixed_dictionaries(
    {}, optional={"bind_config": VALUES | st.just(config("cpu", "numa")), "bind_cpu": VALUES, "bind_memory": VALUES}
)


@settings(deadline=None)
@given(SECTIONS)
def test_any_document_is_judged(document: dict[str, object]) -> None:
    read = read_json("p", json.dumps(document).encode())
    judgement = judge(read, BOX)
    assert outcome_words(judgement)
    assert all(ids <= CpuSet.parse("0-1") for one in judgement.affinities.values() for ids in one.modules.values())


@pytest.mark.parametrize(
    ("written", "bound", "tool"),
    [("\uff10-1", None, "taskset"), ("0,\t1", None, "taskset"), ("+0", None, "taskset"), ("0_1", {"device0": 0}, "numactl"),
     ("0\t", {"device0": 0}, "numactl"), (" 0 - 1 ", None, None), ("+0", {"device0": 0}, None), ("\t0", {"device0": 0}, None)],
)  # fmt: skip
def test_a_list_that_mindspore_takes_and_its_tool_does_not_ends_the_rank(
    written: str, bound: dict[str, object] | None, tool: str | None
) -> None:
    """As taskset of util-linux 2.38 and numactl 2.0.16 did."""
    entry = {"main": written}
    judgement = judged(cpus({"device0": entry}) if bound is None else memory(bound, entry))
    problem = judgement.first("runs")
    assert (problem and problem.kind) == tool
    assert judgement.first("checks", "starts", "binds") is None
    if tool is not None:
        assert f"; {tool} then ends one of them" in outcome_words(judgement)


def test_a_key_that_nobody_looks_up_is_no_rank() -> None:
    found = judged(cpus({"device00": {"main": "0"}, "device0": {"main": "1"}}))
    assert outcome_words(found) == "accept it, bind 1 rank at the start"
