"""MindSpore's own verdicts, measured on the real one (about 130 inputs), against what is predicted of each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from numascope.cpuset import CpuSet
from numascope.plan.check.judged import Judgement, View
from numascope.plan.check.msrun_judge import judge
from numascope.plan.positions import read_json

BOX = View(CpuSet.parse("0-1"), CpuSet.parse("0"))
"""The machine on which the answers were taken: two CPUs, one node."""

MODES = {"bind_cpu_mode": "cpu"}


def config(cpu: str = "cpu", memory: str | None = None, **more: object) -> dict[str, object]:
    return {"bind_cpu_mode": cpu, **({} if memory is None else {"bind_memory_mode": memory}), **more}


def cpus(value: object, cpu: str = "cpu") -> dict[str, object]:
    return {"bind_config": config(cpu), "bind_cpu": value}


def main(value: object) -> dict[str, object]:
    return cpus({"device0": {"main": value}})


def memory(value: object, entry: object = None) -> dict[str, object]:
    return {
        "bind_config": config("cpu", "numa"),
        "bind_cpu": {"device0": {"main": "0"} if entry is None else entry},
        "bind_memory": value,
    }


TWO = {"device0": {"main": "0"}, "device1": {"main": "1"}}

CASES: Mapping[str, Any] = {
    "cpu main": cpus({"scheduler": {"main": "0-1"}, **TWO}),
    "cpu main int": main(1),
    "cpu main int 0": main(0),
    "cpu main list": main(["0"]),
    "cpu main unavailable": main("0-2"),
    "cpu runtime unavailable": cpus({"device0": {"runtime": "7"}}),
    "cpu unknown module": cpus({"device0": {"main": "0", "foo": "1"}}),
    "cpu value not dict": cpus({"device0": "0-1"}),
    "cpu value null": cpus({"device0": None, "device1": {"main": "1"}}),
    "cpu module null": main(None),
    "cpu empty string": main(""),
    "cpu no main": cpus({"device0": {"runtime": "0"}}),
    "device_0 key": cpus({"device_0": {"main": "0"}, "device_1": {"main": "1"}}),
    "device_0 and device0": cpus({"device0": {"main": "1"}, "device_0": {"main": "0"}}),
    "bad key": cpus({"gpu0": {"main": "0"}}),
    "Device0 key": cpus({"Device0": {"main": "0"}}),
    "device00 key": cpus({"device00": {"main": "0"}}),
    "missing device1": cpus({"device0": {"main": "0"}}),
    "range reversed": main("1-0"),
    "range trailing comma": main("0,"),
    "range spaces inside": main("0 - 1"),
    "range stride": main("0-1:2"),
    "range negative": main("-1"),
    "duplicate range": main("0,0-1"),
    "mem numa": memory({"device0": 0, "device1": 0}),
    "mem numa no bind_memory": {"bind_config": config("cpu", "numa"), "bind_cpu": {"device0": {"main": "0"}}},
    "mem numa unavailable": memory({"device0": 1}),
    "mem list": memory({"device0": [0]}),
    "mem true": memory({"device0": False}),
    "mem only no main": memory({"device0": 0}, {"runtime": "0"}),
    "numa": cpus({"device0": 0, "device1": "0"}, "numa"),
    "numa+mem": {
        "bind_config": config("numa", "numa"),
        "bind_cpu": {"device0": 0},
        "bind_memory": {"device0": 0, "scheduler": 0},
    },
    "numa dict value": cpus({"device0": {"main": "0"}}, "numa"),
    "numa bad node": cpus({"device0": 3}, "numa"),
    "numa spaces": cpus({"device0": "0, 0"}, "numa"),
    "none+mem": {"bind_config": config("none", "numa"), "bind_memory": {"device0": 0}},
    "none": cpus({"device0": {"main": "0"}}, "none"),
    "bind_cpu list": cpus([1]),
    "bind_cpu missing cpu mode": {"bind_config": config()},
    "bind_memory bad key while mode none": {"bind_config": config(), "bind_memory": {"oops": 0}},
}

READ: Mapping[str, Any] = {
    "b_list.json": [1],
    "b_nocfg.json": {"bind_cpu": {"device0": {"main": "0"}}},
    "b_mode.json": {"bind_config": {"bind_cpu_mode": "core"}},
    "b_upper.json": {
        "bind_config": {"bind_cpu_mode": "CPU", "bind_memory_mode": "NUMA"},
        "bind_cpu": {"device0": {"main": "0"}},
    },
    "b_ok.txt": main("0"),
    "b_cfgnull.json": {"bind_config": None},
    "b_memcpu.json": {"bind_config": {"bind_memory_mode": "cpu"}},
    "b_afix.json": {
        "bind_config": {**MODES, "actor_thread_fix_bind": "yes"},
        "bind_cpu": {"device0": {"main": "0"}},
    },
    "b_empty.json": {},
}

_LINE = re.compile(r"\[(OK |ERR)\] (.*?) -> (.*)")


def answers(shared: Path, heading: str, name: str = "validator_results_1.txt") -> dict[str, tuple[bool, str]]:
    """Case → whether MindSpore took it, and its answer."""
    text = (shared / "data" / "mindspore" / name).read_text()
    part = text.split(f"## {heading}", 1)[1].split("\n## ", 1)[0]
    found = (_LINE.fullmatch(line) for line in part.splitlines())
    return {one[2]: (one[1] == "OK ", one[3]) for one in found if one is not None}


def judged(document: object, view: View = BOX) -> Judgement:
    return judge(read_json("bind.json", json.dumps(document).encode()), view)


def before_the_start(judgement: Judgement) -> str | None:
    problem = judgement.first("reads", "checks", "starts")
    return None if problem is None else problem.kind


@pytest.mark.parametrize("name", CASES)
def test_msrun_s_answer_and_every_prefix_are_foretold(shared: Path, name: str) -> None:
    is_taken, answer = answers(shared, "context + prefix")[name]
    judgement = judged(CASES[name])
    assert before_the_start(judgement) == (None if is_taken else answer.split()[0])
    if is_taken:
        wanted = [one.strip("' ").removesuffix("python train.py a").strip() for one in re.findall(r"'[^']*'", answer)]
        prefixes = [" ".join(judgement.prefixes.get(one, ())) for one in ("scheduler", "device0", "device1")]
        assert prefixes == wanted


@pytest.mark.parametrize("name", READ)
def test_what_the_command_line_takes_and_refuses_is_foretold(shared: Path, name: str) -> None:
    is_taken, answer = answers(shared, "CLI --bind_numa values")[f"bind_numa {name}"]
    problem = judged(READ[name]).first("reads")
    assert (None if problem is None else problem.kind) == (None if is_taken else answer.split()[0])


@pytest.mark.parametrize("name", CASES)
def test_what_set_cpu_affinity_ends_with_is_foretold(shared: Path, name: str) -> None:
    """It reads the same file anew, without msrun's checks: whatever ends it is a problem here, of whichever stage."""
    answer = answers(shared, "set_cpu_affinity(bind_file)").get(f"extract {name}")
    if answer is None:
        pytest.skip("was not tried on the real one")
    is_taken, words = answer
    problems = judged(CASES[name]).problems
    if not is_taken:
        assert words.split()[0] == "ValueError"
        assert problems
    else:
        assert not [one for one in problems if one.stage == "binds"]


def test_a_file_without_bind_config_is_taken_for_the_short_form_and_ends_it(shared: Path) -> None:
    is_taken, answer = answers(shared, "dict bind_core order")["no-bind_config dict"]
    assert not is_taken
    assert before_the_start(judged(READ["b_nocfg.json"])) == answer.split()[0] == "ValueError"


@pytest.mark.parametrize(
    ("name", "document", "view"),
    [
        ("json, numactl missing", memory({"device0": 0}), BOX._replace(tools={"numactl": False, "taskset": True})),
        ("json, taskset missing", main("0"), BOX._replace(tools={"numactl": True, "taskset": False})),
        ("json cpu mode", main("0"), BOX._replace(has_cpuset_file=False)),
        ("json numa mode", cpus({"device0": 0}, "numa"), BOX._replace(has_cpuset_file=False)),
        ("device8 key", cpus({"device8": {"main": "0"}}), BOX._replace(highest_device=7)),
    ],
)
def test_what_the_host_lacks_is_foretold(shared: Path, name: str, document: object, view: View) -> None:
    text = (shared / "data" / "mindspore" / "validator_results_2.txt").read_text()
    line = next(one for one in text.splitlines() if f"] {name} -> " in one)
    kind = line.partition(" -> ")[2].split()[0] if line.startswith("[ERR]") else None
    assert before_the_start(judged(document, view)) == kind


def test_nothing_is_held_against_a_plan_on_a_host_of_which_nothing_is_known() -> None:
    assert judged(memory({"device0": 7}, {"main": "0-900"}), View()).problems == ()


def test_a_number_for_main_breaks_off_after_the_scheduler_has_started() -> None:
    problem = judged(CASES["cpu main int"]).first("starts")
    assert problem is not None
    assert (problem.kind, problem.remedy) == ("ValueError", 'write "1" in quotes')


def test_a_byte_order_mark_is_refused() -> None:
    document = read_json("bind.json", json.dumps(main("0")).encode())
    first = judge(document, BOX, has_mark=True).first("reads")
    assert first is not None
    assert first.kind == "ArgumentTypeError"
