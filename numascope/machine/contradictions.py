"""Where CPUs contradict each other on packages and caches: who is believed, and the note that says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numascope.cpuset import EMPTY, CpuSet
from numascope.host.system.cpus import CpuRecord, Place
from numascope.host.system.lists import CPU_DIRECTORY
from numascope.machine.objects import Cache
from numascope.machine.quirks import files, named, package_is_told, tellers_that_overlap


def settled_packages(records: Sequence[CpuRecord], online: CpuSet) -> tuple[Sequence[CpuRecord], str | None]:
    """The records with one word on who is in which package: where lists of siblings overlap, the ids are believed.

    Where a CPU has another id than the siblings that list it, and no list overlaps, the list is believed.
    """
    ids = {record.number: place.id for record in records if (place := record.places.get("package")) is not None}
    sets = _sets_told(records, online, "package")
    overlap = tellers_that_overlap(sets)
    by_id = bool(overlap) and all(map(package_is_told, ids.values()))
    believed = "the ids are" if by_id else "the lower number is" if overlap else "the list is"
    note = _of_two_packages(sets, ids, "core_siblings_list", "package", believed)
    if note is None and overlap:
        where = files(overlap, f"/{CPU_DIRECTORY}/cpu{{}}/topology/core_siblings_list")
        note = f"{named('CPU', overlap)} disagree on who is in whose package ({where}): {believed} believed"
    if note is None:
        cores = _sets_told(records, online, "core")
        note = _of_two_packages(cores, ids, "thread_siblings_list", "core", "the ids are")
    return ([_with_id_only(record) for record in records] if by_id else records), note


def _of_two_packages(
    sets: Mapping[int, CpuSet], ids: Mapping[int, int | None], file: str, level: str, believed: str
) -> str | None:
    """CPUs that a list puts together with a CPU of another package id."""
    members: dict[int, int] = {}
    for cpu, number in ids.items():
        if number is not None and package_is_told(number):
            members[number] = members.get(number, 0) | 1 << cpu
    told = sum(members.values())  # no CPU has two ids
    odd, tellers = EMPTY, EMPTY
    for cpu, cpus in sets.items():
        own = ids.get(cpu)
        others = cpus.bits & told & ~members[own] if own in members else 0
        if others:
            odd |= CpuSet(others)
            tellers |= CpuSet.of([cpu])
    if not odd:
        return None
    where = files(odd, f"/{CPU_DIRECTORY}/cpu{{}}/topology/physical_package_id")
    lists = files(tellers, f"/{CPU_DIRECTORY}/cpu{{}}/topology/{file}")
    verb, pronoun = ("gives", "it") if len(odd) == 1 else ("give", "them")
    names = "lists" if len(tellers) == 1 else "list"
    return (
        f"{named('CPU', odd)} {verb} another package id ({where}) than {named('CPU', tellers)}, "
        f"which {names} {pronoun} as of the same {level} ({lists}): {believed} believed"
    )


def _with_id_only(record: CpuRecord) -> CpuRecord:
    place = record.places.get("package")
    return record if place is None else record._replace(places={**record.places, "package": Place(place.id, None)})


def _sets_told(records: Sequence[CpuRecord], online: CpuSet, level: str) -> dict[int, CpuSet]:
    """The different sets of a level, by the lowest CPU that tells each of itself."""
    found: dict[int, int] = {}
    for record in records:
        place = record.places.get(level)
        if place is not None and place.cpus is not None and place.cpus.bits >> record.number & 1:
            found.setdefault(place.cpus.bits & online.bits, record.number)
    return {cpu: CpuSet(bits) for bits, cpu in found.items()}


def disjoint(
    found: Sequence[tuple[int | None, int | None, CpuSet]],
) -> list[tuple[int | None, int | None, CpuSet]]:
    """Sets of one level that overlap are cut to what no set of a lower CPU has: no CPU is in two cores (made-contradictory)."""
    seen = EMPTY
    kept = []
    for package, number, cpus in found:
        own = cpus - seen
        if own:
            kept.append((package, number, own))
            seen |= own
    return kept


def one_cache_each(caches: Sequence[Cache]) -> list[Cache]:
    """Caches of one level and type that overlap, in the machine's order, cut to what none before them has."""
    seen: dict[tuple[int, str], int] = {}
    kept = []
    for cache in caches:
        before = seen.get((cache.level, cache.type), 0)
        own = cache.cpus.bits & ~before
        if own:
            kept.append(cache if own == cache.cpus.bits else cache._replace(cpus=CpuSet(own)))
            seen[cache.level, cache.type] = before | own
    return kept
