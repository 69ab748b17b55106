"""What msrun computes for `true`, as MindSpore 2.10 itself answered with these devices, nodes and CPUs told to it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from shapes import Shape, machine

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.objects import Machine, Node
from numascope.plan.make.lscpu import unread_nodes
from numascope.plan.make.made import NoPlanError
from numascope.plan.make.msrun_auto import auto_cores, auto_nodes
from numascope.plan.make.seats import Seat

FOUR = machine(Shape(4, 1, 1, 6))
"""Four nodes of six CPUs."""


def npus(*nodes: int | None) -> tuple[Seat, ...]:
    return tuple(Seat(number, None, node, node) for number, node in enumerate(nodes))


def cores(
    seats: Sequence[Seat], workers: int = 2, on: Machine = FOUR, visible: Sequence[int] | None = None
) -> dict[int, str]:
    return {
        device: str(cpus) for device, cpus in auto_cores(on, on.cpus.online, seats, workers, visible).items() if cpus
    }


def nodes(
    seats: Sequence[Seat], workers: int = 2, on: Machine = FOUR, visible: Sequence[int] | None = None
) -> dict[int, str]:
    return {device: str(found) for device, found in auto_nodes(on, seats, workers, visible).items()}


def test_a_device_whose_node_alone_is_unknown_ends_msrun() -> None:
    with pytest.raises(NoPlanError, match="ends with KeyError here: it finds no node with CPUs for device 1"):
        cores(npus(0, None))


def test_where_no_node_is_known_cpus_are_counted_by_all_devices() -> None:
    assert cores(npus(None, None, None)) == {0: "0-7", 1: "8-15"}


def test_where_lscpu_writes_pairs_devices_get_runs_and_not_their_nodes() -> None:
    pairs = machine(Shape(2, 1, 1, 2))
    assert str(unread_nodes(pairs)) == "0-1"
    assert cores(npus(1, 0), on=pairs) == {0: "0-1", 1: "2-3"}


def test_fewer_cpus_than_devices_bind_nobody_though_they_are_enough_for_the_workers() -> None:
    assert cores(npus(0, 1, 2, 3, 0, 1, 2, 3), on=machine(Shape(4, 1, 1, 1))) == {}


def test_visible_devices_choose_among_all() -> None:
    assert cores(npus(3, 2, 1, 0), visible=(1, 2)) == {1: "12-17", 2: "6-11"}
    assert cores((), visible=(1, 2)) == {1: "12-23"}
    assert nodes(npus(3, 2, 1, 0), visible=(1, 2)) == {1: "2", 2: "1"}


def test_nodes_run_dry_for_a_device_that_no_worker_has() -> None:
    with pytest.raises(NoPlanError, match="StopIteration here: no node is left for device 2"):
        nodes(npus(0, 1, 0, 1), on=machine(Shape(2, 1, 1, 6)))


def test_a_worker_whose_device_has_no_known_node_gets_none_where_another_has() -> None:
    assert nodes(npus(1, None)) == {0: "1"}
    assert nodes(npus(*[None] * 6)) == {0: "0", 1: "1"}


def test_a_node_without_memory_is_given_to_nobody() -> None:
    without = FOUR._replace(nodes=(*FOUR.nodes[:3], FOUR.nodes[3]._replace(memory_kib=0)))
    assert nodes(npus(3, 2), on=without) == {0: "0", 1: "2"}


@pytest.mark.parametrize(
    ("cpus", "is_unread"),
    [
        ("0-23", False),
        ("0-2", False),
        ("0-5,12-17", False),
        ("0-1", True),
        ("0-5,12-13", True),
        ("3", True),
        ("", True),
    ],
)
def test_lscpu_writes_one_and_two_in_a_row_one_by_one(cpus: str, is_unread: bool) -> None:
    on = FOUR._replace(nodes=(Node(0, CpuSet.parse(cpus) if cpus else EMPTY, None, None),))
    assert bool(unread_nodes(on)) == is_unread
