"""The bind JSONs to which MindSpore's answers were measured, by the names that they have in tests/mindspore_verdicts.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numascope.cpuset import CpuSet
from numascope.plan.check.judged import View

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
    "bind_memory bad key while mode none": {**main("0"), "bind_memory": {"oops": 0}},
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

WHOLE: Any = {
    "bind_config": config("cpu", None, actor_thread_fix_bind=True),
    "bind_cpu": {"device0": {"main": "0", "runtime": "1", "minddata": "0-1", "foo": 1}},
}
"""One with every part that set_cpu_affinity reads."""
