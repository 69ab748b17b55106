from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from bare_machines import machine
from hypothesis import given
from hypothesis import strategies as st
from plans import loaded

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.objects import Machine
from numascope.observe.roles import Role
from numascope.plan.dialects.draft import Scene
from numascope.plan.dialects.roles import fits
from numascope.plan.given import read_plan
from numascope.plan.load import parse_plan
from numascope.plan.objects import SCHEDULER, Place, Plan, Subject
from numascope.plan.resolve import (
    Member,
    bound_actors,
    memory_nodes,
    planned_cpus,
    planned_nodes,
    resolve,
)

DEVICE0 = Subject(0)
ROLES: Mapping[str, str] = {
    "ActorThread": "runtime",
    "infer_queue": "runtime",
    "resize_queue": "runtime",
    "launch_queue": "runtime",
    "frontend_queue": "pynative",
    "backend_queue": "pynative",
    "bprop_queue": "pynative",
    "batch_launch": "batch_launch",
    "KernelThread": "kernel",
}
QUEUES = ("frontend_queue", "backend_queue", "launch_queue", "bprop_queue")
FIVE = ("ActorThread_0", "ActorThread_1", "infer_queue", "resize_queue", "launch_queue")


def plan_of(modules: object, *, subject: str = "device0", **config: object) -> Plan:
    """A plan of one subject: in cpu mode with fixed actors, unless `config` says otherwise."""
    settings = {"bind_cpu_mode": "cpu", "actor_thread_fix_bind": True} | config
    return parse_plan("bind.json", json.dumps({"bind_config": settings, "bind_cpu": {subject: modules}}).encode())


def thread(
    comm: str,
    role: str | None = None,
    *,
    is_main: bool = False,
    in_top: bool = True,
    born: tuple[int, int] = (0, 0),
) -> Member:
    found = ROLES.get(re.sub(r"_\d+$", "", comm), "unnamed") if role is None else role
    return Member(comm, Role(found, "named", "by its name"), is_main, in_top, born)


MAIN = thread("python", "main", is_main=True)


def masks(plan: Plan, host: Machine, members: Sequence[Member], framework: str = "mindspore") -> list[str | None]:
    """What each thread should be allowed, `-` where the target is empty."""
    found = resolve(plan, host, DEVICE0, framework, members, None)
    return [None if target is None else str(target.cpus) or "-" for target in found]


def of_threads(plan: Plan, host: Machine, *comms: str) -> dict[str, str | None]:
    return dict(zip(comms, masks(plan, host, [thread(comm) for comm in comms]), strict=True))


def test_a_rank_on_two_cpus_binds_main_one_actor_and_minddata(shared: Path) -> None:
    """The masks that MindSpore 2.10 had on 2 CPUs; what stays unplanned kept main's set there."""
    plan = loaded(str(shared / "data" / "mindspore" / "bind2.json"))
    host = machine(2)
    others = ("KernelThread_0", "frontend_queue", "infer_queue", "resize_queue", "launch_queue", "python")
    assert masks(plan, host, [MAIN, thread("ActorThread_0"), thread("python", "minddata")]) == ["0-1", "0", "1"]
    assert set(of_threads(plan, host, *others).values()) == {None}
    helpers = [
        thread("python", "minddata", is_main=True, in_top=False),
        thread("python", "cleaner", is_main=True, in_top=False),
        thread("python", "main", is_main=True, in_top=False),
    ]
    assert masks(plan, host, helpers) == ["1", None, None]
    scheduler = resolve(plan, host, SCHEDULER, "mindspore", [MAIN, thread("RECV_EVENT_LOOP", "comm")], None)
    assert [target and str(target.cpus) for target in scheduler] == ["0-1", None]


@pytest.mark.parametrize(
    ("name", "capture", "actors"),
    [("s_fix", "s01_graph_fixbind_hc32", "01010"), ("s_nofix", "s02_graph_nofix_hc32", "00000")],
)
def test_five_actors_on_32_cpus_as_mindspore_bound_them(name: str, capture: str, actors: str, shared: Path) -> None:
    """The targets equal the affinity masks in a capture of MindSpore 2.10 that was told it has 32 CPUs."""
    store = shared / "data" / "mindspore"
    plan = loaded(str(store / f"{name}.json"))
    found = of_threads(plan, machine(32), *FIVE)
    assert "".join(str(mask) for mask in found.values()) == actors
    seen = re.findall(r"comm='(\w+)' allowed=(\S+)", (store / f"{capture}.a.txt").read_text())
    assert {comm: mask for comm, mask in seen if comm in FIVE} == found


def test_actors_that_are_not_fixed_get_the_whole_list() -> None:
    plan = plan_of({"runtime": "0-1"}, actor_thread_fix_bind=False)
    assert set(of_threads(plan, machine(32), *FIVE).values()) == {"0-1"}


def test_a_list_shorter_than_the_actors_is_dealt_again() -> None:
    found = of_threads(plan_of({"runtime": "4,6,9"}), machine(32), *FIVE)
    assert list(found.values()) == ["4", "6", "9", "4", "6"]


@pytest.mark.parametrize(
    ("cpus", "actors"),
    [
        ((1, 2, 11), ("ActorThread_0",)),
        ((12, 16), ("ActorThread_0", "launch_queue")),
        ((17, 22), ("ActorThread_0", "ActorThread_1", "launch_queue")),
        ((23, 27), ("ActorThread_0", "infer_queue", "resize_queue", "launch_queue")),
        ((28, 192, 1024), FIVE),
    ],
)
def test_how_many_actors_are_bound_follows_from_the_online_cpus(cpus: Sequence[int], actors: Sequence[str]) -> None:
    for count in cpus:
        assert bound_actors(count) == actors


@given(st.integers(1, 2000))
def test_the_actors_are_18_percent_of_at_most_30_cpus(online: int) -> None:
    assert len(bound_actors(online)) == max(1, min(30, online) * 18 // 100)


def test_actors_are_bound_in_the_order_in_which_they_were_made_whatever_their_names() -> None:
    """Seen with MindSpore 2.10 on 16 CPUs: the first of the pool had run second, was named ActorThread_1, and got the first CPU."""
    pool = [thread("ActorThread_1", born=(90, 335)), thread("ActorThread_0", born=(90, 336))]
    queues = [
        thread(name, born=(95, 360 + at)) for at, name in enumerate(("infer_queue", "resize_queue", "launch_queue"))
    ]
    plan = plan_of({"runtime": "0-4"})
    assert masks(plan, machine(32), [*pool, *queues]) == ["0", "1", "2", "3", "4"]
    assert masks(plan, machine(32), [*queues, *reversed(pool)]) == ["2", "3", "4", "1", "0"]


def test_a_pool_that_was_there_before_the_first_graph_has_all_actors_and_its_queues_inherit() -> None:
    """Seen with MindSpore 2.10 in PyNative mode on 16 CPUs: both actors were bound, no queue of the pipeline was."""
    pool = [thread(f"ActorThread_{at}", born=(90, 335 + at)) for at in range(2)]
    queues = [
        thread(name, born=(95, 360 + at)) for at, name in enumerate(("infer_queue", "resize_queue", "launch_queue"))
    ]
    plan = plan_of({"runtime": "0-1", "pynative": "4-7"})
    assert masks(plan, machine(16), [*pool, *queues]) == ["0", "1", None, None, None]
    of_pynative = thread("launch_queue", born=(40, 300))
    assert masks(plan, machine(16), [*pool, *queues, of_pynative])[-1] == "6"
    assert masks(plan, machine(16), [pool[0], *queues]) == ["0", None, None, "1"]


def test_offline_cpus_do_not_count_for_the_actors() -> None:
    plan = plan_of({"runtime": "0-3"})
    host = machine(32, offline=CpuSet.parse("20-31"))
    assert of_threads(plan, host, "ActorThread_1", "infer_queue", "launch_queue") == {
        "ActorThread_1": "1",
        "infer_queue": None,
        "launch_queue": "2",
    }


def test_more_actors_than_known_stay_unplanned() -> None:
    assert of_threads(plan_of({"runtime": "0-7"}), machine(32), "ActorThread_2", "ActorThread_9") == {
        "ActorThread_2": None,
        "ActorThread_9": None,
    }


def test_each_pynative_queue_gets_its_own_cpu_of_the_list() -> None:
    found = of_threads(plan_of({"pynative": "4-7"}), machine(32), *QUEUES)
    assert list(found.values()) == ["4", "5", "6", "7"]


def test_a_pynative_list_that_is_too_short_plans_no_more_than_it_has() -> None:
    """MindSpore reads beyond the end of the list there."""
    found = of_threads(plan_of({"pynative": "0-1"}), machine(2), *QUEUES)
    assert list(found.values()) == ["0", "1", None, None]


def test_runtime_takes_the_launch_queue_where_it_binds_it() -> None:
    both = plan_of({"pynative": "4-7", "runtime": "0-4"})
    assert of_threads(both, machine(32), "launch_queue") == {"launch_queue": "4"}
    assert of_threads(both, machine(8), "launch_queue") == {"launch_queue": "6"}
    assert of_threads(plan_of({"runtime": "0-4"}), machine(8), "launch_queue") == {"launch_queue": None}


def test_batch_launch_gets_the_last_cpus_of_minddata() -> None:
    plan = plan_of({"minddata": "4-7"})
    two = [thread("batch_launch_0"), thread("batch_launch_1")]
    assert masks(plan, machine(8), two) == ["6-7", "6-7"]
    assert masks(plan, machine(8), two * 4) == ["4-7"] * 8
    assert masks(plan_of({"main": "4-7"}), machine(8), two) == [None, None]


@pytest.mark.parametrize("role", ["kernel", "comm", "stress", "cleaner", "log", "launcher", "unnamed"])
def test_what_mindspore_never_binds_is_unplanned(role: str) -> None:
    plan = plan_of({"main": "0-3", "runtime": "0-3", "pynative": "0-3", "minddata": "0-3"})
    assert masks(plan, machine(32), [thread("x", role)]) == [None]


def test_of_a_helper_s_threads_mindspore_binds_the_data_pipeline_alone() -> None:
    """A process that a rank starts for its data inherits; a copy of the rank that runs a graph of its own was given no plan."""
    plan = plan_of({"main": "0-1", "runtime": "2-6", "pynative": "7-10", "minddata": "11"})
    names = ("ActorThread_0", "launch_queue", "frontend_queue", "batch_launch_0")
    helpers = [thread(name, in_top=False) for name in names]
    assert masks(plan, machine(32), [MAIN, *helpers, thread("python", "minddata", in_top=False)])[1:] == [None] * 4 + [
        "11"
    ]


def test_a_target_says_where_it_comes_from() -> None:
    plan = plan_of({"main": "0-1", "runtime": "2-3", "pynative": "4-7", "minddata": "5-7"})
    members = [
        MAIN,
        thread("ActorThread_1"),
        thread("bprop_queue"),
        thread("python", "minddata"),
        thread("batch_launch_0"),
    ]
    found = resolve(plan, machine(32), DEVICE0, "mindspore", members, None)
    assert [target and target.why for target in found] == [
        "main of device0",
        "runtime[1] of device0",
        "pynative[3] of device0",
        "minddata of device0",
        "the last 1 of minddata of device0",
    ]
    places = [target.place for target in found if target is not None]
    assert places[0] == Place("bind.json", 1, 107)
    assert places[3] == places[4]


def test_a_target_is_cut_to_what_is_online_and_in_the_cpuset() -> None:
    plan = plan_of({"main": "0-7"})
    host = machine(8, offline=CpuSet.parse("1"))
    for cpuset, expected in ((None, "0,2-7"), (CpuSet.parse("0-3"), "0,2-3"), (CpuSet.parse("1"), "")):
        (target,) = resolve(plan, host, DEVICE0, "mindspore", [MAIN], cpuset)
        assert target is not None
        assert (str(target.planned), str(target.cpus)) == ("0-7", expected)


def test_a_subject_without_rules_is_unplanned() -> None:
    plan = plan_of({"main": "0-7"}, subject="device1")
    for framework in ("mindspore", "torch", "process"):
        assert masks(plan, machine(8), [MAIN, thread("x")], framework) == [None, None]
    assert masks(plan_of({"main": ""}), machine(8), [MAIN]) == [None]


TORCH = ("main", "loader", "pin", "autograd", "comm", "housekeeping", "store", "pool", "compile", "omp", "unnamed")


def test_main_is_the_whole_process_of_another_framework() -> None:
    plan = plan_of({"main": "0-3", "runtime": "4", "pynative": "5", "minddata": "6-7"})
    members = [thread("python", role, in_top=role != "loader") for role in TORCH]
    expected = ["6-7" if role in ("loader", "pin") else "0-3" for role in TORCH]
    assert masks(plan, machine(32), members, "torch") == expected
    whole, loader = resolve(plan, machine(8), DEVICE0, "torch", members[:2], None)
    assert whole is not None
    assert loader is not None
    assert (whole.why, loader.why) == ("main of device0, the whole process", "minddata of device0, the data loading")


def test_loaders_fall_back_to_main() -> None:
    members = [thread("python", role) for role in TORCH]
    assert masks(plan_of({"main": "0-3"}), machine(8), members, "torch") == ["0-3"] * len(TORCH)


def test_numa_mode_plans_every_thread_for_the_nodes() -> None:
    plan = plan_of(1, bind_cpu_mode="numa")
    members = [MAIN, thread("KernelThread_0"), thread("python", "minddata", in_top=False)]
    for framework in ("mindspore", "torch", "process"):
        assert masks(plan, machine(8, nodes=2), members, framework) == ["4-7"] * 3
    (target,) = resolve(plan, machine(8, nodes=2), DEVICE0, "torch", [MAIN], None)
    assert target is not None
    assert target.why == "node 1 of device0"


def test_numa_mode_plans_the_scheduler_too() -> None:
    plan = plan_of("0-1", subject="scheduler", bind_cpu_mode="numa")
    found = resolve(plan, machine(8, nodes=4), SCHEDULER, "mindspore", [MAIN, thread("x", "comm")], None)
    assert [target and (str(target.cpus), target.why) for target in found] == [("0-3", "nodes 0-1 of scheduler")] * 2


def test_a_node_that_the_machine_lacks_gives_an_empty_target() -> None:
    assert masks(plan_of(7, bind_cpu_mode="numa"), machine(8, nodes=2), [MAIN]) == ["-"]


def test_planned_cpus_are_of_all_roles() -> None:
    plan = plan_of({"main": "0-1", "minddata": "6"})
    assert planned_cpus(plan, machine(8), DEVICE0) == CpuSet.parse("0-1,6")
    assert planned_cpus(plan, machine(8), Subject(1)) == EMPTY
    assert planned_cpus(plan_of(1, bind_cpu_mode="numa"), machine(8, nodes=2), DEVICE0) == CpuSet.parse("4-7")


def test_planned_nodes_are_those_of_memory_else_of_the_cpus() -> None:
    host = machine(8, nodes=4)
    assert planned_nodes(plan_of({"main": "0-1", "minddata": "6", "runtime": "99"}), host, DEVICE0) == CpuSet.of((0, 3))
    assert planned_nodes(plan_of("1-2", bind_cpu_mode="numa"), host, DEVICE0) == CpuSet.of((1, 2))
    assert planned_nodes(plan_of({"main": "0"}), host, Subject(1)) == EMPTY


def test_memory_nodes_come_from_the_memory_section_alone() -> None:
    document = {
        "bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "numa"},
        "bind_cpu": {"device0": {"main": "0"}, "device1": {"main": "1"}},
        "bind_memory": {"device0": 3},
    }
    bound = parse_plan("bind.json", json.dumps(document).encode())
    assert memory_nodes(bound, DEVICE0) == CpuSet.of((3,))
    assert planned_nodes(bound, machine(8, nodes=4), DEVICE0) == CpuSet.of((3,))
    assert memory_nodes(bound, Subject(1)) is None
    unbound = parse_plan("bind.json", json.dumps({**document, "bind_config": {"bind_cpu_mode": "cpu"}}).encode())
    assert memory_nodes(unbound, DEVICE0) is None


OWN = {"main": "0-3", "loader": "4-5", "omp": "6-7", "name:NCCL*": "8", "name:pt_autograd_?": "9", "any": "10-11"}


def own_plan(roles: Mapping[str, str]) -> Plan:
    document = {"numascope": 1, "bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": roles}}
    return parse_plan("bind.json", json.dumps(document).encode())


@pytest.mark.parametrize("framework", ["torch", "mindspore"])
def test_a_name_goes_before_a_role_and_the_rest_is_any(framework: str) -> None:
    members = [
        MAIN, thread("pt_data_worker", "loader", is_main=True, in_top=False), thread("python", "omp"),
        thread("NCCL Progress 0", "comm"), thread("pt_autograd_3", "autograd"), thread("pt_autograd_12", "autograd"),
        thread("cuda-EvtHandlr", "housekeeping"), thread("python", "main", is_main=True, in_top=False),
    ]  # fmt: skip
    found = masks(own_plan(OWN), machine(32), members, framework)
    assert found == ["0-3", "4-5", "6-7", "8", "9", "10-11", "10-11", "10-11"]


def test_without_any_the_rest_has_main_s_cpus_but_for_mindspore_which_inherits() -> None:
    roles = {"main": "0-3", "loader": "4-5"}
    members = [MAIN, thread("x", "omp"), thread("pt_data_worker", "loader")]
    assert masks(own_plan(roles), machine(32), members, "torch") == ["0-3", "0-3", "4-5"]
    assert masks(own_plan(roles), machine(32), members) == ["0-3", None, "4-5"]


def test_launch_queue_may_be_where_pynative_or_where_runtime_put_it() -> None:
    plan = plan_of({"runtime": "0-4", "pynative": "8-11"})
    (found,) = resolve(plan, machine(32), DEVICE0, "mindspore", [thread("launch_queue")], None)
    assert found is not None
    assert (str(found.cpus), str(found.either)) == ("4", "10")
    assert [str(found.judged_by(CpuSet.parse(mask))) for mask in ("4", "10", "0-31")] == ["4", "10", "4"]
    others = resolve(plan, machine(32), DEVICE0, "mindspore", [thread(name) for name in FIVE[:4]], None)
    assert [one and one.either for one in others] == [EMPTY] * 4


def test_torch_npu_s_hot_threads_have_a_cpu_each_and_all_else_the_rest() -> None:
    plan = read_plan("conf", b"CPU_AFFINITY_CONF=2,npu0:0-7", Scene(machine(16)))
    members = [
        MAIN,
        thread("acl_thread", "runtime"),
        thread("release_thread", "runtime"),
        thread("pt_data_worker", "loader"),
    ]
    assert masks(plan, machine(16), members, "torch") == ["0", "1", "2", "4-7"]


def test_vllm_s_openmp_threads_may_each_have_one_cpu() -> None:
    plan = read_plan("conf", b"VLLM_CPU_OMP_THREADS_BIND=0-7", Scene(machine(16)))
    found = resolve(plan, machine(16), DEVICE0, "vllm", [MAIN, thread("python", "omp")], None)
    assert [one and (str(one.cpus), one.one_each) for one in found] == [("0-7", False), ("0-7", True)]


def test_interleaved_memory_is_meant_to_be_everywhere() -> None:
    plan = read_plan("lines", b"numactl -C 0 -i 0-1 x\nnumactl -C 1 -p 1 x", Scene(machine(4, nodes=2)))
    assert memory_nodes(plan, DEVICE0) is None
    assert str(memory_nodes(plan, Subject(1))) == "1"


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_a_pattern_fits_as_a_regular_expression_of_it_does(pattern: str, name: str) -> None:
    same = re.compile(pattern.replace("*", ".*").replace("?", "."), re.DOTALL) if "**" not in pattern else None
    if same is not None:
        assert fits(pattern, name) == (same.fullmatch(name) is not None)
    assert fits("*" * 8 + "b", "a" * 60) is False
