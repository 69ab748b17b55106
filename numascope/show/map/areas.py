"""A machine cut into what the map draws: areas (nodes or packages) of groups of columns of CPUs, at each level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.show.map.threads import thread_places

Level = Literal["thread", "core", "cluster", "L3", "node", "package"]

_GROUP_CORES: Final = 4
"""A group is the smallest cache or cluster that this many cores share."""
_LARGEST_GROUP: Final = 8
_LONGEST_GROUP: Final = 12
"""A longer run of cores without such a group gets a gap after every eighth."""

Groups = tuple[tuple[tuple[int, ...], ...], ...]
"""Groups of columns; a column is the CPUs of one cell, at level thread those of one core."""


@dataclass(frozen=True)
class Area:
    """A node (or package, or all CPUs) as the map draws it; `folds` are its groups bundled by last-level cache."""

    name: str
    node: int | None
    package: int | None
    cpus: CpuSet
    folds: tuple[Groups, ...]
    threads: int
    group: str
    rows: Mapping[int, int] = field(default_factory=dict)
    """CPU → which thread of its core it is; empty: its place in the column."""

    def column_rows(self, column: tuple[int, ...]) -> dict[int, int]:
        """Row → CPU of a column of one core's threads."""
        return {self.rows.get(cpu, at): cpu for at, cpu in enumerate(column)}

    def pieces(self, number: int) -> tuple[Groups, ...]:
        """The area in so many equal pieces, cut only between last-level caches."""
        size = max(1, len(self.folds) // number)
        bundles = [self.folds[at : at + size] for at in range(0, len(self.folds), size)] or [()]
        return tuple(tuple(group for fold in bundle for group in fold) for bundle in bundles)


def levels_of(machine: Machine) -> tuple[Level, ...]:
    """The levels that tell something apart on this machine, finest first."""
    threads = any(len(core.cpus) > 1 for core in machine.cores)
    found: list[Level] = ["thread", "core"] if threads else ["thread"]
    if any(len(one.cpus) > 1 for one in machine.clusters):
        found.append("cluster")
    if any(cache.level >= 3 for cache in machine.caches):
        found.append("L3")
    if machine.nodes:
        found.append("node")
    if len(machine.packages) < max(2, len(machine.nodes)):
        found.append("package")
    return tuple(found)


def areas_of(machine: Machine, level: Level) -> tuple[Area, ...]:
    """The machine's areas at a level, nodes by number; a machine that names no nodes is cut by package."""
    if level in ("node", "package"):
        return _coarse(machine, level)
    return tuple(_area(machine, level, name, node, package, cpus) for name, node, package, cpus in _bounds(machine))


def _bounds(machine: Machine) -> list[tuple[str, int | None, int | None, CpuSet]]:
    found: list[tuple[str, int | None, int | None, CpuSet]] = []
    rest = machine.cpus.online
    for node in machine.nodes:
        here = node.cpus & rest
        if here:
            found.append((f"N{node.id}", node.id, node.packages[0] if node.packages else None, here))
            rest = rest - here
    for package in machine.packages:
        if package.cpus & rest:
            found.append((f"P{package.id}", None, package.id, package.cpus & rest))
            rest = rest - package.cpus
    if rest:
        found.append(("CPU", None, None, rest))
    return found


def _coarse(machine: Machine, level: Level) -> tuple[Area, ...]:
    """One area that holds one cell for each node or package of each package."""
    areas = []
    for name, node, package, cpus in _bounds(machine) if level == "node" else _packages(machine):
        column: Groups = (((tuple(cpus)),),)
        areas.append(Area(name, node, package, cpus, (column,), 1, ""))
    return tuple(areas)


def _packages(machine: Machine) -> list[tuple[str, int | None, int | None, CpuSet]]:
    """The packages; CPUs of none of them are an area of their own."""
    found: list[tuple[str, int | None, int | None, CpuSet]] = []
    rest = machine.cpus.online
    for package in machine.packages:
        if package.cpus & rest:
            found.append((f"P{package.id}", None, package.id, package.cpus & rest))
            rest = rest - package.cpus
    return [*found, ("CPU", None, None, rest)] if rest else found


def _area(machine: Machine, level: Level, name: str, node: int | None, package: int | None, cpus: CpuSet) -> Area:
    places = thread_places(machine)
    cores = sorted(_cores(machine, cpus), key=lambda core: places[core[0]].core if places else core[0])
    rows = {cpu: places[cpu].row for cpu in cpus} if places else {}
    threads = max((1 + rows.get(core[-1], len(core) - 1) for core in cores), default=1)
    last_level = _shared(machine, cpus, least=3)
    if level in ("cluster", "L3"):
        sets = [one.cpus & cpus for one in machine.clusters] if level == "cluster" else last_level
        columns = _covering([one for one in sets if one], cores)
        if level == "L3":
            return Area(name, node, package, cpus, tuple(((column,),) for column in columns), 1, "")
        return Area(name, node, package, cpus, ((tuple(columns),),), 1, "")
    folds: list[Groups] = []
    word = ""
    for bundle in _bundles(cores, last_level):
        groups, word = _grouped(machine, cpus, bundle)
        folds.append(groups)
    return Area(name, node, package, cpus, tuple(folds), threads, word, rows)


def _cores(machine: Machine, cpus: CpuSet) -> list[tuple[int, ...]]:
    """Each core's CPUs within the area, in order of the lowest; a CPU of no known core is a core of its own."""
    found: list[tuple[int, ...]] = []
    rest = cpus
    for core in machine.cores:
        here = core.cpus & rest
        if here:
            found.append(tuple(here))
            rest = rest - here
    found.extend((cpu,) for cpu in rest)
    return sorted(found)


def _shared(machine: Machine, cpus: CpuSet, *, least: int) -> list[CpuSet]:
    sets = {cache.cpus & cpus for cache in machine.caches if cache.level >= least and not cache.memory_side}
    return sorted((one for one in sets if one), key=lambda one: (one.first, len(one), one.bits))


def _covering(sets: Sequence[CpuSet], cores: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The sets as columns, then what none of them holds."""
    found: list[tuple[int, ...]] = []
    rest = CpuSet.of(cpu for core in cores for cpu in core)
    for one in sets:
        if one & rest:
            found.append(tuple(one & rest))
            rest = rest - one
    if rest:
        found.append(tuple(rest))
    return sorted(found)


def _bundles(cores: Sequence[tuple[int, ...]], sets: Sequence[CpuSet]) -> list[list[tuple[int, ...]]]:
    """The cores bundled by the first set that holds them, in the order of their first core; those of no set are one bundle."""
    bundles: dict[int, list[tuple[int, ...]]] = {}
    for core in cores:
        holder = next((at for at, one in enumerate(sets) if core[0] in one), -1)
        bundles.setdefault(holder, []).append(core)
    return list(bundles.values())


def _grouped(machine: Machine, cpus: CpuSet, cores: list[tuple[int, ...]]) -> tuple[Groups, str]:
    """The cores of one bundle in groups, and the words for a group."""
    bundle = CpuSet.of(cpu for core in cores for cpu in core)
    clusters = [(one.cpus & cpus, "cluster") for one in machine.clusters]
    caches = [(one.cpus & cpus, f"L{one.level}") for one in machine.caches if one.level > 1 and not one.memory_side]
    sized = sorted(
        ((_core_count(one, cores), one, word) for one, word in (*clusters, *caches) if one and one <= bundle),
        key=lambda entry: (entry[0], entry[1].first),
    )
    smallest = next((count for count, _, _ in sized if count >= _GROUP_CORES), None)
    if smallest is not None and smallest <= _LONGEST_GROUP:
        chosen = [(one, word) for count, one, word in sized if count == smallest]
        word = chosen[0][1]
        groups = _bundles(cores, [one for one, _ in chosen])
        return tuple(tuple(group) for group in groups), f"group = {word} ({smallest} cores)"
    if len(cores) <= _LARGEST_GROUP:
        return (tuple(cores),), ""
    parts = [tuple(cores[at : at + _LARGEST_GROUP]) for at in range(0, len(cores), _LARGEST_GROUP)]
    return tuple(parts), f"gap after every {_LARGEST_GROUP} cores"


def _core_count(cpus: CpuSet, cores: Sequence[tuple[int, ...]]) -> int:
    return sum(1 for core in cores if core[0] in cpus)
