"""Threads of one core: that two owners have, or that one hot role has all of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from numascope.cpuset import CpuSet
from numascope.machine.objects import Core
from numascope.plan.check.launcher import remake
from numascope.plan.check.objects import CheckFinding, Hit, Question, gathered, is_hot, is_scheduler, plural
from numascope.plan.check.overlap import Pairs, meet
from numascope.plan.objects import WHOLE_PROCESS, Rule
from numascope.plan.owners import role_words
from numascope.plan.resolve import rule_cpus


def split_cores(question: Question) -> tuple[CheckFinding, ...]:
    """`smt-split`: the threads of one core have two owners; a warning where these are two devices and one of them is hot."""
    between_devices: Pairs = {}
    within: Pairs = {}
    bits_of = {id(rule): rule_cpus(rule, question.owners.machine).bits for rule in question.owners.plan.rules}
    for one, other, bits in _owners_of_threads(question, bits_of):
        apart = one.subject != other.subject and not (is_scheduler(one.subject) or is_scheduler(other.subject))
        hot = apart and (is_hot(one) or is_hot(other))
        meet(between_devices if hot else within, one, other, bits)
    remedy = f"give both threads of a core to one role, or leave one idle: {remake(question.owners.plan)} does"
    return (
        *gathered("smt-split", "warning", list(_split_hits(question, between_devices)), remedy),
        *gathered("smt-split", "info", list(_split_hits(question, within)), remedy),
    )


def _owners_of_threads(question: Question, bits_of: Mapping[int, int]) -> Iterator[tuple[Rule, Rule, int]]:
    """Pairs of rules that have different threads of cores and share none of these, and the bits of the cores' CPUs.

    Cores whose threads have the same owners are looked at once.
    """
    alike: dict[tuple[tuple[int, ...], ...], int] = {}
    first: dict[tuple[tuple[int, ...], ...], tuple[tuple[Rule, ...], ...]] = {}
    for core in question.owners.machine.cores:
        threads = tuple(question.owners.rules.get(cpu, ()) for cpu in core.cpus)
        if sum(map(bool, threads)) > 1:
            key = tuple(tuple(map(id, rules)) for rules in threads)
            alike[key] = alike.get(key, 0) | core.cpus.bits
            first[key] = threads
    for key, bits in alike.items():
        for here, there in combinations(first[key], 2):
            for one in here:
                for other in there:
                    if one is not other and not bits_of[id(one)] & bits_of[id(other)] & bits:
                        yield one, other, bits


def _split_hits(question: Question, pairs: Pairs) -> Iterator[Hit]:
    for one, other, bits in pairs.values():
        cores = _cores_of(question, bits)
        yield Hit(
            other.place,
            f"{role_words(one)} and {role_words(other)} have threads of {plural(len(cores), 'core')}: {_names(cores, 3, 'CPUs ')}",
        )


def paired_cores(question: Question) -> tuple[CheckFinding, ...]:
    """`smt-pair`: a hot role has both threads of a core, of which each gets about half."""
    hits = []
    twins = _twins(question.owners.machine.cores)
    for rule in question.owners.plan.rules if twins else ():
        if not is_hot(rule) or rule.role == WHOLE_PROCESS:
            continue
        bits, lower = rule.cpus.bits, 0
        for distance, below in twins.items():
            lower |= bits & below & (bits >> distance)
        if lower:
            cores = _cores_of(question, lower)
            share = "all" if all(core <= rule.cpus for core in cores) else "several"
            text = f"{role_words(rule)} has {share} threads of {plural(len(cores), 'core')}: {_names(cores, 4)}"
            hits.append(Hit(rule.place, text))
    return gathered(
        "smt-pair", "info", hits, "give it one thread of each core: two busy threads slow each other down there"
    )


def _twins(cores: Sequence[Core]) -> Mapping[int, int]:
    """A distance between CPU numbers → the bits of the CPUs that have another thread of their core so far above."""
    found: dict[int, int] = {}
    for core in cores:
        for low, high in combinations(core.cpus, 2):
            found[high - low] = found.get(high - low, 0) | 1 << low
    return found


def _cores_of(question: Question, bits: int) -> list[CpuSet]:
    """The cores of these CPUs, by lowest CPU."""
    cores = question.owners.cores
    found = {core.first: core for cpu in CpuSet(bits) if (core := cores.get(cpu)) is not None}
    return [found[first] for first in sorted(found)]


def _names(cores: Sequence[CpuSet], most: int, before: str = "") -> str:
    return ", ".join(f"{before}{core}" for core in cores[:most]) + (", …" if len(cores) > most else "")
