"""Whatever a file of MindSpore's form says, it is judged: nothing is raised, and what cannot be read is an error."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from plan_questions import question
from shapes import Shape, machine

from numascope.errors import InputError
from numascope.plan.check.objects import HostFacts
from numascope.plan.check.run import check_document, view_of
from numascope.plan.given import allowed_cpus
from numascope.plan.json_reader import read_json

SERVER = machine(Shape(2, 1, 2, 2, threads=2), devices=(0, 1), offline="3", isolated="6")

LISTS = st.sampled_from(
    ["", "0", "0-3", "2,0", "0-15", "7-90", "3", "6-7", " 1 ", "0, 0", "5-2", "1,", "-1", "0-1:2", "0-1000000000", "x"]
)
VALUES = st.one_of(LISTS, st.none(), st.booleans(), st.integers(-2, 20), st.floats(0, 1), st.just([]), st.just({}))
MODULES = st.dictionaries(st.sampled_from(["main", "runtime", "pynative", "minddata", "Main", "x"]), VALUES, max_size=4)
KEYS = st.sampled_from(["device0", "device_0", "device1", "device00", "device9", "Device0", "scheduler", "x"])
SECTION = st.one_of(st.none(), st.just([1]), st.dictionaries(KEYS, st.one_of(VALUES, MODULES), max_size=4))
CONFIG = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {},
        optional={
            "bind_cpu_mode": st.sampled_from(["cpu", "numa", "none", "CPU", "core", 1]),
            "bind_memory_mode": st.sampled_from(["numa", "none", "cpu"]),
            "actor_thread_fix_bind": st.sampled_from([True, False, "yes"]),
            "bind_mode": st.just("cpu"),
        },
    ),
)
PLANS = st.fixed_dictionaries({}, optional={"bind_config": CONFIG, "bind_cpu": SECTION, "bind_memory": SECTION})


@settings(max_examples=400, deadline=None)
@given(PLANS)
def test_any_plan_is_judged_and_what_cannot_be_read_has_an_error(plan: object) -> None:
    data = json.dumps(plan, indent=1).encode()
    refusal, asked = None, None
    try:
        asked = question(data, SERVER)
    except InputError as error:
        refusal = error
    host = HostFacts(has_v1_cpuset=True, tools={"numactl": True, "taskset": True})
    view = view_of(SERVER, allowed_cpus(SERVER), host)
    checked = check_document("bind.json", read_json("bind.json", data), view, asked, refusal, has_mark=False)
    lines = data.count(b"\n") + 1
    assert all(1 <= place.line <= lines for one in checked.findings for place in one.places)
    assert checked.is_usable == (refusal is None or plan == {})
    if refusal is not None and plan:
        assert any(one.severity == "error" for one in checked.findings)
    assert checked.outcome is not None
    if any(one.rule in ("cpu-absent", "cpu-offline", "node-absent", "node-empty") for one in checked.findings):
        assert checked.outcome.startswith("refuse it before it starts anybody")
