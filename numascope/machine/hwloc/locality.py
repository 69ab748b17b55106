"""Whose the CPUs are, where a description gives every node CPUs and those of nodes without any are their neighbours'."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.objects import Core, Group, Node, Package
from numascope.machine.within import sole_owners

_Holder = TypeVar("_Holder", Package, Group, Node)


def own_cpus(localities: Iterable[tuple[int, CpuSet]]) -> dict[int, CpuSet]:
    """Node → the CPUs that are its own: a CPU has one node, so of those that name it the smallest has it, of equals the lowest number, and the others have none."""
    found: dict[int, CpuSet] = {}
    taken = EMPTY
    for node, cpus in sorted(localities, key=lambda pair: (len(pair[1]), pair[0])):
        found[node] = cpus if cpus.isdisjoint(taken) else EMPTY
        taken |= found[node]
    return found


def packages_of(cpus: CpuSet, package_of: Mapping[int, int]) -> tuple[int, ...]:
    """The packages that these CPUs lie in, by rising number."""
    return tuple(sorted({package_of[cpu] for cpu in cpus if cpu in package_of}))


def nodes_by_cpu(nodes: Iterable[Node]) -> dict[int, int]:
    """CPU → the node that lists it, where one does alone."""
    return sole_owners((node.id, node.cpus) for node in nodes)


def core_at(
    cpus: CpuSet,
    packages: Mapping[int, Package],
    dies: Mapping[int, Group],
    nodes: Mapping[int, Node],
    core_id: int | None = None,
    kind: str | None = None,
) -> Core:
    """A core with what is around it, each found by its CPUs; a core that no node holds as a whole has no node."""
    first = cpus.first
    package, die, node = packages.get(first), dies.get(first), nodes.get(first)
    return Core(
        cpus,
        None if package is None else package.id,
        None if die is None else die.id,
        node.id if node is not None and cpus <= node.cpus else None,
        core_id,
        kind,
    )


def by_cpu(things: Sequence[_Holder]) -> dict[int, _Holder]:
    """CPU → the object that has it."""
    return {cpu: thing for thing in things for cpu in thing.cpus}
