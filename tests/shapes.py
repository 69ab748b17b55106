"""Regular machines made by hand, by how many of what they have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numascope.cpuset import CpuSet
from numascope.machine.objects import Cache, Core, Cpus, Device, Group, Machine, Node, Package

GIB_KIB = 2**20


class Shape(NamedTuple):
    """A regular machine: packages × nodes × L3s × cores × threads; sibling n of CPU c is c + n × cores of all."""

    packages: int
    nodes: int
    l3s: int
    cores: int
    threads: int = 1
    cluster: int = 0


def machine(shape: Shape, devices: Sequence[int] = (), offline: str = "", isolated: str = "") -> Machine:
    """The machine of that shape; `devices` gives each accelerator's node."""
    per_node = shape.l3s * shape.cores
    total_nodes = shape.packages * shape.nodes
    all_cores = per_node * total_nodes
    gone = CpuSet.parse(offline)
    present = CpuSet.span(0, all_cores * shape.threads - 1)

    def threads(first: int, count: int) -> CpuSet:
        return (
            CpuSet.of(core + at * all_cores for core in range(first, first + count) for at in range(shape.threads))
            - gone
        )

    nodes, caches, cores, clusters = [], [], [], []
    for node in range(total_nodes):
        package = node // shape.nodes
        distances = {
            other: 10 if other == node else 12 if other // shape.nodes == package else 24
            for other in range(total_nodes)
        }
        nodes.append(
            Node(node, threads(node * per_node, per_node), 256 * GIB_KIB, 182 * GIB_KIB, (package,), None, distances)
        )
        base = node * per_node
        caches += [Cache(3, "Unified", 24576, threads(base + at * shape.cores, shape.cores)) for at in range(shape.l3s)]
        cores += [Core(threads(core, 1), package, None, node, core) for core in range(base, base + per_node)]
        if shape.cluster:
            firsts = range(0, per_node, shape.cluster)
            clusters += [Group(package, first, threads(base + first, shape.cluster)) for first in firsts]
    packages = tuple(
        Package(one, threads(one * shape.nodes * per_node, shape.nodes * per_node)) for one in range(shape.packages)
    )
    online = present - gone
    return Machine(
        "test", "aarch64", "made by hand",
        Cpus(present, present, online, gone, online, CpuSet.parse(isolated)),
        packages, (), tuple(clusters), (), (), tuple(nodes), CpuSet.span(0, total_nodes - 1), tuple(caches),
        tuple(core for core in cores if core.cpus), (),
        tuple(Device(f"0000:{at:02x}:00.0", 0x120000, "npu", 0x19E5, 0xD802, "Huawei", None, node, "numa_node", None)
              for at, node in enumerate(devices)),
        node_of={cpu: node.id for node in nodes for cpu in node.cpus},
    )  # fmt: skip
