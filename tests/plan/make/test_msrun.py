from __future__ import annotations

import pytest
from large_machines import kunpeng
from shapes import Shape, machine

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine, Node
from numascope.plan.make.made import Made, NoPlanError
from numascope.plan.make.msrun import MsrunWish, make_msrun
from numascope.plan.make.msrun_auto import auto_cores, auto_nodes
from numascope.plan.make.seats import Seat

NEAR = (6, 6, 4, 4, 2, 2, 0, 0)
"""The nodes of the eight NPUs of a machine of eight nodes with 24 CPUs each."""


def seats(nodes: tuple[int | None, ...] = NEAR) -> tuple[Seat, ...]:
    return tuple(Seat(number, None, node, node) for number, node in enumerate(nodes))


def roles(plan: Made, device: int) -> dict[str, str]:
    return {one.role: str(one.cpus) for one in plan.shares[device].roles}


def default(on: Machine | None = None) -> Made:
    on = on or kunpeng()
    return make_msrun(on, MsrunWish(on.cpus.online, seats()))


def test_the_generator_s_defaults_on_eight_nodes_of_24_cpus() -> None:
    plan = default()
    assert roles(plan, 0) == {"runtime": "148-152", "minddata": "153-156", "main": "157-163"}
    assert roles(plan, 1) == {"runtime": "28-32", "minddata": "33-36", "main": "37-43"}
    assert [str(share.memory) for share in plan.shares] == ["6", "1", "4", "3", "2", "5", "0", "7"]
    assert str(plan.scheduler) == "20-23"
    assert plan.fixed_actors


def test_its_known_defects_are_named() -> None:
    notes = "\n".join(default().notes)
    assert "device 1 is near node 6 and gets node 1, distance 24" in notes
    assert "the scheduler's CPUs 20-23 lie in the slice of device 6, in no role" in notes
    assert "64 CPUs of the devices' slices are in no role" in notes


def test_devices_by_number_alone_are_paired_with_nodes_in_order() -> None:
    on = kunpeng()
    plan = make_msrun(on, MsrunWish(on.cpus.online, seats(), knows_nodes=False))
    assert roles(plan, 1)["runtime"] == "28-32"
    assert [str(share.memory) for share in plan.shares] == [str(node) for node in range(8)]


def test_more_devices_than_nodes_without_their_nodes_is_an_error_of_the_generator() -> None:
    on = machine(Shape(1, 1, 1, 64))
    with pytest.raises(NoPlanError, match="wants a node for each of 2 devices: there are 1"):
        make_msrun(on, MsrunWish(on.cpus.online, seats((None, None))))


def test_a_slice_shorter_than_the_positions_is_an_error_of_the_generator() -> None:
    on = machine(Shape(2, 1, 1, 8))
    with pytest.raises(NoPlanError, match="device0 gets 8 CPUs, and its runtime is to have those at positions 4-8"):
        make_msrun(on, MsrunWish(on.cpus.online, seats((0, 1))))


def test_positions_and_the_scheduler_s_base_are_options() -> None:
    on = machine(Shape(2, 1, 1, 8))
    wish = MsrunWish(
        on.cpus.online, seats((0, 1)), runtime=(0, 1), minddata=(2, 3), main=(4, 6), pynative=(0, 3), scheduler=(7, 7),
        scheduler_base="device0",
    )  # fmt: skip
    plan = make_msrun(on, wish)
    assert roles(plan, 1) == {"runtime": "8-9", "minddata": "10-11", "main": "12-14", "pynative": "8-11"}
    assert str(plan.scheduler) == "7"
    assert "device 1: runtime and pynative share CPUs 8-9" in plan.notes


def test_the_scheduler_gets_free_cpus_where_a_small_node_leaves_24_of_a_large_one() -> None:
    on = machine(Shape(1, 2, 1, 64))
    large, small = on.nodes
    nodes = (large._replace(cpus=CpuSet.span(0, 99)), small._replace(cpus=CpuSet.span(100, 127)))
    on = on._replace(nodes=nodes, node_of={cpu: cpu // 100 for cpu in range(128)})
    plan = make_msrun(on, MsrunWish(on.cpus.online, seats((0, 1))))
    assert roles(plan, 1)["main"] == "113-119"
    assert str(plan.scheduler) == "84-87"


def test_siblings_in_two_roles_and_lists_that_lscpu_tells_otherwise_are_named() -> None:
    on = machine(Shape(2, 1, 1, 24, 2))
    notes = "\n".join(make_msrun(on, MsrunWish(on.cpus.online, seats((0, 0, 1, 1)))).notes)
    assert "cores are split between two roles or devices, such as" in notes
    odd = on._replace(nodes=(*on.nodes, Node(2, CpuSet(), None, None)))
    notes = "\n".join(make_msrun(odd, MsrunWish(on.cpus.online, seats((0, 1)))).notes)
    assert "themselves fail here: they cannot read lscpu's CPUs of node 2" in notes


SMALL = MsrunWish(CpuSet(), (), runtime=(0, 1), minddata=(2, 3), main=(4, 5), scheduler=(0, 1))
"""Positions for slices of six CPUs."""


@pytest.mark.parametrize(
    ("near", "shape", "allowed", "starts", "nodes", "scheduler"),
    [
        ((1, None, 1), Shape(4, 1, 1, 6), "0-23", ["6-7", "0-1", "12-13"], "102", "0-1"),
        ((None, 0, 0), Shape(3, 1, 1, 8), "0-23", ["8-9", "0-1", "16-17"], "102", "0-1"),
        ((None, None), Shape(4, 1, 1, 6), "0-23", ["0-1", "12-13"], "01", "0-1"),
        ((3, 1), Shape(4, 1, 1, 6), "0,2,4,6,8,10,12,14,16,18,20,22", ["18,20", "6,8"], "31", "0,2"),
    ],
)
def test_what_the_generator_does_where_nodes_are_unknown_or_half_allowed(
    near: tuple[int | None, ...], shape: Shape, allowed: str, starts: list[str], nodes: str, scheduler: str
) -> None:
    """Its answers where these devices, nodes and CPUs are told to it."""
    plan = make_msrun(machine(shape), SMALL._replace(allowed=CpuSet.parse(allowed), seats=seats(near)))
    assert [roles(plan, device)["runtime"] for device in range(len(near))] == starts
    assert "".join(str(share.memory) for share in plan.shares) == nodes
    assert str(plan.scheduler) == scheduler


@pytest.mark.parametrize(("near", "shape"), [((1, 1, 1), Shape(2, 1, 1, 6)), ((0, 0, 0), Shape(2, 1, 1, 12))])
def test_a_device_that_finds_too_few_cpus_ends_the_generator(near: tuple[int, ...], shape: Shape) -> None:
    on = machine(shape)
    with pytest.raises(NoPlanError, match="its main is to have those at positions 4-5"):
        make_msrun(on, SMALL._replace(allowed=on.cpus.online, seats=seats(near)))


FULL = ["144-167", "24-47", "96-119", "72-95", "48-71", "120-143", "0-23", "168-191"]
HALF = ["24-35", "36-47", "72-83", "84-95", "48-59", "60-71", "0-11", "12-23"]


@pytest.mark.parametrize(
    ("allowed", "workers", "wanted"), [("0-191", 8, FULL), ("0-191", 4, FULL[:4]), ("0-95", 8, HALF)]
)
def test_bind_core_true_is_what_msrun_was_seen_to_compute(allowed: str, workers: int, wanted: list[str]) -> None:
    found = auto_cores(kunpeng(), CpuSet.parse(allowed), seats(), workers)
    assert [str(found[worker]) for worker in range(workers)] == wanted


def test_bind_core_true_without_devices_is_equal_runs_and_the_last_takes_the_rest() -> None:
    on = machine(Shape(1, 1, 1, 8))
    assert {at: str(cpus) for at, cpus in auto_cores(on, on.cpus.online, (), 3).items()} == {
        0: "0-1",
        1: "2-3",
        2: "4-7",
    }
    assert auto_cores(on, CpuSet.span(0, 1), (), 3) == {}


def test_bind_numa_true_is_what_msrun_was_seen_to_compute() -> None:
    found = auto_nodes(kunpeng(), seats(), 8)
    assert [str(found[worker]) for worker in range(8)] == ["6", "1", "4", "3", "2", "5", "0", "7"]
    assert auto_nodes(machine(Shape(1, 1, 1, 2)), (), 2) == {}


def test_bind_numa_true_runs_dry_where_msrun_ends_with_stop_iteration() -> None:
    on = kunpeng()
    four = on._replace(nodes=on.nodes[:4])
    with pytest.raises(NoPlanError, match="StopIteration"):
        auto_nodes(four, seats(), 4)
