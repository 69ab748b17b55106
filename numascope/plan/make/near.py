"""Which node is next: by the firmware's distance, then by number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.machine.quirks import implicit_node

NO_NODE: Final = -1
"""Where CPUs are counted that no node lists."""

_FAR: Final = 1 << 16
"""Where the firmware gives no distance: behind every node that it gives one of."""


def by_distance(machine: Machine, start: int | None, nodes: Iterable[int]) -> list[int]:
    """The nodes from near to far; from an unknown start by number."""
    here = None if start is None else machine.node(start)

    def far(node: int) -> tuple[int, int]:
        if start is None or node == start:
            return (0 if node == start else 1), node
        distance = None if here is None else here.distances.get(node)
        return _FAR if distance is None else distance, node

    return sorted(nodes, key=far)


def has_no_nodes(machine: Machine) -> bool:
    """Whether the kernel is one without NUMA support, which lists no nodes; the machine's node 0 then stands for all of it."""
    return implicit_node() in machine.notes


def memory_near(machine: Machine, node: int | None, *, with_cpus: bool = False) -> CpuSet | None:
    """The nearest node with memory that this user may use; None where there is none, nothing is known of nodes, or the kernel has none.

    `with_cpus` leaves out nodes that have memory only, at which MindSpore ends.
    """
    allowed = machine.nodes_allowed
    able = [
        one.id
        for one in machine.nodes
        if one.memory_kib != 0 and (not allowed or one.id in allowed) and (one.cpus or not with_cpus)
    ]
    if node is None or node == NO_NODE or not able or has_no_nodes(machine):
        return None
    return CpuSet.of(by_distance(machine, node, able)[:1])


def distance_words(machine: Machine, start: int, end: int) -> str:
    """`, distance 24`; nothing where the firmware gives none."""
    distance = machine.distance(start, end)
    return "" if distance is None else f", distance {distance}"


def node_words(node: int) -> str:
    """`node 3`; the CPUs that no node lists have the number `NO_NODE`."""
    return "no node" if node == NO_NODE else f"node {node}"
