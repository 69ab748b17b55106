"""CPUs that two owners have: devices, roles of one device, the scheduler, and the threads of one core."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations
from typing import Final

from numascope.cpuset import CpuSet
from numascope.plan.check.launcher import remake
from numascope.plan.check.objects import CheckFinding, Hit, Question, gathered, is_scheduler, plural
from numascope.plan.objects import SCHEDULER, WHOLE_PROCESS, Rule
from numascope.plan.owners import Owners, role_words
from numascope.plan.resolve import rule_cpus

Pairs = dict[tuple[int, int], tuple[Rule, Rule, int]]
"""Two rules, told by which objects they are, and the bits of the CPUs, or cores' CPUs, that they meet on."""

_MOST_PAIRS: Final = 4_096


def shared_cpus(question: Question) -> tuple[CheckFinding, ...]:
    """`overlap`: threads of two owners take turns on one CPU; a note where a whole process is meant to share, or is the scheduler.

    Roles that a form makes of one piece of its text share as its program has it.
    """
    pairs: Pairs = {}
    for rules, bits in _owned_alike(question):
        for one, other in combinations(rules, 2):
            if (one.subject, one.place) != (other.subject, other.place):
                meet(pairs, one, other, bits)
    wrong: list[Hit] = []
    meant: list[Hit] = []
    for one, other, bits in pairs.values():
        text = f"{role_words(other)} and {role_words(one)} share {plural(bits.bit_count(), 'CPU')}: {CpuSet(bits)}"
        (meant if _is_meant(question, one, other) else wrong).append(
            Hit(other.place, text, f"the other is {one.place}" if one.place != other.place else "")
        )
    return (
        *gathered("overlap", "warning", wrong, f"give each its own CPUs: {remake(question.owners.plan)} does"),
        *gathered("overlap", "info", meant, "nothing to do where this is wanted"),
    )


def _owned_alike(question: Question) -> Iterator[tuple[tuple[Rule, ...], int]]:
    """Owners and the bits of all online CPUs that have just these; of CPUs with two owners or more."""
    found: dict[tuple[int, ...], int] = {}
    owners: dict[tuple[int, ...], tuple[Rule, ...]] = {}
    for cpu, rules in question.owners.rules.items():
        if len(rules) > 1:
            key = tuple(map(id, rules))
            found[key] = found.get(key, 0) | 1 << cpu
            owners[key] = rules
    online = question.owners.machine.cpus.online.bits
    return ((owners[key], bits & online) for key, bits in found.items() if bits & online)


def meet(pairs: Pairs, one: Rule, other: Rule, bits: int) -> None:
    """Adds CPUs that two rules meet on; beyond a bound no further pair is taken up."""
    key = id(one), id(other)
    known = pairs.get(key)
    if known is not None:
        pairs[key] = one, other, known[2] | bits
    elif len(pairs) < _MOST_PAIRS:
        pairs[key] = one, other, bits


def _is_meant(question: Question, one: Rule, other: Rule) -> bool:
    """Whole processes on one and the same node, package or L3 (by torch any set), a role within its own process's set, the scheduler."""
    if is_scheduler(one.subject) or is_scheduler(other.subject):
        return True
    mine, theirs = (rule_cpus(rule, question.owners.machine) for rule in (one, other))
    if one.subject == other.subject:
        return (one.role == WHOLE_PROCESS and theirs <= mine) or (other.role == WHOLE_PROCESS and mine <= theirs)
    if mine != theirs or not (_is_process(question, one) and _is_process(question, other)):
        return False
    return question.owners.plan.dialect == "torch" or _is_part(question, mine)


def _is_process(question: Question, rule: Rule) -> bool:
    """Whether it has all threads of its subject: it is the only list, and its role is main or the whole process."""
    return rule.role == WHOLE_PROCESS or (
        rule.role == "main" and len(question.owners.of_subject.get(rule.subject, ())) == 1
    )


def _is_part(question: Question, cpus: CpuSet) -> bool:
    """Whether it is all that may be used of a node, a package or an L3, which nobody writes by mistake."""
    machine = question.owners.machine
    caches = (cache.cpus for cache in machine.caches if cache.level == 3)
    parts = chain((node.cpus for node in machine.nodes), (one.cpus for one in machine.packages), caches)
    return any(part & question.cpuset == cpus & question.cpuset for part in parts)


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
        if _nodes_of(question, own) <= _nodes_of(question, cpus) and max(_cores(owners, own)) > min(
            _cores(owners, cpus)
        ):
            text = f"the scheduler's CPUs {own} lie beside those of {subject}, on CPUs that none of its roles has"
            hits.append(Hit(rules[0].place, text, f"{subject} has {cpus} on the same node"))
    return gathered(
        "slice", "info", hits, "nothing to do: the scheduler hardly runs (with --scheduler-base free it is made apart)"
    )


def _cores(owners: Owners, cpus: CpuSet) -> set[int]:
    """The first CPU of the core of each, as second threads are mostly numbered after all cores."""
    return {owners.cores.get(cpu, CpuSet.of((cpu,))).first for cpu in cpus}


def _nodes_of(question: Question, cpus: CpuSet) -> CpuSet:
    machine = question.owners.machine
    return machine.nodes_of(cpus & machine.cpus.online)
