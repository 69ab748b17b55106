"""What differs between two machines, or one before and after a change of its firmware: object by object, pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, Self

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.hwloc.xml import TELLS_NOT
from numascope.machine.objects import CACHE_LETTERS, Cache, Device, FrequencyPolicy, Group, Machine, Node


class Difference(NamedTuple):
    """One fact of one object; `before` None: the object or fact is new, `after` None: it is gone."""

    kind: str
    name: str
    fact: str
    before: str | None
    after: str | None


class Comparison(tuple[Difference, ...]):  # noqa: SLOT001 - a tuple takes no slots that are named
    """The differences; what only one of the two machines tells is none, and is named apart."""

    untold_before: tuple[str, ...]
    """What the second tells and the first does not."""
    untold_after: tuple[str, ...]
    """What the first tells and the second does not."""

    def __new__(cls, found: Iterable[Difference], before: Iterable[str] = (), after: Iterable[str] = ()) -> Self:
        """The differences in order, and what the first and the second do not tell."""
        made = super().__new__(cls, found)
        made.untold_before, made.untold_after = tuple(dict.fromkeys(before)), tuple(dict.fromkeys(after))
        return made


class _Untold(NamedTuple):
    """What one of the two does not tell."""

    is_after: bool
    what: str


_Found = Difference | _Untold


def compare(before: Machine, after: Machine) -> Comparison:
    """Every difference, from the machine down to its devices; free memory and other things that flow are left out.

    What one side does not know is no difference, nor is what its source has no words for: an hwloc file and a
    description in words tell of no isolation, clocks or bridges, and where they have no object of a kind there may be some.
    """
    pair = (before, after)
    found: list[_Found] = [*_facts("machine", "", *map(_machine_facts, pair))]
    for kind, objects in (("package", _packages), ("die", _dies), ("book", _books), ("drawer", _drawers),
                          ("node", _nodes)):  # fmt: skip
        found += _objects(kind, pair, objects)
    kinds, sizes = _told_by(pair, "core kinds", _tells_kinds), _told_by(pair, "cache sizes", _tells_sizes)
    found += [*kinds, *sizes]
    found += _sorts("cores", pair, lambda one: _core_sorts(one, has_kinds=not kinds))
    found += _sorts("clusters", pair, _cluster_sorts)
    found += _sorts("caches", pair, lambda one: _cache_sorts(one, has_sizes=not sizes))
    found += _objects("device", pair, _devices)
    found += _sorts("clocks", pair, _clock_sorts)
    untold = [one for one in found if isinstance(one, _Untold)]
    return Comparison(
        (one for one in found if isinstance(one, Difference)),
        (one.what for one in untold if not one.is_after),
        (one.what for one in untold if one.is_after),
    )


def _is_synthetic(machine: Machine) -> bool:
    return machine.source == "synthetic" and machine.arch is None


def _is_described(machine: Machine) -> bool:
    """Whether it was read from a description, which tells less than a kernel's files."""
    return TELLS_NOT in machine.notes or _is_synthetic(machine)


_Pair = tuple[Machine, Machine]
_Facts = Mapping[str, str | None]
"""Fact → its words, empty for none; None: not told."""


def _machine_facts(machine: Machine) -> _Facts:
    cpus = machine.cpus
    of_kernel = {
        "isolated": cpus.isolated,
        "nohz_full": cpus.nohz_full,
        "rcu_nocbs": cpus.rcu_nocbs,
        "partitioned": cpus.partitioned,
    }
    untold = of_kernel if _is_described(machine) else machine.untold
    return {
        "architecture": machine.arch,
        "model": machine.model,
        "hypervisor": machine.platform.hypervisor,
        "online CPUs": str(cpus.online),
        "offline CPUs": None if _is_synthetic(machine) else str(cpus.offline),
        **{f"{field} CPUs": None if field in untold else str(those) for field, those in of_kernel.items()},
    }


def _packages(machine: Machine) -> dict[str, _Facts]:
    return {str(one.id): {"CPUs": str(one.cpus)} for one in machine.packages}


def _dies(machine: Machine) -> dict[str, _Facts]:
    """Those that are not a whole package: hwloc and older kernels leave such a die out."""
    wholes = {package.cpus for package in machine.packages}
    return _groups(die for die in machine.dies if die.cpus not in wholes)


def _books(machine: Machine) -> dict[str, _Facts]:
    return _groups(machine.books)


def _drawers(machine: Machine) -> dict[str, _Facts]:
    return _groups(machine.drawers)


def _groups(groups: Iterable[Group]) -> dict[str, _Facts]:
    return {
        str(one.id) if one.package is None else f"{one.id} of package {one.package}": {"CPUs": str(one.cpus)}
        for one in groups
    }


def _nodes(machine: Machine) -> dict[str, _Facts]:
    return {str(node.id): _node_facts(node) for node in machine.nodes}


def _node_facts(node: Node) -> _Facts:
    pools = [f"{one.total} × {one.size_kib} KiB" for one in node.huge_pages if one.total]
    return {
        "CPUs": str(node.cpus),
        "memory": None if node.memory_kib is None else _memory(node.memory_kib),
        "kind": node.kind,
        "tier": None if node.tier is None else str(node.tier),
        "distances": " ".join(f"{other}:{distance}" for other, distance in node.distances.items()) or None,
        "huge pages": "; ".join(pools) if node.huge_pages else None,
    }


def _memory(kib: int) -> str:
    """To the GiB, or a tenth where there is little: what a kernel keeps for itself differs from boot to boot."""
    size = kib / (1 << 20)
    return f"{size:.0f} GiB" if size >= 16 else f"{size:.1f} GiB"


def _devices(machine: Machine) -> dict[str, _Facts]:
    has_bridges = not _is_described(machine)
    return {one.address: _device_facts(one, has_bridges=has_bridges) for one in machine.devices}


def _device_facts(device: Device, *, has_bridges: bool) -> _Facts:
    """What it is and where; hwloc leaves bridges out that it finds of no use, and numbers those of the host by what is left below them."""
    return {
        "kind": device.kind,
        "id": f"{device.vendor_id:04x}:{device.device_id:04x}",
        "node": "unknown" if device.node is None else str(device.node),
        "bridges": " ".join(device.path[:-1]) or None if has_bridges else None,
    }


def _one_sided(what: str, pair: _Pair, sides: tuple[object, object]) -> list[_Untold]:
    """Where one side has nothing, and may have so because its source is a description: what it does not tell."""
    return [
        _Untold(bool(at), what)
        for at, machine in enumerate(pair)
        if not sides[at] and sides[1 - at] and _is_described(machine)
    ]


def _objects(kind: str, pair: _Pair, objects: Callable[[Machine], dict[str, _Facts]]) -> Iterator[_Found]:
    """Objects of one kind with their facts, by name; those of the first machine first."""
    old, new = map(objects, pair)
    if untold := _one_sided(f"{kind}s", pair, (old, new)):
        yield from untold
        return
    for key in dict.fromkeys([*old, *new]):
        if key in old and key in new:
            yield from _facts(kind, key, old[key], new[key])
        else:
            words = ", ".join(f"{fact} {value}" for fact, value in (old.get(key) or new[key]).items() if value)
            yield Difference(kind, key, "", words if key in old else None, words if key in new else None)


def _facts(kind: str, name: str, before: _Facts, after: _Facts) -> Iterator[_Found]:
    for fact, old in before.items():
        new = after[fact]
        if old is None or new is None:
            if old or new:
                yield _Untold(new is None, f"{kind} {fact}" if name else fact)
        elif old != new:
            yield Difference(kind, name, fact, old or None, new or None)


_Sorts = Mapping[str, tuple[int, CpuSet]]
"""What objects have in common → how many there are, and their CPUs."""


def _sorts(kind: str, pair: _Pair, sorts: Callable[[Machine], _Sorts]) -> Iterator[_Found]:
    """Objects that are many and have no names: by what they have in common."""
    before, after = map(sorts, pair)
    if untold := _one_sided(kind, pair, (before, after)):
        yield from untold
        return
    for sort in dict.fromkeys([*before, *after]):
        old, new = before.get(sort), after.get(sort)
        if old != new:
            yield Difference(
                kind, sort, "", *(None if one is None else f"{one[0]} on CPUs {one[1]}" for one in (old, new))
            )


def _told_by(pair: _Pair, what: str, tells: Callable[[Machine], bool | None]) -> list[_Untold]:
    """What keeps objects of both apart that only one side tells; None: it has none of these objects."""
    told = [tells(machine) for machine in pair]
    return [_Untold(bool(at), what) for at in (0, 1) if told[at] is False and told[1 - at]]


def _tells_kinds(machine: Machine) -> bool | None:
    return any(core.kind for core in machine.cores) if machine.cores else None


def _tells_sizes(machine: Machine) -> bool | None:
    return any(cache.size_kib is not None for cache in machine.caches) if machine.caches else None


def _sorted_by(things: Iterable[tuple[str, CpuSet]]) -> _Sorts:
    counts: Counter[str] = Counter()
    cpus: dict[str, CpuSet] = {}
    for sort, own in things:
        counts[sort] += 1
        cpus[sort] = cpus.get(sort, EMPTY) | own
    return {sort: (counts[sort], cpus[sort]) for sort in counts}


def _core_sorts(machine: Machine, *, has_kinds: bool) -> _Sorts:
    return _sorted_by(
        (f"{_threads(core.cpus)}{f', {core.kind}' if has_kinds and core.kind else ''}", core.cpus)
        for core in machine.cores
    )


def _cluster_sorts(machine: Machine) -> _Sorts:
    return _sorted_by((f"of {len(cluster.cpus)} CPUs", cluster.cpus) for cluster in machine.clusters)


def _threads(cpus: CpuSet) -> str:
    steps = ",".join(str(cpu - cpus.first) for cpu in cpus if cpu != cpus.first)
    return f"of {len(cpus)} threads (n, n+{steps.replace(',', ', n+')})" if steps else "of 1 thread"


def _cache_sorts(machine: Machine, *, has_sizes: bool) -> _Sorts:
    return _sorted_by((_cache_sort(cache, has_size=has_sizes), cache.cpus) for cache in machine.caches)


def _cache_sort(cache: Cache, *, has_size: bool) -> str:
    side = "memory-side " if cache.memory_side else ""
    size = "size ?" if cache.size_kib is None else f"{cache.size_kib} KiB"
    return (
        f"{side}L{cache.level}{CACHE_LETTERS[cache.type]}, {f'{size}, ' if has_size else ''}for {len(cache.cpus)} CPUs"
    )


def _clock_sorts(machine: Machine) -> _Sorts:
    """Those that say anything."""
    known = (one for one in machine.policies if any((one.governor, one.min_khz, one.max_khz)))
    return _sorted_by((_clock_sort(policy), policy.cpus) for policy in known)


def _clock_sort(policy: FrequencyPolicy) -> str:
    return f"{policy.governor or 'governor ?'}, {policy.min_khz or '?'}-{policy.max_khz or '?'} kHz"
