"""A part of a machine: what is left of it within some CPUs and nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

from numascope.cpuset import CpuSet
from numascope.machine.objects import (
    Cache,
    Core,
    CoreKind,
    Cpus,
    FrequencyPolicy,
    Group,
    Machine,
    Node,
    Package,
    Part,
)

RENUMBERED: Final = "only a part of the machine: its devices are numbered anew from d0"
"""The note of a part that leaves out a device before one that it keeps."""

_Thing = TypeVar("_Thing", Package, Group, Core, CoreKind, FrequencyPolicy)


def part_of(machine: Machine, cpus: CpuSet, nodes: CpuSet) -> Machine:
    """The machine cut down to these CPUs and nodes, with its `part` set where that leaves out a node or an online CPU.

    Every set of CPUs is intersected but the local CPUs of devices, which are what the kernel says of the device, and
    what then has no CPU is left out. A node stays by its number, with or without CPUs, and so does a device of one of
    these nodes; a device of unknown node is left out with a note, unless every node stays.
    """
    every_node = CpuSet.of(node.id for node in machine.nodes)
    kept = every_node & nodes
    cut = _cut_down(machine, cpus, nodes, has_all_nodes=kept == every_node)
    if machine.part is None and kept == every_node and machine.cpus.online <= cpus:
        return cut
    whole = every_node if machine.part is None else machine.part.whole
    return cut._replace(part=Part(kept, whole))


def _cut_down(machine: Machine, cpus: CpuSet, nodes: CpuSet, *, has_all_nodes: bool) -> Machine:
    kept_nodes = tuple(_node(node, cpus, nodes, machine.packages) for node in machine.nodes if node.id in nodes)
    lost = [] if has_all_nodes else [device for device in machine.devices if device.node is None]
    devices = tuple(
        device for device in machine.devices if (has_all_nodes if device.node is None else device.node in nodes)
    )
    notes = [f"of unknown node, so not in this part: {', '.join(device.address for device in lost)}"] if lost else []
    if devices != machine.devices[: len(devices)] and RENUMBERED not in machine.notes:
        notes.append(RENUMBERED)
    return machine._replace(
        cpus=_cpus(machine.cpus, cpus),
        packages=_cut(machine.packages, cpus),
        dies=_cut(machine.dies, cpus),
        clusters=_cut(machine.clusters, cpus),
        books=_cut(machine.books, cpus),
        drawers=_cut(machine.drawers, cpus),
        nodes=kept_nodes,
        nodes_allowed=None if machine.nodes_allowed is None else machine.nodes_allowed & nodes,
        nodes_offline=machine.nodes_offline & nodes,
        caches=_caches(
            machine.caches, cpus, memory_only=any(not one.cpus and one.id in nodes for one in machine.nodes)
        ),
        cores=tuple(
            core._replace(node=core.node if core.node is not None and core.node in nodes else None)
            for core in _cut(machine.cores, cpus)
        ),
        kinds=_cut(machine.kinds, cpus),
        devices=devices,
        policies=_cut(machine.policies, cpus),
        notes=(*machine.notes, *notes),
        node_of={cpu: node for cpu, node in machine.node_of.items() if cpu in cpus and node in nodes},
    )


def _cut(things: Iterable[_Thing], cpus: CpuSet) -> tuple[_Thing, ...]:
    """The objects within these CPUs; those that have none there are left out."""
    return tuple(thing._replace(cpus=thing.cpus & cpus) for thing in things if thing.cpus & cpus)


def _caches(caches: Iterable[Cache], cpus: CpuSet, *, memory_only: bool) -> tuple[Cache, ...]:
    """The same for caches; the memory-side cache of a node without CPUs goes with the nodes without CPUs."""
    return tuple(
        cache._replace(cpus=cache.cpus & cpus)
        for cache in caches
        if cache.cpus & cpus or (cache.memory_side and not cache.cpus and memory_only)
    )


def _cpus(all_cpus: Cpus, cpus: CpuSet) -> Cpus:
    return Cpus(
        possible=all_cpus.possible & cpus,
        present=all_cpus.present & cpus,
        online=all_cpus.online & cpus,
        offline=all_cpus.offline & cpus,
        allowed=None if all_cpus.allowed is None else all_cpus.allowed & cpus,
        isolated=all_cpus.isolated & cpus,
        nohz_full=all_cpus.nohz_full & cpus,
        rcu_nocbs=all_cpus.rcu_nocbs & cpus,
        partitioned=all_cpus.partitioned & cpus,
    )


def _node(node: Node, cpus: CpuSet, nodes: CpuSet, packages: Iterable[Package]) -> Node:
    gone = {package.id for package in packages if not package.cpus & cpus}
    return node._replace(
        cpus=node.cpus & cpus,
        packages=tuple(number for number in node.packages if number not in gone),
        distances={other: distance for other, distance in node.distances.items() if other in nodes},
        access=tuple(access._replace(initiators=access.initiators & nodes) for access in node.access),
    )
