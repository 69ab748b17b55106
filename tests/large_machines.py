"""Two large servers as values, at which the text of the topology is measured."""

from __future__ import annotations

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.objects import Cache, Core, Cpus, Device, Group, Machine, Node, Package

GIB = 1 << 20


def _machine(
    model: str,
    arch: str,
    packages: list[CpuSet],
    nodes: list[Node],
    clusters: list[Group],
    caches: list[Cache],
    cores: list[Core],
    devices: list[Device],
) -> Machine:
    online = CpuSet.of(cpu for package in packages for cpu in package)
    return Machine(
        source="by hand",
        arch=arch,
        model=model,
        cpus=Cpus(online, online, online, EMPTY, online, EMPTY),
        packages=tuple(Package(number, cpus) for number, cpus in enumerate(packages)),
        dies=(),
        clusters=tuple(clusters),
        books=(),
        drawers=(),
        nodes=tuple(nodes),
        nodes_allowed=CpuSet.of(node.id for node in nodes),
        caches=tuple(caches),
        cores=tuple(cores),
        kinds=(),
        devices=tuple(devices),
        node_of={cpu: node.id for node in nodes for cpu in node.cpus},
    )


def kunpeng() -> Machine:
    """Four Kunpeng-920 packages with two nodes each, and eight NPUs near every second node."""
    free = [182.4, 183.0, 141.7, 1.2, 180.9, 183.1, 181.8, 182.2]
    nodes = [
        Node(
            number,
            CpuSet.span(number * 24, number * 24 + 23),
            256 * GIB,
            round(free[number] * GIB),
            (number // 2,),
            None,
            {other: 10 if other == number else 12 if other // 2 == number // 2 else 24 for other in range(8)},
        )
        for number in range(8)
    ]
    each = [CpuSet.of([cpu]) for cpu in range(192)]
    caches = [
        Cache(level, kind, kib, cpus)
        for level, kind, kib in ((1, "Data", 64), (1, "Instruction", 64), (2, "Unified", 512))
        for cpus in each
    ]
    addresses = {"0000:01:00.0": 0, "0000:02:00.0": 0, "0000:41:00.0": 2, "0000:42:00.0": 2}
    addresses |= {"0000:81:00.0": 4, "0000:82:00.0": 4, "0000:c1:00.0": 6, "0000:c2:00.0": 6}
    return _machine(
        "Kunpeng-920",
        "aarch64",
        [CpuSet.span(number * 48, number * 48 + 47) for number in range(4)],
        nodes,
        [Group(number // 12, number, CpuSet.span(number * 4, number * 4 + 3)) for number in range(48)],
        caches + [Cache(3, "Unified", 24 << 10, node.cpus) for node in nodes],
        [Core(cpus, cpus.first // 48, None, cpus.first // 24) for cpus in each],
        [
            Device(address, 0x120000, "npu", 0x19E5, 0xD801, "Huawei", None, node, "numa_node", None)
            for address, node in addresses.items()
        ],
    )


def epyc() -> Machine:
    """Two EPYC 9654 packages of one node each, twelve L3 caches a node, two threads a core."""
    both = [CpuSet.of([core, core + 192]) for core in range(192)]
    packages = [CpuSet.span(0, 95) | CpuSet.span(192, 287), CpuSet.span(96, 191) | CpuSet.span(288, 383)]
    caches = [
        Cache(level, kind, kib, cpus)
        for level, kind, kib in ((1, "Data", 32), (1, "Instruction", 32), (2, "Unified", 1024))
        for cpus in both
    ]
    complexes = [CpuSet.span(at, at + 7) | CpuSet.span(at + 192, at + 199) for at in range(0, 192, 8)]
    return _machine(
        "AMD EPYC 9654",
        "x86_64",
        packages,
        [
            Node(number, cpus, 755 * GIB, round(free * GIB), (number,), None, {number: 10, 1 - number: 32})
            for number, cpus, free in ((0, packages[0], 604.2), (1, packages[1], 611.8))
        ],
        [],
        caches + [Cache(3, "Unified", 32 << 10, cpus) for cpus in complexes],
        [Core(cpus, cpus.first // 96, None, cpus.first // 96) for cpus in both],
        [
            Device(f"0000:{bus:02x}:00.0", 0x030200, "gpu", 0x10DE, 0x2330, "NVIDIA", None, node, "numa_node", None)
            for bus, node in ((0x03, 0), (0x23, 0), (0x43, 0), (0x63, 0), (0x83, 1), (0xA3, 1), (0xC3, 1), (0xE3, 1))
        ],
    )
