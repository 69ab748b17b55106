"""Packages, dies, cores, caches and kinds out of what each CPU says of its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from numascope.cpuset import EMPTY, CpuSet
from numascope.host.system.clocks import PolicyRecord
from numascope.host.system.cpus import CpuRecord
from numascope.host.system.lists import CPU_DIRECTORY, NodeRecord
from numascope.machine import contradictions, quirks
from numascope.machine.objects import Cache, Core, CoreKind, FrequencyPolicy, Group, Package

ALIKE: Final = 0.9
"""CPUs whose highest frequency is within a tenth of each other are of one kind: single favoured cores are faster by less."""


def online_records(records: Sequence[CpuRecord], online: CpuSet) -> list[CpuRecord]:
    """The records of online CPUs, by rising number."""
    return [record for record in records if record.number in online]


def build_packages(records: Sequence[CpuRecord], online: CpuSet) -> tuple[tuple[Package, ...], str | None]:
    """The packages by id, with a note where the kernel's ids cannot be used or contradict its lists of siblings."""
    settled, odd = contradictions.settled_packages(records, online)
    found = _sets(settled, online, "package", {})
    numbers, unusable = quirks.usable_package_ids([(number, cpus) for _, number, cpus in found], _where(found))
    packages = [Package(number, cpus) for number, (_, _, cpus) in zip(numbers, found, strict=True)]
    return tuple(sorted(packages, key=lambda package: package.id)), "; ".join(filter(None, (odd, unusable))) or None


def _where(found: Sequence[tuple[int | None, int | None, CpuSet]]) -> str:
    """` (path and 3 more)` of the files with the ids of packages, where there are such files."""
    cpus = CpuSet.of(cpus.first for _, number, cpus in found if number is not None)
    return f" ({quirks.files(cpus, f'/{CPU_DIRECTORY}/cpu{{}}/topology/physical_package_id')})" if cpus else ""


def build_groups(
    records: Sequence[CpuRecord], online: CpuSet, level: str, package_of: Mapping[int, int]
) -> tuple[Group, ...]:
    """The groups of one level: dies and clusters within packages, books and drawers above them."""
    inside = package_of if level in ("die", "cluster") else {}
    found = _sets(records, online, level, inside)
    groups = [Group(package, number, cpus) for package, number, cpus in found if number is not None]
    return tuple(
        sorted(groups, key=lambda group: (-1 if group.package is None else group.package, group.id, group.cpus.first))
    )


def build_cores(
    records: Sequence[CpuRecord],
    online: CpuSet,
    package_of: Mapping[int, int],
    dies: Sequence[Group],
    node_of: Mapping[int, int],
    kinds: Sequence[CoreKind],
) -> tuple[Core, ...]:
    """The cores by lowest CPU."""
    die_of = {cpu: die.id for die in dies for cpu in die.cpus}
    kind_of = {cpu: kind.kind for kind in kinds for cpu in kind.cpus}
    cores = []
    for package, number, cpus in _sets(records, online, "core", package_of):
        homes = {node_of.get(cpu) for cpu in cpus}
        home = homes.pop() if len(homes) == 1 else None
        cores.append(Core(cpus, package, die_of.get(cpus.first), home, number, kind_of.get(cpus.first)))
    return tuple(cores)


def build_caches(
    records: Sequence[CpuRecord], online: CpuSet, nodes: Sequence[NodeRecord], node_cpus: Mapping[int, CpuSet]
) -> tuple[Cache, ...]:
    """The caches by level, type and lowest CPU; memory-side caches stand in front of a node's memory and come last."""
    found: dict[tuple[int, str, int], Cache] = {}
    for record in records:
        for cache in record.caches:
            bits = quirks.sharers_of_cache(record.number, cache.cpus).bits & online.bits
            key = (cache.level, cache.type, bits)
            if bits and key not in found:
                found[key] = Cache(cache.level, cache.type, cache.size_kib, CpuSet(bits))
    ordered = contradictions.one_cache_each(
        sorted(found.values(), key=lambda cache: (cache.level, cache.type, cache.cpus.first, -len(cache.cpus)))
    )
    sides = [
        Cache(level, "Unified", size_kib, node_cpus[node.number], memory_side=True)
        for node in nodes
        for level, size_kib in node.side_caches
    ]
    return (*ordered, *sides)


def build_kinds(records: Sequence[CpuRecord], listed: Mapping[str, CpuSet]) -> tuple[CoreKind, ...]:
    """The kinds of cores, by lowest CPU; none where all are alike or nothing tells."""
    by_pmu = {record.number: kind for kind, cpus in listed.items() for record in records if record.number in cpus}
    ways: tuple[Callable[[CpuRecord], object], ...] = (
        lambda record: by_pmu.get(record.number),
        lambda record: record.capacity,
        _speed_steps(records),
    )
    for way in ways:
        sets: dict[object, list[CpuRecord]] = {}
        for record in records:
            sets.setdefault(way(record), []).append(record)
        if len(sets) > 1 and None not in sets:
            return tuple(_kind(members, by_pmu) for members in sets.values())
    return ()


def _kind(members: Sequence[CpuRecord], by_pmu: Mapping[int, str]) -> CoreKind:
    capacities = {record.capacity for record in members}
    speeds = [record.max_khz for record in members if record.max_khz is not None]
    return CoreKind(
        CpuSet.of(record.number for record in members),
        by_pmu.get(members[0].number),
        capacities.pop() if len(capacities) == 1 else None,
        max(speeds, default=None),
    )


def build_policies(records: Sequence[PolicyRecord], online: CpuSet) -> tuple[FrequencyPolicy, ...]:
    """The frequency policies of online CPUs, by lowest CPU."""
    found = [
        FrequencyPolicy(
            cpus, one.governor, one.driver, one.min_khz, one.max_khz, one.hardware_min_khz, one.hardware_max_khz
        )
        for one in records
        if (cpus := (CpuSet.of([one.number]) if one.cpus is None else one.cpus) & online)
    ]
    return tuple(sorted(found, key=lambda policy: policy.cpus.first))


def _speed_steps(records: Sequence[CpuRecord]) -> Callable[[CpuRecord], int | None]:
    """Which step of frequency a CPU is of; a new step starts a tenth below the highest of the last."""
    step_of: dict[int, int] = {}
    highest = 0
    for speed in sorted({record.max_khz for record in records if record.max_khz}, reverse=True):
        if not highest or speed < highest * ALIKE:
            highest = speed
        step_of[speed] = highest
    return lambda record: None if record.max_khz is None else step_of.get(record.max_khz)


def _sets(
    records: Sequence[CpuRecord], online: CpuSet, level: str, package_of: Mapping[int, int]
) -> list[tuple[int | None, int | None, CpuSet]]:
    """(package, id, online CPUs) of each group on a level, by lowest CPU; where the kernel gives ids but no sets, equal ids make a set."""
    by_set: dict[int, tuple[int | None, int | None, CpuSet]] = {}
    by_id: dict[tuple[int | None, int], list[int]] = {}
    for record in records:
        place = record.places.get(level)
        if place is None or not quirks.level_is_told(level, place.id):
            continue
        package = package_of.get(record.number)
        cpus = place.cpus & online if place.cpus is not None else EMPTY
        if record.number in cpus:
            by_set.setdefault(cpus.bits, (package, place.id, cpus))
        elif place.id is not None and place.id >= 0 and (level != "package" or quirks.package_is_told(place.id)):
            by_id.setdefault((package, place.id), []).append(record.number)
    found = [*by_set.values(), *((package, number, CpuSet.of(cpus)) for (package, number), cpus in by_id.items())]
    return contradictions.disjoint(sorted(found, key=lambda group: (group[2].first, -len(group[2]))))
