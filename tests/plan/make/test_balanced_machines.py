"""Balanced plans on machines that are not regular, and what `plan check` says of them there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from plan_questions import checked, rules
from shapes import GIB_KIB, Shape, machine

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.objects import Cache, Core, CoreKind, Machine, Node
from numascope.machine.quirks import implicit_node
from numascope.plan.make.balanced import BalancedWish, make_balanced
from numascope.plan.make.made import Made, NoPlanError
from numascope.plan.make.msrun import MsrunWish, make_msrun
from numascope.plan.make.seats import Seat, found_seats
from numascope.plan.write.mindspore import mindspore_text


def made(on: Machine, nodes: Sequence[int | None] = (), **wish: Any) -> Made:  # noqa: ANN401  (any field of the wish)
    """The plan for devices near these nodes, or for those of the machine."""
    given_nodes = tuple(Seat(number, None, node, node) for number, node in enumerate(nodes))
    ranks = given_nodes or found_seats(on, ("npu",), None).seats
    return make_balanced(on, BalancedWish(on.cpus.online, ranks)._replace(**wish))


def roles(plan: Made, device: int) -> dict[str, str]:
    return {one.role: str(one.cpus) for one in plan.shares[device].roles}


def serious(plan: Made, on: Machine) -> list[tuple[str, str]]:
    found = checked(mindspore_text(plan).encode(), on)
    assert found.outcome is not None
    assert found.outcome.startswith("accept it")
    return [(rule, severity) for rule, severity in rules(found.findings) if severity != "info"]


def with_memory(on: Machine, memory_kib: Mapping[int, int]) -> Machine:
    nodes = [node._replace(memory_kib=memory_kib.get(node.id, node.memory_kib)) for node in on.nodes]
    return on._replace(nodes=tuple(nodes))


def with_memory_nodes(on: Machine) -> Machine:
    """Beside each node one of memory alone, such as CXL, nearer than any other node."""
    count = len(on.nodes)
    nodes = [node._replace(distances={**node.distances, node.id + count: 17}) for node in on.nodes]
    nodes += [
        Node(
            node.id + count, EMPTY, 64 * GIB_KIB, 60 * GIB_KIB, node.packages, None, {node.id: 17, node.id + count: 10}
        )
        for node in on.nodes
    ]
    return on._replace(nodes=tuple(nodes), nodes_allowed=CpuSet.span(0, 2 * count - 1))


def hybrid(devices: Sequence[int]) -> Machine:
    """Eight fast cores of two threads and sixteen slow ones of one, behind one L3."""
    on = machine(Shape(1, 1, 1, 32), devices)
    fast = [CpuSet.span(at, at + 1) for at in range(0, 16, 2)]
    slow = [CpuSet.of((at,)) for at in range(16, 32)]
    kinds = (
        CoreKind(CpuSet.span(0, 15), "P", 1024, 5_000_000),
        CoreKind(CpuSet.span(16, 31), "E", 600, 4_000_000),
    )
    return on._replace(cores=tuple(Core(cpus, 0, None, 0) for cpus in (*fast, *slow)), kinds=kinds)


def test_each_actor_has_a_core_where_every_device_has_eleven_and_main_has_three() -> None:
    plan = made(machine(Shape(2, 1, 1, 23, 2), (0, 0, 1, 1)))
    assert plan.fixed_actors
    assert roles(plan, 0) == {"main": "6-8", "runtime": "1-5", "minddata": "9-11,55-57"}


def test_actors_that_have_fewer_cores_share_them_on_every_device_alike() -> None:
    """A fixed actor would wait for another on its own CPU while that beside it idles."""
    plan = made(machine(Shape(2, 1, 1, 22, 2), (0, 0, 1)))
    assert not plan.fixed_actors
    assert (
        "runtime=3: MindSpore's 5 actors share its CPUs, none is fixed to one, --smt pair gives them more" in plan.notes
    )
    assert '"actor_thread_fix_bind": false' in mindspore_text(plan)


def test_three_devices_of_eight_caches_have_two_each_for_the_hot_roles_and_share_the_rest() -> None:
    plan = made(machine(Shape(1, 1, 8, 8, 2), (0, 0, 0)), reserve=0)
    assert [roles(plan, device)["runtime"] for device in range(3)] == ["0-4", "16-20", "32-36"]
    assert [roles(plan, device)["main"] for device in range(3)] == ["5-15", "21-31", "37-47"]
    assert [len(share.roles[-1].cpus) for share in plan.shares] == [12, 10, 10]


def test_the_cache_that_lost_a_core_to_the_system_is_for_data_loading() -> None:
    plan = made(machine(Shape(1, 1, 3, 8, 2), (0,)))
    assert roles(plan, 0) == {"main": "13-23", "runtime": "8-12", "minddata": "1-7,25-31"}


def test_hot_roles_have_the_fast_cores_and_every_device_some_of_them() -> None:
    assert roles(made(hybrid((0,))), 0) == {"main": "8,10,12,14", "runtime": "2,4,6", "minddata": "16-31"}
    two = made(hybrid((0, 0)), reserve=0)
    assert [roles(two, device)["minddata"] for device in range(2)] == ["16-23", "24-31"]


def test_the_core_that_is_kept_is_the_first_by_number_also_where_that_is_a_slow_one() -> None:
    on = machine(Shape(1, 1, 1, 12), (0,))
    kinds = (CoreKind(CpuSet.span(0, 3), None, 400, None), CoreKind(CpuSet.span(4, 11), None, 1024, None))
    plan = made(on._replace(kinds=kinds))
    assert str(plan.scheduler) == "0"
    assert roles(plan, 0) == {"main": "6-11", "runtime": "4-5", "minddata": "1-3"}


def test_eight_devices_of_one_package_load_data_on_the_other() -> None:
    plan = made(machine(Shape(2, 1, 1, 32, 2), (0,) * 8))
    assert roles(plan, 0) == {"main": "3-4", "runtime": "1-2", "minddata": "33-36,97-100"}
    assert "node 1 is near no device: it loads data for those of node 0, distance 24" in plan.notes
    assert {str(share.memory) for share in plan.shares} == {"0"}


def test_two_devices_with_enough_cores_leave_the_other_package_alone() -> None:
    plan = made(machine(Shape(2, 1, 1, 32, 2), (0, 0)))
    assert all(share.cpus <= machine(Shape(2, 1, 1, 32, 2)).nodes[0].cpus for share in plan.shares)
    assert plan.notes == ("node 1 is near no device of the plan: the cores there stay free",)


def test_a_node_without_a_device_goes_to_the_neighbour_whose_devices_have_least() -> None:
    plan = made(machine(Shape(1, 3, 1, 12), (0, 2, 2)), reserve=0)
    assert [len(share.cpus) for share in plan.shares] == [12, 12, 12]


def test_devices_of_unknown_nodes_are_dealt_as_neighbours_and_told_in_one_note() -> None:
    plan = made(machine(Shape(2, 1, 1, 8)), (None,) * 4)
    assert [str(share.memory) for share in plan.shares] == ["0", "0", "1", "1"]
    assert plan.notes[0] == (
        "devices 0-3: no source knows their nodes, nodes 0-1 are dealt out as there is most room;"
        " say it with --device 0=node:N"
    )


def test_ranks_without_devices_are_dealt_by_the_cpus_that_they_may_use() -> None:
    on = machine(Shape(2, 1, 1, 8), isolated="4-7")
    assert [seat.node for seat in found_seats(on, ("npu",), 3).seats] == [0, 1, 1]
    assert [seat.node for seat in found_seats(on, ("npu",), 3, CpuSet.span(8, 15)).seats] == [1, 1, 1]
    assert [seat.node for seat in found_seats(on, ("npu",), 2, EMPTY).seats] == [None, None]


def test_memory_follows_main_where_main_finds_no_room_on_its_device_s_node() -> None:
    on = machine(Shape(2, 1, 1, 8), (0,))
    plan = made(on, roles={"main": 7}, allowed=CpuSet.span(4, 15), reserve=0)
    assert roles(plan, 0) == {"main": "8-14"}
    assert str(plan.shares[0].memory) == "1"
    assert plan.notes == ("device 0: main is on node 1, distance 24, nearer there is no room", "node 0 is near no device of the plan: the cores there stay free")  # fmt: skip


def test_for_mindspore_memory_is_bound_where_there_are_cpus_for_others_where_it_is_nearest() -> None:
    on = with_memory(with_memory_nodes(machine(Shape(2, 1, 1, 8), (0, 1))), {1: 0})
    plan = made(on)
    assert [str(share.memory) for share in plan.shares] == ["0", "0"]
    assert plan.notes[0] == (
        "device 1 (0000:01:00.0): node 1 has no memory to use, node 0 is next, and at node 3 without CPUs MindSpore ends"
    )
    assert serious(plan, on) == []
    assert [str(share.memory) for share in made(on, for_mindspore=False).shares] == ["0", "3"]


def test_memory_is_bound_to_no_node_that_the_cpuset_leaves_out() -> None:
    on = machine(Shape(2, 1, 1, 8), (0, 1))._replace(nodes_allowed=CpuSet.of((0,)))
    plan = made(on)
    assert [str(share.memory) for share in plan.shares] == ["0", "0"]
    assert plan.notes[0] == "device 1 (0000:01:00.0): node 1 has no memory to use, node 0 is next"
    assert serious(plan, on) == []


def test_on_a_kernel_without_numa_nodes_no_memory_is_bound() -> None:
    on = machine(Shape(1, 1, 1, 8), (0,))._replace(notes=(implicit_node(),))
    plan = made(on)
    assert plan.shares[0].memory is None
    assert plan.notes[0] == "memory is not bound: this kernel has no NUMA nodes"
    assert serious(plan, on) == []
    with pytest.raises(NoPlanError, match="this kernel has no NUMA nodes"):
        make_msrun(on, MsrunWish(on.cpus.online, (plan.shares[0].seat,)))


def test_where_only_nodes_without_cpus_have_memory_mindspore_binds_none() -> None:
    on = with_memory(with_memory_nodes(machine(Shape(1, 1, 1, 8), (0,))), {0: 0})
    plan = made(on)
    assert plan.shares[0].memory is None
    assert plan.notes[0].endswith("memory is not bound, node 0 has none to use and no other has: MindSpore binds none to nodes without CPUs")  # fmt: skip
    assert serious(plan, on) == []


def test_page_cache_counts_as_memory_to_give() -> None:
    on = machine(Shape(1, 1, 1, 8), (0,))
    full = on._replace(nodes=(on.nodes[0]._replace(free_kib=2 * GIB_KIB),))
    assert any("page cache that is not known" in note for note in made(full).notes)
    assert not any("memory free" in note for note in made(full, cache_kib={0: 100 * GIB_KIB}).notes)
    assert any("1% of its memory free: bound" in note for note in made(full, cache_kib={0: GIB_KIB}).notes)


def test_hot_roles_of_all_devices_are_placed_before_the_data_loading_of_any() -> None:
    plan = made(machine(Shape(2, 1, 1, 12), (0, 0)), roles={"main": 6, "minddata": 4}, reserve=2)
    assert [roles(plan, device)["main"] for device in range(2)] == ["2-7", "14-19"]


def test_a_role_that_no_node_holds_stays_in_one_package_where_that_can_hold_it() -> None:
    plan = made(machine(Shape(2, 2, 1, 4), (0,)), roles={"main": 6}, reserve=0)
    assert roles(plan, 0) == {"main": "0-5"}
    assert plan.notes[0] == "device 0: main is spread over nodes 0, 1, none has room for it"


def test_the_core_kept_by_default_is_given_up_before_a_hot_role_reaches_over_packages() -> None:
    on = machine(Shape(2, 1, 1, 8), (0,))
    assert roles(made(on, roles={"main": 8}), 0) == {"main": "0-7"}
    assert len({on.node_of[cpu] for cpu in made(on, roles={"main": 8}, reserve=1).shares[0].cpus}) == 2


def test_the_core_kept_by_default_is_given_up_before_a_device_leaves_its_node() -> None:
    plan = made(machine(Shape(2, 1, 1, 8), (0,) * 8))
    assert [str(share.cpus) for share in plan.shares] == [f"{at},{at + 8}" for at in range(8)]
    assert {str(share.memory) for share in plan.shares} == {"0"}
    alone = made(machine(Shape(2, 1, 1, 8), (0,) * 8), roles={"main": 1})
    assert [str(share.cpus) for share in alone.shares] == [str(at) for at in range(8)]


def odd_caches(sizes: Sequence[int], devices: Sequence[int]) -> Machine:
    on, found, at = machine(Shape(1, 1, 1, sum(sizes)), devices), [], 0
    for size in sizes:
        found.append(Cache(3, "Unified", 1 << 15, CpuSet.span(at, at + size - 1)))
        at += size
    return on._replace(caches=tuple(found))


WORST: Mapping[str, Machine] = {
    "one CPU": machine(Shape(1, 1, 1, 1), (0,)),
    "one core of eight threads": machine(Shape(1, 1, 1, 1, 8), (0,)),
    "four nodes a package, devices on few of them": machine(Shape(2, 4, 3, 8, 2), (0, 3, 3, 3, 5, 5, 7, 7)),
    "as many devices as cores": machine(Shape(2, 1, 1, 4, 2), (0,) * 8),
    "one core a device, and a package without devices": machine(Shape(2, 1, 1, 8, 2), (0,) * 7),
    "64 devices": machine(Shape(2, 2, 2, 16), tuple(at // 16 for at in range(64))),
    "siblings offline": machine(Shape(2, 1, 2, 8, 2), (0, 0, 1, 1), offline="32-63"),
    "a node offline": machine(Shape(2, 2, 1, 8, 2), (0, 1, 2, 3), offline="8-15,40-47"),
    "a node isolated": machine(Shape(2, 1, 2, 8, 2), (0, 0, 1, 1), isolated="0-15,32-47"),
    "one thread of each core isolated": machine(Shape(2, 1, 2, 8, 2), (0, 0, 1, 1), isolated="32-63"),
    "memory on one node only": with_memory(machine(Shape(2, 2, 1, 8), (0, 1, 2, 3)), {1: 0, 2: 0, 3: 0}),
    "memory-only nodes": with_memory_nodes(machine(Shape(2, 1, 1, 16, 2), (0, 0, 1, 1))),
    "fast and slow cores": hybrid((0, 0)),
    "caches of odd sizes": odd_caches((6, 8, 4, 8, 2), (0, 0, 0)),
    "sixteen nodes": machine(Shape(4, 4, 2, 8, 2), tuple(range(16))),
}


@pytest.mark.parametrize("name", WORST)
@pytest.mark.parametrize("smt", ["avoid", "use", "pair"])
def test_a_plan_for_the_worst_machines_is_checked_clean(name: str, smt: str) -> None:
    on = WORST[name]
    assert serious(made(on, smt=smt), on) == []


@settings(deadline=None)
@given(st.data())
def test_a_plan_without_given_sizes_is_checked_clean_on_any_machine(data: st.DataObject) -> None:
    shape = Shape(*(data.draw(st.integers(1, most)) for most in (3, 3, 3, 8, 3)))
    count = shape.packages * shape.nodes
    devices = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=8))
    cpus = range(count * shape.l3s * shape.cores * shape.threads)
    some = st.sets(st.sampled_from(cpus), max_size=6)
    gone, apart, bare = data.draw(some), data.draw(some), data.draw(st.sets(st.integers(0, count - 1), max_size=2))
    assume(len(gone) < len(cpus))
    on = machine(shape, devices, str(CpuSet.of(gone)), str(CpuSet.of(apart)))
    on = with_memory(on, dict.fromkeys(bare, 0))
    on = data.draw(st.sampled_from([on, with_memory_nodes(on)]))
    reserve = data.draw(st.none() | st.integers(0, 2))
    try:
        plan = made(on, reserve=reserve, smt=data.draw(st.sampled_from(["avoid", "use", "pair"])))
    except NoPlanError:
        return
    assert serious(plan, on) == []
