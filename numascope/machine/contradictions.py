"""Where CPUs contradict each other on packages, cores and caches: who is believed, and the note that says so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from numascope.cpuset import EMPTY, CpuSet
from numascope.host.system.cpus import CpuRecord, Place
from numascope.host.system.lists import CPU_DIRECTORY
from numascope.machine.objects import Cache
from numascope.machine.quirks import files, named, package_is_told, sharers_of_cache


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
    with_id = sum(members.values())  # no CPU has two ids
    strangers, tellers = EMPTY, EMPTY
    for cpu, cpus in sets.items():
        own = ids.get(cpu)
        others = cpus.bits & with_id & ~members[own] if own in members else 0
        if others:
            strangers |= CpuSet(others)
            tellers |= CpuSet.of([cpu])
    if not strangers:
        return None
    where = files(strangers, f"/{CPU_DIRECTORY}/cpu{{}}/topology/physical_package_id")
    lists = files(tellers, f"/{CPU_DIRECTORY}/cpu{{}}/topology/{file}")
    verb, pronoun = ("gives", "it") if len(strangers) == 1 else ("give", "them")
    names = "lists" if len(tellers) == 1 else "list"
    return (
        f"{named('CPU', strangers)} {verb} another package id ({where}) than {named('CPU', tellers)}, "
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


def siblings_that_disagree(records: Sequence[CpuRecord], online: CpuSet) -> str | None:
    """CPUs that do not agree on who is a thread of whose core (made-contradictory), or on who shares a cache."""
    found = list(filter(None, (_threads_that_disagree(records, online), caches_that_disagree(records, online))))
    return "; ".join(found) or None


def _threads_that_disagree(records: Sequence[CpuRecord], online: CpuSet) -> str | None:
    """Threads of which one calls another its sibling and not the other way: the lower number's word is taken."""
    at_odds = EMPTY
    told = {
        record.number: place.cpus
        for record in records
        if (place := record.places.get("core")) is not None and place.cpus is not None
    }
    tellers: dict[int, int] = {}
    for cpu, cpus in told.items():
        tellers[cpus.bits] = tellers.get(cpus.bits, 0) | 1 << cpu
    everyone = online & CpuSet.of(told)
    for cpu, cpus in told.items():
        others = cpus.bits & everyone.bits & ~tellers[cpus.bits]
        if others:
            at_odds |= CpuSet(others | 1 << cpu)
    if not at_odds:
        return None
    where = files(at_odds, f"/{CPU_DIRECTORY}/cpu{{}}/topology/thread_siblings_list")
    return f"{named('CPU', at_odds)} disagree on who is a thread of whose core ({where}): the lower number is believed"


def tellers_that_overlap(sets: Mapping[int, CpuSet]) -> CpuSet:
    """Of CPUs and the sets that they tell, those whose set has a CPU in common with another's."""
    if _are_disjoint(cpus.bits for cpus in sets.values()):
        return EMPTY
    overlapping = EMPTY
    teller_of: dict[int, int] = {}
    for teller, cpus in sets.items():
        others = CpuSet.of(teller_of[cpu] for cpu in cpus if cpu in teller_of)
        overlapping |= others | CpuSet.of([teller] if others else [])
        teller_of |= dict.fromkeys(cpus, teller)
    return overlapping


def _are_disjoint(sets: Iterable[int]) -> bool:
    """Whether no bit is in two of these masks."""
    union = total = 0
    for bits in sets:
        union |= bits
        total += bits.bit_count()
    return total == union.bit_count()


def caches_that_disagree(records: Sequence[CpuRecord], online: CpuSet) -> str | None:
    """CPUs of which one shares a cache with others that put themselves at another of that level."""
    told: dict[tuple[int, str], dict[int, int]] = {}
    for record in records:
        for cache in record.caches:
            bits = sharers_of_cache(record.number, cache.cpus).bits & online.bits
            told.setdefault((cache.level, cache.type), {}).setdefault(bits, record.number)
    found: dict[int, CpuSet] = {}
    for (level, _), tellers in told.items():
        if tellers_apart := tellers_that_overlap({teller: CpuSet(bits) for bits, teller in tellers.items()}):
            found[level] = found.get(level, EMPTY) | tellers_apart
    said = [
        f"{named('CPU', tellers_apart)} disagree on who shares which L{level} "
        f"({files(tellers_apart, f'/{CPU_DIRECTORY}/cpu{{}}/cache/index*/shared_cpu_list')}): believed is the one with the lowest CPU, of such the largest"
        for level, tellers_apart in found.items()
    ]
    return "; ".join(said) or None


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
