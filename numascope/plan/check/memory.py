"""Memory that a plan binds: to nodes that have none, that are far from the CPUs, nearly full, or not at all for some."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.plan.check.objects import CheckFinding, Hit, Question, Severity, gathered, is_scheduler
from numascope.plan.make.near import distance_words, memory_near
from numascope.plan.objects import SCHEDULER, MemoryRule, Rule, Subject
from numascope.plan.resolve import rule_cpus

_FULL: Final = 0.1
"""A node with less than this share of its memory to give is nearly full."""


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
    allowed = machine.nodes_allowed
    hits = []
    for rule in rules:
        lost = rule.nodes - known
        if lost:
            hits.append(Hit(rule.place, f"memory of {rule.subject} is bound to node {lost}, which is not here"))
        denied = (rule.nodes & known) - allowed if allowed else CpuSet()
        if denied:
            hits.append(Hit(rule.place, f"memory of {rule.subject} is bound to node {denied}, which the cpuset denies"))
    able = known if not allowed else known & allowed
    return gathered(
        "mem-absent", "error", hits, f"bind it to a node of {able}", ("numactl --membind is refused there",)
    )


def _empty(question: Question, rules: tuple[MemoryRule, ...]) -> tuple[CheckFinding, ...]:
    """Nodes without memory; and for MindSpore those without CPUs, which it does not count as nodes."""
    machine = question.owners.machine
    without = CpuSet.of(node.id for node in machine.nodes if node.memory_kib == 0)
    bare = CpuSet.of(node.id for node in machine.nodes if not node.cpus and node.memory_kib != 0)
    hits, uncounted = [], []
    for rule in rules:
        if rule.nodes & without:
            hits.append(
                Hit(rule.place, f"memory of {rule.subject} is bound to node {rule.nodes & without}, which has none")
            )
        if rule.nodes & bare and question.owners.plan.dialect in ("mindspore", "msrun"):
            uncounted.append(
                Hit(rule.place, f"memory of {rule.subject} is bound to node {rule.nodes & bare}, which has no CPU")
            )
    able = CpuSet.of(node.id for node in machine.nodes) - without
    return (
        *gathered("mem-empty", "error", hits, f"bind it to a node of {able}", ("numactl --membind is refused there",)),
        *gathered(
            "mem-empty", "error", uncounted, f"bind it to a node of {able - bare}",
            ("MindSpore counts nodes that have CPUs and memory, and ends at any other",),
        ),
    )  # fmt: skip


def _far(question: Question, rules: tuple[MemoryRule, ...]) -> Iterator[CheckFinding]:
    hits: dict[Severity, list[Hit]] = {"warning": [], "info": []}
    for rule in rules:
        if not rule.nodes or rule.policy not in ("bind", "preferred"):
            continue
        nodes = _running_on(question, rule.subject)
        near = _near_memory(question.owners.machine, nodes)
        if not nodes or not near or rule.nodes & (nodes | near):
            continue
        start, end = nodes.first, rule.nodes.first
        far = distance_words(question.owners.machine, start, end)
        text = f"memory of {rule.subject} is bound to node {rule.nodes}, its CPUs are on node {nodes}{far}"
        severity: Severity = "info" if is_scheduler(rule.subject) else "warning"
        hits[severity].append(Hit(rule.place, text, f"nearest with memory: node {near}"))
    for severity, found in hits.items():
        yield from gathered("mem-far", severity, found, "bind memory and CPUs to one node")


def _running_on(question: Question, subject: Subject) -> CpuSet:
    """The nodes of a subject's main thread, else of all its roles."""
    rules = question.owners.of_subject.get(subject, ())
    chosen = [rule for rule in rules if rule.role in ("main", "any")] or list(rules)
    node_of = question.owners.machine.node_of
    cpus = [cpu for rule in chosen for cpu in rule_cpus(rule, question.owners.machine) & question.cpuset]
    return CpuSet.of({node_of[cpu] for cpu in cpus if cpu in node_of})


def _near_memory(machine: Machine, nodes: CpuSet) -> CpuSet:
    found = [memory_near(machine, node) for node in nodes]
    return CpuSet.of(one for near in found if near is not None for one in near)


def _full(question: Question, rules: tuple[MemoryRule, ...]) -> Iterator[CheckFinding]:
    """A warning where page cache is counted too, a note where only the free memory is known."""
    hits: dict[Severity, list[Hit]] = {"warning": [], "info": []}
    for node in question.owners.machine.nodes:
        bound = [rule for rule in rules if node.id in rule.nodes]
        if not bound or node.free_kib is None or not node.memory_kib:
            continue
        cache = question.host.cache_kib.get(node.id)
        share = (node.free_kib + (cache or 0)) / node.memory_kib
        if share < _FULL:
            text = f"node {node.id} has {share:.0%} of its {_gib(node.memory_kib)} to give, memory of {bound[0].subject} is bound there"
            evidence = f"free {_gib(node.free_kib)}, page cache {'unknown' if cache is None else _gib(cache)}"
            hits["info" if cache is None else "warning"].append(Hit(bound[0].place, text, evidence))
    for severity, found in hits.items():
        yield from gathered(
            "mem-full", severity, found, "bound ranks are killed when it is full: free memory there first"
        )


def _gib(kib: int) -> str:
    return f"{kib / (1 << 20):.1f} GiB"


def missing_memory(question: Question) -> tuple[CheckFinding, ...]:
    """`mem-missing`: the mode binds memory, and some devices have no entry; a note where none has one."""
    owners = question.owners
    if owners.plan.memory_mode != "numa":
        return ()
    hits = [
        Hit(rules[0].place, f'"bind_memory" has no "{subject}", and "bind_memory_mode" is "numa"', _outcome(rules))
        for subject, rules in owners.of_subject.items()
        if subject != SCHEDULER and subject not in owners.memory and rules
    ]
    if not owners.memory:
        return gathered("mem-missing", "info", hits, 'add "bind_memory", or say "bind_memory_mode": "none"')
    lacking = [subject for subject in owners.of_subject if subject != SCHEDULER and subject not in owners.memory]
    adding = ", ".join(f'"{subject}": {near}' for subject in lacking[:4] if (near := _advice(question, subject)))
    return gathered("mem-missing", "warning", hits, f"add {adding}" if adding else "add an entry for each device")


def _outcome(rules: tuple[Rule, ...]) -> str:
    tool = "taskset" if any(rule.role == "main" for rule in rules) else "no binding"
    return f"it starts with {tool} only: its pages go where there is room"


def _advice(question: Question, subject: Subject) -> str:
    near = _near_memory(question.owners.machine, _running_on(question, subject))
    return str(near) if len(near) == 1 else f'"{near}"' if near else ""
