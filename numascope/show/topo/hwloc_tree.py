"""A machine as the one tree that hwloc wants: every object inside another, NUMA nodes and devices hung where their CPUs are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.objects import Cache, Core, Device, Group, Machine, Node, Package
from numascope.show.topo.words import cpus_named

_TYPES: Final = (
    "Drawer", "Book", "Package", "Die", "Group", "Cluster", "L5Cache", "L4Cache",
    "L3Cache", "L3iCache", "L2Cache", "L2iCache", "L1Cache", "L1iCache", "Core", "PU",
)  # fmt: skip
"""hwloc's types, of objects with the same CPUs the outer first; drawers, books and clusters are its groups."""

_MOST_TRUSTED: Final = ("PU", "Package", "Group", "Core", "Die", *(kind for kind in _TYPES if kind.endswith("Cache")))
"""Where two objects cross each other, the one that stands earlier here stays; what is not here comes last."""

_DEEPEST_GROUPS: Final = 8
"""Groups made for nodes that lie inside each other; nodes of a machine that contradicts itself may be hundreds deep."""


class Thing(NamedTuple):
    """One object before it has a place: a Group without an object of ours is made for a node."""

    type: str
    cpus: CpuSet
    object: Package | Group | Cache | Core | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """One object with the nodes and devices that hang at it, and what lies inside it by lowest CPU; `numbers` are the nodes here and inside."""

    type: str
    cpus: CpuSet
    object: Package | Group | Cache | Core | None
    nodes: tuple[Node, ...]
    devices: tuple[Device, ...]
    inside: tuple[Branch, ...]
    numbers: CpuSet


@dataclass(frozen=True, slots=True)
class Tree:
    """The whole machine, and in words what does not fit into a tree."""

    root: Branch
    left_out: tuple[str, ...]


def hwloc_tree(machine: Machine) -> Tree:
    """Nests the objects of a machine by inclusion; an object that crosses another's border is left out, a node that does is hung at the root."""
    online = machine.cpus.online
    shelf = _Shelf(online)
    waiting = {node.id: node.cpus & online for node in machine.nodes if node.cpus}
    things = sorted(_things(machine), key=lambda thing: _trust(thing.type))
    first_core = next((at for at, thing in enumerate(things) if thing.type == "Core"), None)
    for at, thing in enumerate(things):
        if at == first_core:
            waiting = {number: cpus for number, cpus in waiting.items() if shelf.has_place_for(cpus)}
        shelf.put(thing)
    localities: dict[int, CpuSet] = {}
    for node in machine.nodes:
        near = waiting.get(node.id, EMPTY) if node.cpus else _nearest(machine, node)
        localities[node.id] = near if shelf.has_place_for(near) else online
        if node.cpus and localities[node.id] != node.cpus:
            shelf.left_out.append(f"the place of node {node.id}: its CPUs {node.cpus} cross other objects")
    return Tree(_grow(shelf, machine, localities), tuple(shelf.left_out))


def _things(machine: Machine) -> Iterable[Thing]:
    """Every object that hwloc has a type for, with its online CPUs."""
    online = machine.cpus.online
    dies = machine.dies if len(machine.dies) > len(machine.packages) else ()
    named: list[tuple[str, Sequence[Package | Group | Core]]] = [
        ("Drawer", machine.drawers),
        ("Book", machine.books),
        ("Package", machine.packages),
        ("Die", dies),
        ("Cluster", machine.clusters),
        ("Core", machine.cores),
    ]
    found = [Thing(kind, _within(one.cpus, online), one) for kind, objects in named for one in objects]
    found += [
        Thing(f"L{cache.level}{'i' if cache.type == 'Instruction' else ''}Cache", _within(cache.cpus, online), cache)
        for cache in machine.caches
        if not cache.memory_side
    ]
    found += [Thing("PU", CpuSet.of([cpu])) for cpu in online]
    return [thing for thing in found if thing.cpus]


def _within(cpus: CpuSet, online: CpuSet) -> CpuSet:
    """The online ones of these; the set itself where all are, as a copy of every set would double the memory."""
    return cpus if cpus <= online else cpus & online


def _trust(kind: str) -> int:
    return _MOST_TRUSTED.index(kind) if kind in _MOST_TRUSTED else len(_MOST_TRUSTED)


class _Shelf:
    """The objects that have a place, none of which crosses another."""

    def __init__(self, online: CpuSet) -> None:
        self.online = online
        self.things: list[Thing] = []
        self.left_out: list[str] = []
        self._holders: dict[int, list[int]] = {cpu: [] for cpu in online}
        self._groups: dict[int, int] = {}

    def put(self, thing: Thing) -> None:
        """Gives an object a place, or notes why there is none."""
        if thing.type not in _TYPES:
            self.left_out.append(f"{thing.type} of {cpus_named(thing.cpus)}: hwloc has no such type")
            return
        for index in self._touched(thing.cpus):
            other = self.things[index]
            if other.type == thing.type != "Group" or _cross(thing.cpus, other.cpus):
                self.left_out.append(
                    f"{thing.type} of {cpus_named(thing.cpus)}: crosses the {other.type} of {cpus_named(other.cpus)}"
                )
                return
        for cpu in thing.cpus:
            self._holders[cpu].append(len(self.things))
            self._groups[cpu] = self._groups.get(cpu, 0) + (thing.type == "Group")
        self.things.append(thing)

    def has_place_for(self, cpus: CpuSet) -> bool:
        """Whether some object has exactly these CPUs; where none has, a group is made for them if it crosses nothing."""
        if not cpus or not cpus <= self.online:
            return False
        if cpus != self.online and all(self.things[index].cpus != cpus for index in self._holders[cpus.first]):
            if any(self._groups.get(cpu, 0) >= _DEEPEST_GROUPS for cpu in cpus):
                return False
            if any(_cross(cpus, self.things[index].cpus) for index in self._touched(cpus)):
                return False
            self.put(Thing("Group", cpus))
        return True

    def _touched(self, cpus: CpuSet) -> set[int]:
        return {index for cpu in cpus for index in self._holders[cpu]}


def _cross(one: CpuSet, other: CpuSet) -> bool:
    return not one.isdisjoint(other) and not one <= other and not other <= one


def _nearest(machine: Machine, node: Node) -> CpuSet:
    """The CPUs that reach a node without CPUs best: by the firmware's access tables, else by its distances; empty: nobody says."""
    initiators = next((access.initiators for access in reversed(node.access) if access.initiators), EMPTY)
    with_cpus = [other for other in machine.nodes if other.cpus]
    near = [other for other in with_cpus if other.id in initiators]
    if not near:
        told = {other.id: node.distances[other.id] for other in with_cpus if other.id in node.distances}
        near = [other for other in with_cpus if told and told.get(other.id) == min(told.values())]
    found = EMPTY
    for other in near:
        found |= other.cpus
    return found


def _grow(shelf: _Shelf, machine: Machine, localities: dict[int, CpuSet]) -> Branch:
    """The tree, with each node at the outermost object below the root that has its CPUs."""
    sizes = {len(thing.cpus) for thing in shelf.things if thing.type == "Group"}
    others = {thing.cpus.bits for thing in shelf.things if thing.type != "Group" and len(thing.cpus) in sizes}
    kept = [thing for thing in shelf.things if thing.type != "Group" or thing.cpus.bits not in others]
    order = _order(kept)
    things = sorted(kept, key=lambda thing: (-len(thing.cpus), order[thing.type]))
    parents = _parents(things)
    children: dict[int | None, list[int]] = {}
    for index in sorted(range(len(things)), key=lambda index: things[index].cpus.first):
        children.setdefault(parents[index], []).append(index)
    outermost: dict[int, int] = {}
    sizes = {len(cpus) for cpus in localities.values()}
    for index, thing in enumerate(things):
        if len(thing.cpus) in sizes:
            outermost.setdefault(thing.cpus.bits, index)
    nodes_at: dict[int | None, list[Node]] = {}
    devices_at: dict[int | None, list[Device]] = {}
    for node in machine.nodes:
        if node.id in localities:
            nodes_at.setdefault(outermost.get(localities[node.id].bits), []).append(node)
    for device in machine.devices:
        near = None if device.node is None else localities.get(device.node)
        devices_at.setdefault(None if near is None else outermost.get(near.bits), []).append(device)

    def branch(index: int | None, thing: Thing) -> Branch:
        inside = tuple(branch(child, things[child]) for child in children.get(index, ()))
        nodes = tuple(nodes_at.get(index, ()))
        numbers = CpuSet.of(node.id for node in nodes)
        for child in inside:
            if child.numbers:
                numbers |= child.numbers
        return Branch(thing.type, thing.cpus, thing.object, nodes, tuple(devices_at.get(index, ())), inside, numbers)

    return branch(None, Thing("Machine", machine.cpus.online))


def _parents(things: Sequence[Thing]) -> list[int | None]:
    """The object right around each, of things that are sorted from large to small; None is the root."""
    innermost: dict[int, int] = {}
    found: list[int | None] = []
    for index, thing in enumerate(things):
        found.append(innermost.get(thing.cpus.first))
        innermost.update(dict.fromkeys(thing.cpus, index))
    return found


def _order(things: Iterable[Thing]) -> dict[str, int]:
    """Which type is the outer of two with the same CPUs: what contains the other anywhere, else by the table.

    One order must hold for the whole machine, or hwloc cannot tell its levels apart: where a core has two caches of level 1
    they lie inside it, so a core with one of the same CPUs holds it too.
    """
    by_size = sorted(things, key=lambda thing: -len(thing.cpus))
    parents = _parents(by_size)
    around: dict[str, set[str]] = {}
    for index, thing in enumerate(by_size):
        above = parents[index]
        while above is not None:
            if thing.cpus < by_size[above].cpus:
                around.setdefault(thing.type, set()).add(by_size[above].type)
            above = parents[above]
    left = list(_TYPES)
    order: dict[str, int] = {}
    while left:
        free = [kind for kind in left if not (around.get(kind, set()) - {kind}) & set(left)]
        chosen = (free or left)[0]
        left.remove(chosen)
        order[chosen] = len(order)
    return order
