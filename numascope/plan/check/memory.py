"""Memory that a plan binds: to nodes that have none, that are far from the CPUs, nearly full, or not at all for some."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.plan.check.launcher import launcher_of
from numascope.plan.check.objects import CheckFinding, Hit, Question, gathered, is_scheduler
from numascope.plan.fullness import share_if_nearly_full
from numascope.plan.json_reader import quoted
from numascope.plan.make.near import by_distance, distance_words, memory_near
from numascope.plan.objects import PROCESS_ROLES, SCHEDULER, MemoryRule, Rule, Severity, Subject

_SQUEEZED: Final = ("bind", "preferred")
"""Policies that ask one node for all; an interleaving goes on with its other nodes."""

_MOST_NAMED: Final = 4
_DOCUMENTS: Final = ("mindspore", "numascope")


def bound_memory(question: Question) -> tuple[CheckFinding, ...]:
    """`mem-absent`, `mem-empty`, `mem-far`, `mem-full`: what is wrong with the nodes that memory is bound to."""
    rules = question.owners.plan.memory if question.owners.plan.memory_mode != "none" else ()
    return (
        *_absent(question, rules),
        *_empty(question, rules),
        *_far(question, rules),
        *_full(question, rules),
    )


def _absent(question: Question, rules: tuple[MemoryRule, ...]) -> tuple[CheckFinding, ...]:
    machine = question.owners.machine
    known = CpuSet.of(node.id for node in machine.nodes)
    filled = CpuSet.of(node.id for node in machine.nodes if node.memory_kib != 0)
    allowed = machine.nodes_allowed
    outcome = launcher_of(question.owners.plan).node
    hits = []
    for rule in rules:
        lost = rule.nodes - known
        if lost:
            hits.append(
                Hit(rule.place, f"memory of {rule.subject} is bound to node {lost}, which is not here", outcome)
            )
        denied = (rule.nodes & filled) - allowed if allowed else CpuSet()
        if denied:
            text = f"memory of {rule.subject} is bound to node {denied}, which the cpuset denies"
            hits.append(Hit(rule.place, text, f"the cpuset gives memory of node {allowed}"))
    able = filled if not allowed else filled & allowed
    return gathered("mem-absent", _weight(question), hits, f"bind it to a node of {able}")


def _weight(question: Question) -> Severity:
    """A note for vLLM, which takes the nodes of its CPUs, and binds no memory where that fails."""
    return "info" if question.owners.plan.dialect == "vllm" else "error"


def _empty(question: Question, rules: tuple[MemoryRule, ...]) -> tuple[CheckFinding, ...]:
    """Nodes without memory; and for MindSpore those without CPUs, which it does not count as nodes."""
    machine, plan = question.owners.machine, question.owners.plan
    without = CpuSet.of(node.id for node in machine.nodes if node.memory_kib == 0)
    bare = CpuSet.of(node.id for node in machine.nodes if not node.cpus and node.memory_kib != 0)
    hits, uncounted = [], []
    for rule in rules:
        if rule.nodes & without:
            hits.append(
                Hit(
                    rule.place, f"memory of {rule.subject} is bound to node {rule.nodes & without}, which has no memory"
                )
            )
        if rule.nodes & bare and plan.dialect in ("mindspore", "msrun"):
            uncounted.append(
                Hit(rule.place, f"memory of {rule.subject} is bound to node {rule.nodes & bare}, which has no CPU")
            )
    able = CpuSet.of(node.id for node in machine.nodes) - without
    return (
        *gathered("mem-empty", _weight(question), hits, f"bind it to a node of {able}", (launcher_of(plan).node,)),
        *gathered(
            "mem-empty", "error", uncounted, f"bind it to a node of {able - bare}",
            ("MindSpore counts nodes that have CPUs and memory, and ends at any other",),
        ),
    )  # fmt: skip


def _far(question: Question, rules: tuple[MemoryRule, ...]) -> Iterator[CheckFinding]:
    machine = question.owners.machine
    there = CpuSet.of(node.id for node in machine.nodes if node.memory_kib != 0)
    hits: dict[Severity, list[Hit]] = {"warning": [], "info": []}
    better: dict[Severity, list[str]] = {"warning": [], "info": []}
    near_of: dict[CpuSet, CpuSet] = {}
    for rule in rules:
        if not rule.nodes & there or rule.policy not in ("bind", "preferred"):
            continue
        nodes = _running_on(question, rule.subject)
        near = near_of[nodes] if nodes in near_of else near_of.setdefault(nodes, _near_memory(question, nodes))
        if not nodes or not near or rule.nodes & (nodes | near):
            continue
        far = distance_words(machine, nodes.first, (rule.nodes & there).first)
        text = f"memory of {rule.subject} is bound to node {rule.nodes}, its CPUs are on node {nodes}{far}"
        own = _is_own_extension(machine, nodes, rule.nodes & there)
        severity: Severity = "info" if own or is_scheduler(rule.subject) else "warning"
        hits[severity].append(
            Hit(rule.place, text, f"node {rule.nodes} has no CPU, and no other CPUs are nearer to it" if own else "")
        )
        better[severity].append(f"{rule.subject} to node {near}")
    for severity, found in hits.items():
        shown = better[severity][:_MOST_NAMED]
        more = f" and so on, {len(better[severity])} in all" if len(better[severity]) > _MOST_NAMED else ""
        remedy = f"bind memory where the CPUs are: {', '.join(shown)}{more}"
        yield from gathered("mem-far", severity, found, remedy)


def _is_own_extension(machine: Machine, nodes: CpuSet, bound: CpuSet) -> bool:
    """Whether these are nodes of memory alone (HBM, CXL) that no other CPUs are nearer to: far, and maybe meant."""
    with_cpus = [one.id for one in machine.nodes if one.cpus]
    nearest = [by_distance(machine, node, with_cpus)[:1] for node in bound]
    return not bound & CpuSet.of(with_cpus) and all(found and found[0] in nodes for found in nearest)


def _running_on(question: Question, subject: Subject) -> CpuSet:
    """The nodes of a subject's main thread, else of all its roles."""
    return question.owners.machine.nodes_of(question.owners.process_cpus(subject) & question.cpuset)


def _near_memory(question: Question, nodes: CpuSet) -> CpuSet:
    counts_cpus = question.owners.plan.dialect in ("mindspore", "msrun")
    found = [memory_near(question.owners.machine, node, with_cpus=counts_cpus) for node in nodes]
    return CpuSet.of(one for near in found if near is not None for one in near)


def _full(question: Question, rules: tuple[MemoryRule, ...]) -> Iterator[CheckFinding]:
    """A warning where page cache is counted too, a note where only the free memory is known, or where the policy gives way."""
    hits: dict[Severity, list[Hit]] = {"warning": [], "info": []}
    for node in question.owners.machine.nodes:
        bound = [rule for rule in rules if node.id in rule.nodes and rule.policy in _SQUEEZED]
        cache = question.host.cache_kib.get(node.id)
        share = share_if_nearly_full(node, cache) if bound else None
        if share is not None:
            strict = next((rule for rule in bound if rule.policy == "bind"), None)
            text = f"node {node.id} has {share:.0%} of its {_gib(node.memory_kib)} left, and memory of {(strict or bound[0]).subject} is bound there"
            evidence = f"free {_gib(node.free_kib)}, page cache {'unknown' if cache is None else _gib(cache)}"
            outcome = (
                "a process bound there is killed when it is full"
                if strict
                else "its pages go elsewhere when it is full"
            )
            hits["info" if cache is None or strict is None else "warning"].append(
                Hit((strict or bound[0]).place, text, f"{evidence}; {outcome}")
            )
    for severity, found in hits.items():
        yield from gathered("mem-full", severity, found, "free memory there before the launch, or bind to another node")


def _gib(kib: int | None) -> str:
    return "?" if kib is None else f"{kib / (1 << 20):.1f} GiB"


def missing_memory(question: Question) -> tuple[CheckFinding, ...]:
    """`mem-missing`: the plan binds memory, and some devices have no entry; a note where none has one."""
    owners = question.owners
    if owners.plan.memory_mode != "numa":
        return ()
    hits = [
        Hit(rules[0].place, _missing(question, subject), _outcome(rules))
        for subject, rules in owners.of_subject.items()
        if subject != SCHEDULER and subject not in owners.memory and rules
    ]
    if not owners.memory:
        return gathered("mem-missing", "info", hits, 'add "bind_memory", or say "bind_memory_mode": "none"')
    lacking = [subject for subject in owners.of_subject if subject != SCHEDULER and subject not in owners.memory]
    advice = {subject: near for subject in lacking[:_MOST_NAMED] if (near := _near(question, subject))}
    if owners.plan.dialect in _DOCUMENTS:
        adding = ", ".join(f'"{one}": {near if len(near) == 1 else quoted(str(near))}' for one, near in advice.items())
        remedy = f"add {adding}" if adding else "add an entry for each device"
    else:
        adding = ", ".join(f"{one} to node {near}" for one, near in advice.items())
        remedy = f"bind it too{': ' if adding else ''}{adding}"
    return gathered("mem-missing", "warning", hits, remedy)


def _missing(question: Question, subject: Subject) -> str:
    if question.owners.plan.dialect in _DOCUMENTS:
        return f'"bind_memory" has no "{subject}", and "bind_memory_mode" is "numa"'
    if question.owners.plan.dialect == "msrun":
        return f"--bind_numa binds no memory for {subject}"
    return f"memory of {subject} is not bound, that of others is"


def _outcome(rules: tuple[Rule, ...]) -> str:
    bound = "only its CPUs are bound" if any(rule.role in PROCESS_ROLES for rule in rules) else "it starts unbound"
    return f"{bound}: its pages go where there is room"


def _near(question: Question, subject: Subject) -> CpuSet:
    return _near_memory(question, _running_on(question, subject))
