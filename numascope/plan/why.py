"""Why each CPU has its owner: who is planned there and in which line, how near it is, and who has the rest of its core and cache."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.objects import Cache, Machine
from numascope.plan.make.made import union
from numascope.plan.make.near import distance_words
from numascope.plan.make.seats import Seat
from numascope.plan.mindspore import WHOLE_PROCESS
from numascope.plan.objects import SCHEDULER, Plan, Rule, Subject
from numascope.plan.resolve import PYNATIVE_QUEUES, bound_actors, rule_cpus

_MOST_OWNERS: Final = 8
"""So many rules of one CPU are told; a sane plan has one, and a hostile one must not cost a second."""


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
    """Subject → the nodes that its memory is bound to; absent: it is not bound."""
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
        return tuple(islice((rule for rule in self.plan.rules if cpu in rule.cpus), _MOST_OWNERS))

    def cpus_of(self, subject: Subject) -> CpuSet:
        """The CPUs of all roles of a subject."""
        return union(rule_cpus(rule, self.machine) for rule in self.of_subject.get(subject, ()))


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
            if len(owners) == _MOST_OWNERS:
                full |= CpuSet.of((cpu,))
    memory: dict[Subject, CpuSet] = {}
    for bound in plan.memory if plan.memory_mode != "none" else ():
        memory[bound.subject] = memory.get(bound.subject, EMPTY) | bound.nodes
    return Owners(
        plan,
        machine,
        {seat.number: seat for seat in seats},
        {cpu: tuple(rules) for cpu, rules in found.items()},
        {subject: tuple(rules) for subject, rules in of_subject.items()},
        memory,
        planned,
        {cpu: core.cpus for core in machine.cores for cpu in core.cpus},
        CpuSet.of(machine.node_of[cpu] for cpu in found if cpu in machine.node_of),
    )


def role_words(rule: Rule) -> str:
    """`runtime of device0`, `device0` where the whole process is meant."""
    return str(rule.subject) if rule.role == WHOLE_PROCESS else f"{rule.role} of {rule.subject}"


def why_cpu(owners: Owners, cpu: int) -> Iterator[str]:
    """Sentences about one CPU, the most telling first."""
    rules = owners.rules_of(cpu)
    if not rules:
        yield f"CPU {cpu} is in no role: {why_free(owners, cpu)}"
    for rule in rules:
        written = f"nodes {rule.nodes}" if rule.nodes is not None else f"CPUs {rule.cpus}"
        place = owners.plan.path if owners.plan.dialect == "torch" else rule.place
        yield f"CPU {cpu} is {role_words(rule)}: {place} gives it {written}"
        yield from _position(owners, rule, cpu)
    if len(rules) > 1:
        number = f"{len(rules)} or more" if len(rules) == _MOST_OWNERS else len(rules)
        yield f"it has {number} owners: their threads take turns on it"
    yield from _usable(owners.machine, cpu)
    subjects = sorted({rule.subject for rule in rules if rule.subject != SCHEDULER})
    yield from _place(owners, cpu, subjects)
    yield from _around(owners, cpu)
    for subject in subjects:
        yield from _memory(owners, cpu, subject)


def _position(owners: Owners, rule: Rule, cpu: int) -> Iterator[str]:
    """Which thread MindSpore binds to this one CPU, by its position in the list."""
    if owners.plan.dialect != "mindspore" or rule.nodes is not None:
        return
    at, count = (rule.cpus.bits & ((1 << cpu) - 1)).bit_count(), len(rule.cpus)
    if rule.role == "runtime" and owners.plan.fixed_actors:
        actors = bound_actors(len(owners.machine.cpus.online))
        names = [name for number, name in enumerate(actors) if number % count == at]
        yield f"by position {at} it holds {', '.join(names) or 'no thread: there are fewer actors than CPUs'}"
    elif rule.role == "pynative":
        name = PYNATIVE_QUEUES[at] if at < len(PYNATIVE_QUEUES) else "no thread: there are four queues"
        yield f"by position {at} it holds {name}"
    elif rule.role == "main":
        yield "main's list is also where every thread runs that no other role binds"


def _usable(machine: Machine, cpu: int) -> Iterator[str]:
    cpus = machine.cpus
    if cpu not in cpus.present:
        yield "this machine has no such CPU"
    elif cpu in cpus.offline:
        yield "it is offline: nothing can run there"
    elif cpus.allowed is not None and cpu not in cpus.allowed:
        yield f"it is outside the allowed CPUs {cpus.allowed}: whoever is bound there is refused or cut"
    elif cpu in cpus.isolated | cpus.partitioned:
        yield "it is isolated: the kernel does not balance threads there"


def _place(owners: Owners, cpu: int, subjects: Sequence[Subject]) -> Iterator[str]:
    node = owners.machine.node_of.get(cpu)
    if node is None:
        return
    told = False
    for subject in subjects:
        seat = None if subject.device is None else owners.seats.get(subject.device)
        if seat is None or seat.node is None:
            continue
        told = True
        if seat.node == node:
            yield f"it is on node {node}, where {seat} is"
        else:
            yield f"it is on node {node}, {seat} is near node {seat.node}{distance_words(owners.machine, seat.node, node)}"
    if not told:
        yield f"it is on node {node}"


def _around(owners: Owners, cpu: int) -> Iterator[str]:
    machine = owners.machine
    core = owners.cores.get(cpu, CpuSet.of((cpu,)))
    for sibling in core - CpuSet.of((cpu,)):
        others = owners.rules.get(sibling, ())
        same = {(rule.subject, rule.role) for rule in others} == {
            (rule.subject, rule.role) for rule in owners.rules.get(cpu, ())
        }
        words = "in no role" if not others else "of the same role" if same else " and ".join(map(role_words, others))
        yield f"the other thread of its core, CPU {sibling}, is {words}"
    cache = next((one for one in reversed(machine.caches) if _is_shared(one, core, cpu)), None)
    if cache is not None:
        yield f"its L{cache.level} is shared by {cache.cpus}: {_holders(owners, cache.cpus)}"


def _is_shared(cache: Cache, core: CpuSet, cpu: int) -> bool:
    return cpu in cache.cpus and cache.level > 2 and not cache.memory_side and not cache.cpus <= core


def _holders(owners: Owners, cpus: CpuSet) -> str:
    """`5 runtime of device0, 3 in no role`."""
    counts: Counter[str] = Counter()
    for cpu in cpus:
        rules = owners.rules.get(cpu, ())
        counts[" and ".join(map(role_words, rules)) or "in no role"] += 1
    parts = [f"{number} {words}" for words, number in sorted(counts.items(), key=lambda one: (-one[1], one[0]))]
    return ", ".join(parts[:6]) + (", …" if len(parts) > 6 else "")


def _memory(owners: Owners, cpu: int, subject: Subject) -> Iterator[str]:
    nodes = owners.memory.get(subject)
    node = owners.machine.node_of.get(cpu)
    if nodes is None:
        yield f"the memory of {subject} is not bound: the kernel takes pages near whoever first writes them"
    elif node is not None:
        words = "its own node" if nodes == CpuSet.of((node,)) else f"node {nodes}"
        away = "" if node in nodes else distance_words(owners.machine, node, nodes.first)
        yield f"the memory of {subject} is bound to {words}{away}"


def why_free(owners: Owners, cpu: int) -> str:
    """Why a CPU may well be in no role; what the plan's file cannot tell is said as such."""
    machine = owners.machine
    if cpu not in machine.cpus.present:
        return "this machine has no such CPU"
    if cpu in machine.cpus.offline:
        return "it is offline"
    if machine.cpus.allowed is not None and cpu not in machine.cpus.allowed:
        return "it is outside the allowed CPUs"
    if cpu in machine.cpus.isolated | machine.cpus.partitioned:
        return "it is isolated"
    neighbours = [rule for other in owners.cores.get(cpu, EMPTY) for rule in owners.rules.get(other, ())]
    if neighbours:
        return f"it is left idle beside {role_words(neighbours[0])} on its core"
    node = machine.node_of.get(cpu)
    if node is not None and node not in owners.nodes:
        return f"nothing is planned on node {node}"
    return "the plan leaves it to the system and to whoever is not bound"


def free_by_reason(owners: Owners) -> list[tuple[str, CpuSet]]:
    """The CPUs of this machine that are in no role, by why, the largest set first."""
    found: dict[str, int] = {}
    for cpu in owners.machine.cpus.present - owners.planned:
        reason = why_free(owners, cpu)
        reason = "left idle beside a role on their core" if reason.startswith("it is left idle") else reason
        found[reason] = found.get(reason, 0) | 1 << cpu
    return sorted(((reason, CpuSet(bits)) for reason, bits in found.items()), key=lambda one: -len(one[1]))
