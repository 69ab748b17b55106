"""The one ordered walk over a machine: what contains what, and what overlaps without containing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from numascope.cpuset import CpuSet
from numascope.machine.objects import Cache, Group, Machine, Node, Package

Kind = Literal["package", "die", "node", "cache"]

_RANK: Final[dict[Kind, int]] = {"package": 0, "die": 1, "node": 2, "cache": 3}
"""Of two objects with the same CPUs, the one of lower rank is drawn around the other."""

_LAST_LEVEL: Final = 3
"""Caches from this level up are places in the machine; smaller ones are a property of cores."""


class Place(NamedTuple):
    """One object of the walk with what lies inside it, both in the machine's order."""

    kind: Kind
    cpus: CpuSet
    thing: Package | Group | Node | Cache
    inside: tuple[Place, ...] = ()

    @property
    def number(self) -> int | None:
        """The kernel's id; caches have none."""
        return None if isinstance(self.thing, Cache) else self.thing.id


class Overlap(NamedTuple):
    """An object that lies in several others of one kind, none of which contains it."""

    place: Place
    kind: Kind
    numbers: tuple[int, ...]


class Walk(NamedTuple):
    """Every package, node and large cache exactly once: as a tree of inclusion, and the overlaps that it cannot draw."""

    tops: tuple[Place, ...]
    memory_only: tuple[Node, ...]
    overlaps: tuple[Overlap, ...]


def walk(machine: Machine) -> Walk:
    """Orders a machine for drawing: packages, dies, nodes, then caches of level 3 and above."""
    places = _places(machine)
    holders: dict[int, list[int]] = {}
    for index, place in enumerate(places):
        for cpu in place.cpus:
            holders.setdefault(cpu, []).append(index)
    contradictory = _nodes_that_share(places, holders)
    parents = [_parent(places, index, holders, contradictory) for index in range(len(places))]
    children: dict[int | None, list[int]] = {}
    for index in sorted(range(len(places)), key=lambda index: _drawing_order(places, index)):
        children.setdefault(parents[index], []).append(index)
    for siblings in children.values():
        if not contradictory and len({places[index].kind for index in siblings} & {"package", "node"}) > 1:
            siblings.sort(key=lambda index: places[index].cpus.first)

    def grow(index: int) -> Place:
        place = places[index]
        return Place(place.kind, place.cpus, place.thing, tuple(grow(child) for child in children.get(index, [])))

    return Walk(
        tuple(grow(index) for index in children.get(None, [])),
        tuple(node for node in machine.nodes if not node.cpus),
        tuple(_overlaps(places, holders, contradictory)),
    )


def _drawing_order(places: Sequence[Place], index: int) -> tuple[int, int]:
    """By kind, and as the machine lists them."""
    return _RANK[places[index].kind], index


def _places(machine: Machine) -> list[Place]:
    found = [Place("package", package.cpus, package) for package in machine.packages]
    if len(machine.dies) > len(machine.packages):
        found += [Place("die", die.cpus, die) for die in machine.dies]
    found += [Place("node", node.cpus, node) for node in machine.nodes if node.cpus]
    found += [Place("cache", cache.cpus, cache) for cache in machine.caches if is_in_tree(cache)]
    return found


def is_in_tree(cache: Cache) -> bool:
    """Whether a cache is a place of its own in the walk: level 3 and above."""
    return cache.level >= _LAST_LEVEL and not cache.memory_side


def _nodes_that_share(places: Sequence[Place], holders: dict[int, list[int]]) -> frozenset[int]:
    """Nodes that list CPUs of each other; they neither contain anything nor lie in anything."""
    shared: set[int] = set()
    for holding in holders.values():
        nodes = [index for index in holding if places[index].kind == "node"]
        if len(nodes) > 1:
            shared.update(nodes)
    return frozenset(shared)


def _parent(
    places: Sequence[Place], index: int, holders: dict[int, list[int]], contradictory: frozenset[int]
) -> int | None:
    """The smallest object of another kind that contains this one; caches are drawn inside, never around."""
    if index in contradictory:
        return None
    place = places[index]
    around = [
        other
        for other in holders[place.cpus.first]
        if other not in contradictory
        and places[other].kind not in ("cache", place.kind)
        and (
            place.cpus < places[other].cpus
            or (place.cpus == places[other].cpus and _RANK[places[other].kind] < _RANK[place.kind])
        )
    ]
    return min(around, key=lambda other: (len(places[other].cpus), -_RANK[places[other].kind]), default=None)


def _overlaps(places: Sequence[Place], holders: dict[int, list[int]], contradictory: frozenset[int]) -> list[Overlap]:
    """What crosses the border of something else, and caches that span nodes."""
    found = []
    for index, place in enumerate(places):
        if index in contradictory:
            continue
        touched = sorted({other for cpu in place.cpus for other in holders[cpu]} - {index} - contradictory)
        for kind in ("package", "node"):
            others = [places[other] for other in touched if places[other].kind == kind]
            crossed = [other for other in others if not other.cpus <= place.cpus and not place.cpus <= other.cpus]
            spans_nodes = place.kind == "cache" and kind == "node" and len(others) > 1
            if kind != place.kind and (spans_nodes or (crossed and _RANK[kind] < _RANK[place.kind])):
                found.append(Overlap(place, kind, tuple(other.number for other in others if other.number is not None)))
    return found
