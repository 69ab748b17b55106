"""Notes on what a machine leaves out, in the number of what they speak of, with paths."""

from __future__ import annotations

from numascope.cpuset import EMPTY, CpuSet
from numascope.host.parse import Memory
from numascope.host.system.cpus import CpuRecord, Place
from numascope.host.system.lists import NodeRecord
from numascope.machine import quirks

UNKNOWN = Memory(None, None)


def cpu(number: int, **places: Place) -> CpuRecord:
    return CpuRecord(number, None, places, (), None, None)


def node(number: int, cpus: CpuSet, *distances: int) -> NodeRecord:
    return NodeRecord(number, cpus, UNKNOWN, distances or None, ())


def test_cpus_whose_topology_tells_nothing_are_named_with_the_path() -> None:
    told = cpu(0, core=Place(0, None))
    assert quirks.cpus_without_topology([told], CpuSet.of([0])) is None
    assert quirks.cpus_without_topology([told, cpu(1)], CpuSet.span(0, 1)) == (
        "CPU 1 has no readable topology files (/sys/devices/system/cpu/cpu1/topology): its core and package are unknown"
    )
    assert quirks.cpus_without_topology([told, cpu(1), cpu(2)], CpuSet.span(0, 2)) == (
        "CPUs 1-2 have no readable topology files (/sys/devices/system/cpu/cpu1/topology and 1 more): "
        "their cores and packages are unknown"
    )


def test_cpus_of_no_node_are_named_with_the_files_that_do_not_list_them() -> None:
    nodes = [node(0, CpuSet.span(0, 1))]
    node_of = {0: 0, 1: 0}
    assert quirks.cpus_of_no_node(node_of, nodes, CpuSet.span(0, 1)) is None
    assert quirks.cpus_of_no_node(node_of, nodes, CpuSet.span(0, 2)) == (
        "CPU 2 is in no node (no /sys/devices/system/node/node*/cpulist lists it)"
    )
    assert quirks.cpus_of_no_node(node_of, nodes, CpuSet.span(0, 3)) == (
        "CPUs 2-3 are in no node (no /sys/devices/system/node/node*/cpulist lists them)"
    )


def test_one_cpu_without_a_directory_is_one() -> None:
    assert quirks.online_without_directory(CpuSet.span(0, 1), [cpu(0)]) == (
        "CPU 1 is online but has no directory (/sys/devices/system/cpu/cpu1): left out"
    )
    assert quirks.online_without_directory(CpuSet.span(0, 2), [cpu(0)]) == (
        "CPUs 1-2 are online but have no directory (/sys/devices/system/cpu/cpu1 and 1 more): left out"
    )


def test_one_node_with_a_row_of_another_length_is_one() -> None:
    rows, note = quirks.distance_rows([node(0, EMPTY, 10), node(1, EMPTY, 20, 10)])
    assert rows == {1: {0: 20, 1: 10}}
    assert note == (
        "node 0 has distances to another number of nodes (/sys/devices/system/node/node0/distance): left out"
    )


def test_one_node_that_lists_one_cpu_that_is_off_is_one() -> None:
    assert quirks.cpus_that_are_off([node(2, CpuSet.span(4, 5))], CpuSet.of([5])) == (
        "node 2 lists CPU 4, which is not online (/sys/devices/system/node/node2/cpulist): left out"
    )
    assert quirks.cpus_that_are_off([node(0, CpuSet.of([4])), node(1, CpuSet.of([6]))], EMPTY) == (
        "nodes list CPUs 4,6, which are not online (/sys/devices/system/node/node0/cpulist and 1 more): left out"
    )
