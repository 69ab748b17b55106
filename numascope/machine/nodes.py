"""The NUMA nodes with all that is told of their memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from numascope.cpuset import EMPTY, CpuSet
from numascope.host.root import HostRoot
from numascope.host.system import memory as node_memory
from numascope.host.system.lists import NodeRecord
from numascope.machine.objects import Access, HugePages, Node, Package
from numascope.machine.within import sole_owners


class Memories(NamedTuple):
    """What is told of the memory of all nodes beyond their sizes; empty where it was not asked for."""

    kinds: Mapping[int, str] = {}
    tiers: Mapping[int, CpuSet] = {}
    huge_pages: Mapping[int, tuple[HugePages, ...]] = {}
    access: Mapping[int, tuple[Access, ...]] = {}
    offline: CpuSet = EMPTY


def read_memories(root: HostRoot, records: Sequence[NodeRecord]) -> Memories:
    """Kinds, tiers, huge pages and HMAT figures of these nodes."""
    numbers = [record.number for record in records]
    return Memories(
        node_memory.read_node_kinds(root),
        node_memory.read_tiers(root),
        {node: tuple(HugePages(*one) for one in node_memory.read_huge_pages(root, node)) for node in numbers},
        {node: tuple(Access(*one) for one in node_memory.read_access(root, node)) for node in numbers},
        node_memory.read_offline_nodes(root),
    )


def build_nodes(
    records: Sequence[NodeRecord],
    online: CpuSet,
    packages: Sequence[Package],
    distances: Mapping[int, Mapping[int, int]],
    memories: Memories,
) -> tuple[Node, ...]:
    """The nodes by id, with their online CPUs and the packages that these lie in."""
    return tuple(_node(record, online, packages, distances.get(record.number, {}), memories) for record in records)


def _node(
    record: NodeRecord, online: CpuSet, packages: Sequence[Package], distances: Mapping[int, int], memories: Memories
) -> Node:
    cpus = (record.cpus or EMPTY) & online
    number = record.number
    return Node(
        number,
        cpus,
        record.memory.total_kib,
        record.memory.free_kib,
        tuple(package.id for package in packages if not package.cpus.isdisjoint(cpus)),
        memories.kinds.get(number),
        distances,
        memories.huge_pages.get(number, ()),
        memories.access.get(number, ()),
        next((tier for tier, nodes in sorted(memories.tiers.items()) if number in nodes), None),
    )


def node_of_each(records: Sequence[NodeRecord], online: CpuSet) -> dict[int, int]:
    """CPU → node for every online CPU that exactly one node lists."""
    return sole_owners((node.number, (node.cpus or EMPTY) & online) for node in records)
