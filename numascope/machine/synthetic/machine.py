"""A machine that nobody has to own: made from a synthetic description such as `package:2 node:2 l3:2 core:4 pu:2`."""

from __future__ import annotations

from collections.abc import Sequence

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.hwloc.locality import by_cpu, core_at, nodes_by_cpu, own_cpus, packages_of
from numascope.machine.objects import Cache, Cpus, Group, Machine, Node, Package
from numascope.machine.synthetic.numbers import numbers_of
from numascope.machine.synthetic.parse import Level, Memory, Written, parse_synthetic, refuse


def synthetic_machine(text: str) -> Machine:
    """The machine of a description; InputError names the column (`synthetic:COL`) of what is wrong.

    Each level says how many there are inside each object above: `package` (socket), `die`, `node`, `cluster`, `group`,
    `l5` to `l1` (`l1` is `l1d`; `l1i`), `core`, and last `pu`. A node may have `(memory=16GiB)`, a cache `(size=32MiB)`;
    nodes may be attached instead, `package:2 [numa(memory=16GiB)] [numa(memory=4GiB)]`, where the second has no CPUs of its
    own. CPUs are numbered as they come; `pu:2(threads=last)` numbers second threads after all first ones, as x86 servers do,
    and `pu:2(indexes=…)` takes any order, as hwloc writes it. A group inside a package without a node is a cluster.
    """
    levels = parse_synthetic(text)
    sets = _LevelSets(levels)
    online = CpuSet.of(sets.numbers)
    packages = tuple(Package(number, cpus) for number, cpus in enumerate(sets.of("package")))
    package_of = {cpu: package.id for package in packages for cpu in package.cpus}
    dies = _groups(sets.of("die"), package_of)
    nodes = _nodes(sets, levels, package_of)
    numbered = {node.id: node for node in nodes}
    node_of = nodes_by_cpu(nodes)
    homes = {cpu: numbered[node] for cpu, node in node_of.items()}
    packages_at, dies_at = by_cpu(packages), by_cpu(dies)
    has_nodes = any(level.memories for level in levels)
    return Machine(
        source="synthetic",
        arch=None,
        model=None,
        cpus=Cpus(online, online, online, EMPTY, online, EMPTY),
        packages=packages,
        dies=dies,
        clusters=_groups(_clusters(sets, levels), package_of),
        books=(),
        drawers=(),
        nodes=nodes,
        nodes_allowed=CpuSet.of(numbered),
        caches=tuple(_caches(sets, levels)),
        cores=tuple(core_at(cpus, packages_at, dies_at, homes) for cpus in _ordered(sets.of("core"))),
        kinds=(),
        devices=(),
        notes=() if has_nodes else ("the description has no node: node 0 stands for the whole machine",),
        node_of=node_of,
    )


class _LevelSets:
    """The CPUs of the objects of each level, in their order; levels of as many objects share one list."""

    def __init__(self, levels: Sequence[Level]) -> None:
        self.levels = levels
        threads = levels[-1]
        written = threads.indexes
        if threads.threads_last:
            if written is not None:
                refuse(written.column, "either indexes or threads=last, not both")
            written = Written(f"{threads.count}*{threads.width // threads.count}:1*{threads.count}", threads.column)
        self.numbers = numbers_of(written, threads.width, levels[1:-1])
        self._by_width: dict[int, list[CpuSet]] = {}

    def of_level(self, level: Level) -> list[CpuSet]:
        """The sets of one level."""
        found = self._by_width.get(level.width)
        if found is None:
            each = len(self.numbers) // level.width
            found = [CpuSet.of(self.numbers[at : at + each]) for at in range(0, len(self.numbers), each)]
            self._by_width[level.width] = found
        return found

    def of(self, kind: str) -> list[CpuSet]:
        """The sets of the level of that type, none where there is no such level."""
        return next((self.of_level(level) for level in self.levels if level.type == kind), [])


def _ordered(sets: Sequence[CpuSet]) -> list[CpuSet]:
    return sorted(sets, key=lambda cpus: cpus.first)


def _groups(sets: Sequence[CpuSet], package_of: dict[int, int]) -> tuple[Group, ...]:
    """Dies or clusters, numbered within their package."""
    seen: dict[int | None, int] = {}
    found = []
    for cpus in sets:
        package = package_of.get(cpus.first)
        found.append(Group(package, seen.get(package, 0), cpus))
        seen[package] = seen.get(package, 0) + 1
    return tuple(found)


def _clusters(sets: _LevelSets, levels: Sequence[Level]) -> list[CpuSet]:
    """Of a level of clusters, else of the innermost groups inside packages that have no node."""
    kinds = [level.type for level in levels]
    if "cluster" in kinds:
        return sets.of("cluster")
    inner = levels[kinds.index("package") :] if "package" in kinds else []
    groups = [level for level in inner if level.type == "group" and not level.memories]
    return sets.of_level(groups[-1]) if groups else []


def _caches(sets: _LevelSets, levels: Sequence[Level]) -> list[Cache]:
    found = [
        Cache(*level.cache, level.size_kib, cpus)
        for level in levels
        if level.cache is not None
        for cpus in sets.of_level(level)
    ]
    return sorted(found, key=lambda cache: (cache.level, cache.type, cache.cpus.first))


def _nodes(sets: _LevelSets, levels: Sequence[Level], package_of: dict[int, int]) -> tuple[Node, ...]:
    """The nodes by number: numbered inner ones first, as hwloc does, unless the description gives numbers."""
    places = [level for level in levels if level.memories]
    found: list[tuple[CpuSet, Memory]] = []

    def visit(depth: int, number: int) -> None:
        level = places[depth]
        if depth + 1 < len(places):
            each = places[depth + 1].width // level.width
            for inner in range(number * each, (number + 1) * each):
                visit(depth + 1, inner)
        found.extend((sets.of_level(level)[number], memory) for memory in level.memories)

    if places:
        for number in range(places[0].width):
            visit(0, number)
    else:
        found.append((sets.of_level(levels[0])[0], Memory()))
    written = [memory.indexes for level in places for memory in level.memories if memory.indexes is not None]
    numbers = numbers_of(written[0] if written else None, len(found))
    cpus = own_cpus((number, locality) for number, (locality, _) in zip(numbers, found, strict=True))
    sizes = {number: memory.size_kib for number, (_, memory) in zip(numbers, found, strict=True)}
    return tuple(
        Node(number, cpus[number], sizes[number], None, packages_of(cpus[number], package_of))
        for number in sorted(cpus)
    )
