"""A regular machine in one line, which `lstopo -i` and `numascope topo --synthetic` read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from numascope.errors import UsageError
from numascope.machine.hwloc.locality import own_cpus
from numascope.machine.objects import CACHE_LETTERS, Cache, Group, Machine, Node, Package
from numascope.machine.synthetic.numbers import loops_for
from numascope.show.topo.hwloc_tree import Branch, hwloc_tree
from numascope.show.topo.words import cpus_named, plural

_GROUPS: Final = frozenset({"Cluster", "Book", "Drawer"})
_ALIKE: Final = 0.9
"""Nodes of a regular machine differ by what firmware and kernel keep for themselves, which is far less than a tenth."""


def synthetic_text(machine: Machine) -> str:
    """The description of a machine whose objects of a level all hold the same; UsageError says which level does not.

    The memory of nodes is that of the first, as hwloc writes it, where all are known and alike within a tenth. Objects that are
    numbered by the firmware (packages, dies, cores), distances, devices, memory-side caches and what is offline have
    no words in a description.
    """
    tree = hwloc_tree(machine)
    if tree.left_out:
        raise _irregular(tree.left_out[0])
    level: list[Branch] = [tree.root]
    node_numbers = _nodes_inside_out(tree.root)
    localities = [(node.id, branch.cpus) for branch in _all(tree.root) for node in branch.nodes]
    if own_cpus(localities) != {node.id: node.cpus for node in machine.nodes}:
        raise _irregular("which node has which CPUs cannot be told, as nodes share CPUs or one without any comes first")
    words: list[str] = []
    while True:
        words += _memory_words(level, node_numbers)
        if any("indexes=" in word for word in words):
            node_numbers = []
        inside = _inside(level)
        if not inside:
            break
        words.append(_level_word(inside, len(inside) // len(level)))
        level = inside
    if level[0].type != "PU":
        raise _irregular("it has no hardware threads")
    return " ".join(words)


def _irregular(why: str) -> UsageError:
    return UsageError(f"not regular, so no synthetic description: {why}; --format xml can say it")


def _all(branch: Branch) -> list[Branch]:
    return [branch, *(found for child in branch.inside for found in _all(child))]


def _nodes_inside_out(branch: Branch) -> list[int]:
    """The nodes' numbers in the order in which hwloc makes them: those of inner objects first."""
    found = [number for child in branch.inside for number in _nodes_inside_out(child)]
    return found + [node.id for node in branch.nodes]


def _inside(level: Sequence[Branch]) -> list[Branch]:
    """The next level; UsageError where two objects hold different numbers or types of objects."""
    first = level[0]
    for branch in level:
        if len({child.type for child in branch.inside}) > 1:
            raise _irregular(f"{_name(branch)} holds {_held(branch)}")
        if _held(branch) != _held(first):
            raise _irregular(f"{_name(first)} holds {_held(first)}, {_name(branch)} holds {_held(branch)}")
    return [child for branch in level for child in branch.inside]


def _held(branch: Branch) -> str:
    counts: dict[str, int] = {}
    for child in branch.inside:
        counts[child.type] = counts.get(child.type, 0) + 1
    return ", ".join(f"{count} × {kind}" for kind, count in counts.items()) or "nothing"


def _name(branch: Branch) -> str:
    thing = branch.object
    if branch.type == "Machine":
        return "the machine"
    if isinstance(thing, Package | Group):
        return f"{branch.type} {thing.id}"
    return f"the {branch.type} of {cpus_named(branch.cpus)}"


def _memory_words(level: Sequence[Branch], numbers: Sequence[int]) -> list[str]:
    """`[NUMANode(memory=…)]` for each node that every object of a level has."""
    counts = {len(branch.nodes) for branch in level}
    if len(counts) > 1:
        first, other = level[0], next(branch for branch in level if len(branch.nodes) != len(level[0].nodes))
        hang = "hangs" if len(first.nodes) == 1 else "hang"
        raise _irregular(
            f"{plural(len(first.nodes), 'node')} {hang} at {_name(first)}, {len(other.nodes)} at {_name(other)}, of the level {first.type}"
        )
    words: list[str] = []
    for place in range(counts.pop()):
        nodes = [branch.nodes[place] for branch in level]
        indexes = _indexes(numbers) if not words else None
        words.append(f"[NUMANode{_attributes(('memory', _memory(nodes)), ('indexes', indexes))}]")
    return words


def _memory(nodes: Sequence[Node]) -> str | None:
    """Bytes of the first node, where all are known; UsageError where they are not alike."""
    sizes = [node.memory_kib for node in nodes if node.memory_kib is not None]
    if len(sizes) < len(nodes):
        return None
    if min(sizes) < max(sizes) * _ALIKE:
        smallest, largest = (
            next(node.id for node in nodes if node.memory_kib == end) for end in (min(sizes), max(sizes))
        )
        raise _irregular(f"nodes {smallest} and {largest} differ in memory by more than a tenth")
    return str(sizes[0] * 1024)


def _level_word(level: Sequence[Branch], count: int) -> str:
    first = level[0]
    if isinstance(first.object, Cache):
        caches = [branch.object for branch in level if isinstance(branch.object, Cache)]
        if len({(cache.type, cache.size_kib) for cache in caches}) > 1:
            raise _irregular(f"the caches of level {first.object.level} are not all of one type and size")
        size = None if first.object.size_kib is None else str(first.object.size_kib * 1024)
        return f"L{first.object.level}{CACHE_LETTERS[first.object.type]}Cache:{count}{_attributes(('size', size))}"
    if first.type == "PU":
        return f"PU:{count}{_attributes(('indexes', _indexes([branch.cpus.first for branch in level])))}"
    return f"{'Group' if first.type in _GROUPS else first.type}:{count}"


def _indexes(numbers: Sequence[int]) -> str | None:
    """How these numbers follow each other; None where they count from 0."""
    if list(numbers) == list(range(len(numbers))):
        return None
    loops = loops_for(numbers)
    return ",".join(map(str, numbers)) if loops is None else ":".join(f"{step}*{count}" for step, count in loops)


def _attributes(*pairs: tuple[str, str | None]) -> str:
    written = " ".join(f"{name}={value}" for name, value in pairs if value is not None)
    return f"({written})" if written else ""
