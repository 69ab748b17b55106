from __future__ import annotations

import json

import pytest

from numascope.cpuset import CpuSet
from numascope.errors import UsageError
from numascope.plan.load import parse_plan
from numascope.plan.make.made import Made, RoleCpus, Share
from numascope.plan.make.seats import Seat
from numascope.plan.write.mindspore import mindspore_text


def share(number: int, memory: str | None = None, **roles: str) -> Share:
    seat = Seat(number, None, 0, 0)
    cpus = tuple(RoleCpus(role, CpuSet.parse(text)) for role, text in roles.items())
    return Share(seat, cpus, None if memory is None else CpuSet.parse(memory))


def test_the_file_is_the_unified_json_with_the_scheduler_last() -> None:
    made = Made("msrun", (share(0, "1", runtime="4-8", main="13-19"), share(3, "0-1", main="1")), CpuSet.span(20, 23))
    assert json.loads(mindspore_text(made)) == {
        "bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "numa", "actor_thread_fix_bind": True},
        "bind_cpu": {
            "device0": {"runtime": "4-8", "main": "13-19"},
            "device3": {"main": "1"},
            "scheduler": {"main": "20-23"},
        },
        "bind_memory": {"device0": 1, "device3": "0-1"},
    }
    assert mindspore_text(made, indent=4).startswith('{\n    "bind_config"')


def test_a_whole_process_is_its_main_and_without_memory_none_is_bound() -> None:
    text = mindspore_text(Made("node", (share(0, any="0-7"),)))
    plan = parse_plan("x", text.encode())
    assert [(rule.role, str(rule.cpus)) for rule in plan.rules] == [("main", "0-7")]
    assert (plan.memory_mode, plan.memory, plan.notes) == ("none", (), ())


def test_roles_that_mindspore_does_not_bind_are_refused() -> None:
    with pytest.raises(UsageError, match="MindSpore has no module loader, omp: leave it out of --roles"):
        mindspore_text(Made("balanced", (share(0, main="0", omp="1", loader="2"),)))
