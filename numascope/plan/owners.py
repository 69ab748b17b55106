"""A plan on a machine: whose each CPU is, and the words for roles, nodes and memory; `reasons.py` tells why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, CpuSet, union
from numascope.machine.objects import Machine
from numascope.plan.make.seats import Seat
from numascope.plan.objects import PROCESS_ROLES, WHOLE_PROCESS, MemoryPolicy, Plan, Rule, Subject
from numascope.plan.resolve import rule_cpus

MOST_OWNERS: Final = 8
"""So many rules of one CPU are told; a sane plan has one, and a hostile one must not cost a second."""

POLICY_WORDS: Final[Mapping[MemoryPolicy, str]] = {
    "bind": "bound to", "preferred": "preferred on", "preferred-many": "preferred on", "interleave": "interleaved over",
    "weighted-interleave": "interleaved by weight over",
}  # fmt: skip


class Owners(NamedTuple):
    """A plan on a machine: CPU → the first rules that name it, in the plan's order."""

    plan: Plan
    machine: Machine
    seats: Mapping[int, Seat]
    """Device → where it is, as far as known."""
    rules: Mapping[int, tuple[Rule, ...]]
    """Of the CPUs that are present; `rules_of` has the others too."""
    of_subject: Mapping[Subject, tuple[Rule, ...]]
    memory: Mapping[Subject, CpuSet]
    """Subject → the nodes of its memory's policy, none for `local`; absent: it has none."""
    policies: Mapping[Subject, MemoryPolicy]
    planned: CpuSet
    """Every CPU that the plan names, there or not."""
    cores: Mapping[int, CpuSet]
    """CPU → all CPUs of its core."""
    nodes: CpuSet
    """The nodes on which something is planned."""

    def rules_of(self, cpu: int) -> tuple[Rule, ...]:
        """The first rules that name this CPU."""
        if cpu in self.machine.cpus.present or cpu not in self.planned:
            return self.rules.get(cpu, ())
        return tuple(islice((rule for rule in self.plan.rules if cpu in rule.cpus), MOST_OWNERS))

    def cpus_of(self, subject: Subject) -> CpuSet:
        """The CPUs of all roles of a subject."""
        return union(rule_cpus(rule, self.machine) for rule in self.of_subject.get(subject, ()))

    def process_cpus(self, subject: Subject) -> CpuSet:
        """The CPUs of a subject's process itself, else of all its roles."""
        rules = self.of_subject.get(subject, ())
        chosen = [rule for rule in rules if rule.role in PROCESS_ROLES] or rules
        return union(rule_cpus(rule, self.machine) for rule in chosen)


def owners_of(plan: Plan, machine: Machine, seats: Sequence[Seat]) -> Owners:
    """Whose each CPU is; in numa mode the CPUs of the planned nodes."""
    found: dict[int, list[Rule]] = {}
    of_subject: dict[Subject, list[Rule]] = {}
    planned, full = EMPTY, EMPTY
    for rule in plan.rules:
        cpus = rule_cpus(rule, machine)
        planned |= cpus
        of_subject.setdefault(rule.subject, []).append(rule)
        for cpu in (cpus & machine.cpus.present) - full:
            owners = found.setdefault(cpu, [])
            owners.append(rule)
            if len(owners) == MOST_OWNERS:
                full |= CpuSet.of((cpu,))
    memory: dict[Subject, CpuSet] = {}
    policies: dict[Subject, MemoryPolicy] = {}
    for bound in plan.memory if plan.memory_mode != "none" else ():
        memory[bound.subject] = memory.get(bound.subject, EMPTY) | bound.nodes
        policies[bound.subject] = bound.policy
    return Owners(
        plan,
        machine,
        {seat.number: seat for seat in seats},
        {cpu: tuple(rules) for cpu, rules in found.items()},
        {subject: tuple(rules) for subject, rules in of_subject.items()},
        memory,
        policies,
        planned,
        {cpu: core.cpus for core in machine.cores for cpu in core.cpus},
        machine.nodes_of(found),
    )


def role_words(rule: Rule) -> str:
    """`runtime of device0`, `device0` where the whole process is meant."""
    return str(rule.subject) if rule.role == WHOLE_PROCESS else f"{rule.role} of {rule.subject}"


def nodes_words(nodes: CpuSet) -> str:
    """`node 3`, `nodes 0-1`; `no known node` where nothing is known."""
    return f"node{'s' if len(nodes) > 1 else ''} {nodes}" if nodes else "no known node"


def memory_words(owners: Owners, subject: Subject) -> str:
    """`memory bound to node 3`, or what else the plan asks of the kernel for this subject's pages."""
    nodes, policy = owners.memory.get(subject), owners.policies.get(subject)
    if nodes is None or policy is None:
        return "memory not bound"
    if policy == "local":
        return "memory on the node of whoever first writes it"
    return f"memory {POLICY_WORDS[policy]} {nodes_words(nodes)}"
