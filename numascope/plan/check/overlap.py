"""CPUs that two owners have: devices, roles of one device, the scheduler, and the threads of one core."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from numascope.cpuset import CpuSet
from numascope.plan.check.objects import CheckFinding, Hit, Question, gathered, is_hot, is_scheduler, plural
from numascope.plan.mindspore import WHOLE_PROCESS
from numascope.plan.objects import SCHEDULER, Rule
from numascope.plan.resolve import rule_cpus
from numascope.plan.why import role_words

Pairs = dict[tuple[Rule, Rule], int]
"""Two rules → the bits of the CPUs, or cores' CPUs, that they meet on."""

_MOST_PAIRS: Final = 4_096


def shared_cpus(question: Question) -> tuple[CheckFinding, ...]:
    """`overlap`: threads of two owners take turns on one CPU; a note where a whole process is meant to share, or is the scheduler."""
    pairs: Pairs = {}
    for cpu, rules in question.owners.rules.items():
        for one, other in combinations(rules, 2):
            _meet(pairs, one, other, 1 << cpu)
    wrong: list[Hit] = []
    meant: list[Hit] = []
    for (one, other), bits in pairs.items():
        text = f"{role_words(other)} and {role_words(one)} share {plural(bits.bit_count(), 'CPU')}: {CpuSet(bits)}"
        (meant if _is_meant(question, one, other) else wrong).append(
            Hit(other.place, text, f"the other is {one.place}")
        )
    return (
        *gathered("overlap", "warning", wrong, "give each its own CPUs: numascope plan make --policy balanced does"),
        *gathered("overlap", "info", meant, "nothing to do where this is wanted"),
    )


def _meet(pairs: Pairs, one: Rule, other: Rule, bits: int) -> None:
    if (one, other) in pairs or len(pairs) < _MOST_PAIRS:
        pairs[one, other] = pairs.get((one, other), 0) | bits


def _is_meant(question: Question, one: Rule, other: Rule) -> bool:
    """Whole processes on one and the same set (a node for several devices), a role within its own process's set, the scheduler."""
    if is_scheduler(one.subject) or is_scheduler(other.subject):
        return True
    mine, theirs = (rule_cpus(rule, question.owners.machine) for rule in (one, other))
    whole = one.role == WHOLE_PROCESS and other.role == WHOLE_PROCESS
    if one.subject == other.subject and not whole:
        return (one.role == WHOLE_PROCESS and theirs <= mine) or (other.role == WHOLE_PROCESS and mine <= theirs)
    return whole and mine == theirs


def scheduler_slice(question: Question) -> tuple[CheckFinding, ...]:
    """`slice`: the scheduler stands between a device's roles, on CPUs that none of them has."""
    owners = question.owners
    own = owners.cpus_of(SCHEDULER)
    rules = owners.of_subject.get(SCHEDULER, ())
    if not own or not rules:
        return ()
    hits = []
    for subject in owners.plan.subjects():
        cpus = owners.cpus_of(subject)
        if subject == SCHEDULER or not cpus or cpus & own:
            continue
        if _nodes_of(question, own) <= _nodes_of(question, cpus) and own.last > cpus.first:
            text = f"the scheduler's CPUs {own} lie beside those of {subject}, on CPUs that none of its roles has"
            hits.append(Hit(rules[0].place, text, f"{subject} has {cpus} on the same node"))
    return gathered("slice", "info", hits, "nothing to do: it hardly runs; --scheduler-base free keeps it apart")


def _nodes_of(question: Question, cpus: CpuSet) -> CpuSet:
    node_of = question.owners.machine.node_of
    return CpuSet.of({node_of[cpu] for cpu in cpus & question.owners.machine.cpus.online if cpu in node_of})


def split_cores(question: Question) -> tuple[CheckFinding, ...]:
    """`smt-split`: the threads of one core have two owners; a warning where these are two devices and one of them is hot."""
    between_devices: Pairs = {}
    within: Pairs = {}
    for core in question.owners.machine.cores:
        if len(core.cpus) < 2:
            continue
        for one, other in _owners_of_threads(question, core.cpus):
            apart = one.subject != other.subject and not (is_scheduler(one.subject) or is_scheduler(other.subject))
            meant = one.role == WHOLE_PROCESS and other.role == WHOLE_PROCESS and _is_meant(question, one, other)
            hot = apart and not meant and (is_hot(one) or is_hot(other))
            _meet(between_devices if hot else within, one, other, core.cpus.bits)
    remedy = "give both threads of a core to one role, or leave one idle: numascope plan make --policy balanced does"
    return (
        *gathered("smt-split", "warning", list(_split_hits(question, between_devices)), remedy),
        *gathered("smt-split", "info", list(_split_hits(question, within)), remedy),
    )


def _owners_of_threads(question: Question, core: CpuSet) -> Iterator[tuple[Rule, Rule]]:
    """Pairs of different rules that have different threads of a core and share none of them."""
    rules = [(cpu, rule) for cpu in core for rule in question.owners.rules.get(cpu, ())]
    for (first, one), (second, other) in combinations(rules, 2):
        if first != second and one != other and not one.cpus & other.cpus & core:
            yield one, other


def _split_hits(question: Question, pairs: Pairs) -> Iterator[Hit]:
    for (one, other), bits in pairs.items():
        cores = [core.cpus for core in question.owners.machine.cores if core.cpus.bits & bits]
        names = ", ".join(f"CPUs {core}" for core in cores[:3]) + (", …" if len(cores) > 3 else "")
        yield Hit(
            other.place,
            f"{role_words(one)} and {role_words(other)} have threads of {plural(len(cores), 'core')}: {names}",
        )


def paired_cores(question: Question) -> tuple[CheckFinding, ...]:
    """`smt-pair`: a hot role has both threads of a core, of which each gets about half."""
    hits = []
    cores = [core.cpus for core in question.owners.machine.cores if len(core.cpus) > 1]
    for rule in question.owners.plan.rules if cores else ():
        if not is_hot(rule) or rule.role == WHOLE_PROCESS:
            continue
        both = [core for core in cores if len(core & rule.cpus) > 1]
        if both:
            names = ", ".join(map(str, both[:4])) + (", …" if len(both) > 4 else "")
            hits.append(Hit(rule.place, f"{role_words(rule)} has all threads of {plural(len(both), 'core')}: {names}"))
    return gathered("smt-pair", "info", hits, "one thread a core is faster for a role that waits for nobody else")
