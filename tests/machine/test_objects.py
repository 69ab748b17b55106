from __future__ import annotations

from shapes import Shape, machine

from numascope.cpuset import EMPTY, CpuSet


def test_nodes_of_cpus_are_those_that_list_them() -> None:
    on = machine(Shape(2, 1, 1, 4))
    assert str(on.nodes_of(CpuSet.parse("2-3"))) == "0"
    assert str(on.nodes_of(CpuSet.parse("3-4"))) == "0-1"
    assert on.nodes_of(EMPTY) == EMPTY


def test_a_cpu_that_no_node_lists_adds_none() -> None:
    on = machine(Shape(2, 1, 1, 4))
    assert str(on.nodes_of(CpuSet.parse("0,64"))) == "0"
    assert on._replace(node_of={}).nodes_of(CpuSet.parse("0-7")) == EMPTY
