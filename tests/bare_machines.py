"""Small machines of CPUs and nodes alone, without cores, caches or devices: so many CPUs, dealt evenly to so many nodes."""

from __future__ import annotations

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.objects import Cpus, Machine, Node


def machine(cpus: int, nodes: int = 1, offline: CpuSet = EMPTY) -> Machine:
    """A machine of `cpus` CPUs in `nodes` NUMA nodes of consecutive CPUs, without those that are offline."""
    present = CpuSet.span(0, cpus - 1)
    online = present - offline
    share = cpus // nodes
    dealt = tuple(
        Node(node, CpuSet.span(node * share, node * share + share - 1) & online, memory_kib=None, free_kib=None)
        for node in range(nodes)
    )
    return Machine(
        source="by hand",
        arch=None,
        model=None,
        cpus=Cpus(present, present, online, offline, None, EMPTY),
        packages=(),
        dies=(),
        clusters=(),
        books=(),
        drawers=(),
        nodes=dealt,
        nodes_allowed=None,
        caches=(),
        cores=(),
        kinds=(),
        devices=(),
        node_of={cpu: node.id for node in dealt for cpu in node.cpus},
    )
