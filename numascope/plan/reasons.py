"""Why each CPU has its owner: which line says so, which thread it holds, how near it is, who has the rest of its core and cache."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.objects import Cache, Machine
from numascope.plan.make.near import distance_words
from numascope.plan.objects import SCHEDULER, WHOLE_PROCESS, Rule, Subject
from numascope.plan.owners import MOST_OWNERS, POLICY_WORDS, Owners, nodes_words, role_words
from numascope.plan.resolve import BOUND_BY_MINDSPORE, PYNATIVE_QUEUES, actor_words, bound_actors, rule_cpus

_MOST_HELD: Final = 16
"""So many threads of one rule are listed with their CPUs."""

_NOBODY: Final = "no thread"
_ABSENT: Final = "not on this machine: nothing can run there"


def why_cpu(owners: Owners, cpu: int) -> Iterator[str]:
    """Phrases about one CPU: first its owners, then the most telling first."""
    rules = sorted(owners.rules_of(cpu), key=lambda rule: rule.role == WHOLE_PROCESS)
    if not rules:
        yield f"CPU {cpu} is in no role: {why_free(owners, cpu)}"
    for rule in rules:
        yield f"CPU {cpu} is {role_words(rule)}: {_place(owners, rule)} gives it {_written(owners.machine, rule)}"
        held = _held(owners, rule)
        if held is not None:
            for at, one in enumerate(rule.by_position()):
                if one == cpu:
                    yield f"by position {at} it holds {held[at]}"
        yield from _of_rule(owners, rule)
    yield from _turns(rules)
    if rules:
        yield from _usable(owners.machine, cpu)
    subjects = sorted({rule.subject for rule in rules if rule.subject != SCHEDULER})
    yield from _near(owners, cpu, subjects)
    for words, siblings in _siblings(owners, cpu).items():
        one = len(siblings) == 1
        yield f"the other thread{'' if one else 's'} of its core, CPU{'' if one else 's'} {siblings}: {words}"
    yield from _cache(owners, cpu)
    for subject in subjects:
        yield from _memory(owners, cpu, subject)


def why_subject(owners: Owners, subject: Subject) -> Iterator[str]:
    """Phrases about all CPUs of one subject: of each role, then each with the CPUs that it holds of."""
    for rule in owners.of_subject.get(subject, ()):
        name = rule.role if rule.role != WHOLE_PROCESS else str(subject)
        for phrase in (*_threads(owners, rule), *_of_rule(owners, rule)):
            yield f"{name}: {phrase}"
    found: dict[str, int] = {}
    cpus, present = owners.cpus_of(subject), owners.machine.cpus.present
    for cpu in cpus & present:
        for phrase in _of_one(owners, cpu, subject):
            found[phrase] = found.get(phrase, 0) | 1 << cpu
    for phrase, bits in found.items():
        yield f"{CpuSet(bits)}: {phrase}"
    if cpus - present:
        yield f"{cpus - present}: {_ABSENT}"


def _threads(owners: Owners, rule: Rule) -> Iterator[str]:
    held = _held(owners, rule)
    if held is None:
        return
    if rule.role == "omp":
        yield "each CPU holds one of OpenMP's threads, in the order of the list"
        return
    pairs = [
        f"{name} on {cpu}" for cpu, name in zip(rule.by_position(), held, strict=True) if not name.startswith(_NOBODY)
    ]
    yield f"by position, {', '.join(pairs[:_MOST_HELD])}"


def _of_one(owners: Owners, cpu: int, subject: Subject) -> Iterator[str]:
    """What holds of one CPU of a subject, in words that are the same for others of which it holds."""
    others = [rule for rule in owners.rules_of(cpu) if rule.subject != subject]
    if others:
        yield f"also {_names(others)}: their threads take turns"
    yield from _usable(owners.machine, cpu)
    yield from _near(owners, cpu, [subject] if subject != SCHEDULER else [])
    for words in _siblings(owners, cpu):
        yield f"other threads of the same cores: {words}"
    yield from _cache(owners, cpu)
    if subject != SCHEDULER:
        yield from _memory(owners, cpu, subject)


def why_free(owners: Owners, cpu: int) -> str:
    """Why a CPU may well be in no role; what the plan's file cannot tell is said as such."""
    reason, beside = _free(owners, cpu)
    return f"it is {reason}" if beside is None else f"it is left idle beside {beside} on its core"


def free_by_reason(owners: Owners) -> list[tuple[str, CpuSet]]:
    """The CPUs of this machine that are in no role, by why, the largest set first."""
    found: dict[str, int] = {}
    for cpu in owners.machine.cpus.present - owners.planned:
        reason, _ = _free(owners, cpu)
        found[reason] = found.get(reason, 0) | 1 << cpu
    return sorted(((reason, CpuSet(bits)) for reason, bits in found.items()), key=lambda one: -len(one[1]))


def _free(owners: Owners, cpu: int) -> tuple[str, str | None]:
    """What holds of this CPU, in words that go with one and with many, and beside whom it is idle."""
    machine = owners.machine
    if cpu not in machine.cpus.present:
        return "not on this machine", None
    if cpu in machine.cpus.offline:
        return "offline", None
    cpus = machine.cpus
    states = [
        *(["in an isolated partition"] if cpu in cpus.partitioned else ["isolated"] if cpu in cpus.isolated else []),
        *(["outside the allowed CPUs"] if cpus.allowed is not None and cpu not in cpus.allowed else []),
    ]
    if states:
        return ", ".join(states), None
    neighbours = [rule for other in owners.cores.get(cpu, EMPTY) for rule in owners.rules.get(other, ())]
    if neighbours:
        return "left idle beside a role on the same core", role_words(neighbours[0])
    node = machine.node_of.get(cpu)
    if node is not None and node not in owners.nodes:
        return "on a node where nothing is planned", None
    return "left to the system and to whoever is not bound", None


def _place(owners: Owners, rule: Rule) -> str:
    return owners.plan.path if owners.plan.dialect == "torch" else str(rule.place)


def _written(machine: Machine, rule: Rule) -> str:
    if rule.nodes is None:
        return f"CPU{'s' if len(rule.cpus) > 1 else ''} {rule.cpus}"
    return f"{nodes_words(rule.nodes)}, here CPUs {rule_cpus(rule, machine) or '?'}"


def _held(owners: Owners, rule: Rule) -> Sequence[str] | None:
    """The threads that are bound to one CPU each, for each position of the list; None where all may use the whole list."""
    dialect, count = owners.plan.dialect, len(rule.by_position())
    if rule.nodes is not None or rule.subject == SCHEDULER:
        return None
    if rule.role == "omp" and dialect == "vllm":
        return [f"OpenMP's thread {at}" for at in range(count)]
    if dialect not in BOUND_BY_MINDSPORE:
        return None
    if rule.role == "pynative":
        return [*PYNATIVE_QUEUES, *[f"{_NOBODY}: there are four queues"] * count][:count]
    if rule.role != "runtime" or not owners.plan.fixed_actors:
        return None
    held: list[list[str]] = [[] for _ in range(count)]
    for number, name in enumerate(bound_actors(len(owners.machine.cpus.online))):
        held[number % count].append(actor_words(name))
    return [" and ".join(names) or f"{_NOBODY}: there are fewer actors than CPUs" for names in held]


def _of_rule(owners: Owners, rule: Rule) -> Iterator[str]:
    """What a rule means beyond its list."""
    dialect, machine = owners.plan.dialect, owners.machine
    all_roles = {one.role for one in owners.of_subject[rule.subject]}
    if (
        dialect in BOUND_BY_MINDSPORE
        and rule.role == "main"
        and WHOLE_PROCESS not in all_roles
        and rule.subject != SCHEDULER
    ):
        yield "also where every thread runs that no other role binds"
    if rule.role == WHOLE_PROCESS and len(all_roles) > 1:
        yield "every thread that no other role has"
    if dialect != "torch":
        return
    for node in machine.nodes:
        part = len(rule.cpus & node.cpus)
        if part:
            devices = sum(1 for subject in owners.of_subject if owners.cpus_of(subject) & node.cpus)
            shared = "no other device has CPUs there" if devices == 1 else f"{devices} devices have CPUs there"
            yield f"{part} of the {len(node.cpus)} CPUs of node {node.id}: {shared}"


def _turns(rules: Sequence[Rule]) -> Iterator[str]:
    """Whose threads meet on the CPU; the roles of a process may lie within what the process as a whole has."""
    roles = {rule.role for rule in rules} - {WHOLE_PROCESS}
    if len({rule.subject for rule in rules}) > 1:
        number = f"{len(rules)} or more" if len(rules) == MOST_OWNERS else len(rules)
        yield f"it has {number} owners: their threads take turns on it"
    elif len(roles) > 1:
        yield f"it has {len(roles)} roles: their threads take turns on it"


def _usable(machine: Machine, cpu: int) -> Iterator[str]:
    cpus = machine.cpus
    if cpu not in cpus.present:
        yield _ABSENT
    elif cpu in cpus.offline:
        yield "offline: nothing can run there"
    elif cpus.allowed is not None and cpu not in cpus.allowed:
        yield f"outside the allowed CPUs {cpus.allowed}: whoever is bound there is refused or cut"
    elif cpu in cpus.isolated | cpus.partitioned:
        yield "isolated: the kernel does not balance threads there"


def _near(owners: Owners, cpu: int, subjects: Sequence[Subject]) -> Iterator[str]:
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
            yield f"on node {node}, where {seat} is"
        else:
            yield f"on node {node}, {seat} is near node {seat.node}{distance_words(owners.machine, seat.node, node)}"
    if not told:
        yield f"on node {node}"


def _siblings(owners: Owners, cpu: int) -> Mapping[str, CpuSet]:
    """In which role the other threads of a CPU's core are → which ones."""
    found: dict[str, CpuSet] = {}
    here = {(rule.subject, rule.role) for rule in owners.rules.get(cpu, ())}
    for sibling in owners.cores.get(cpu, EMPTY) - CpuSet.of((cpu,)):
        others = owners.rules.get(sibling, ())
        same = here == {(rule.subject, rule.role) for rule in others}
        words = "in no role" if not others else "the same role" if same else _names(others)
        found[words] = found.get(words, EMPTY) | CpuSet.of((sibling,))
    return found


def _cache(owners: Owners, cpu: int) -> Iterator[str]:
    """Who shares the last cache that is shared by more than a core."""
    core = owners.cores.get(cpu, CpuSet.of((cpu,)))
    cache = next((one for one in reversed(owners.machine.caches) if _is_shared(one, core, cpu)), None)
    if cache is not None:
        yield f"L{cache.level} shared by {cache.cpus}: {_holders(owners, cache.cpus)}"


def _is_shared(cache: Cache, core: CpuSet, cpu: int) -> bool:
    return cpu in cache.cpus and cache.level > 2 and not cache.memory_side and not cache.cpus <= core


def _holders(owners: Owners, cpus: CpuSet) -> str:
    """`5 runtime of device0, 3 in no role`."""
    counts: Counter[str] = Counter()
    for cpu in cpus:
        rules = owners.rules.get(cpu, ())
        counts[_names(rules) or "in no role"] += 1
    parts = [f"{number} {words}" for words, number in sorted(counts.items(), key=lambda one: (-one[1], one[0]))]
    return ", ".join(parts[:6]) + (", …" if len(parts) > 6 else "")


def _names(rules: Sequence[Rule]) -> str:
    """`main of device0 and omp of device1`; the whole process only where none of its roles has the CPU."""
    by_role = {rule.subject for rule in rules if rule.role != WHOLE_PROCESS}
    return " and ".join(role_words(rule) for rule in rules if rule.role != WHOLE_PROCESS or rule.subject not in by_role)


def _memory(owners: Owners, cpu: int, subject: Subject) -> Iterator[str]:
    nodes, policy = owners.memory.get(subject), owners.policies.get(subject)
    node = owners.machine.node_of.get(cpu)
    if nodes is None:
        yield f"memory of {subject} not bound: the kernel takes pages near whoever first writes them"
    elif policy == "local":
        yield f"memory of {subject} local: the kernel takes pages near whoever first writes them"
    elif node is not None and policy is not None:
        words = "its own node" if nodes == CpuSet.of((node,)) else nodes_words(nodes)
        away = "" if node in nodes or not nodes else distance_words(owners.machine, node, nodes.first)
        yield f"memory of {subject} {POLICY_WORDS[policy]} {words}{away}"
