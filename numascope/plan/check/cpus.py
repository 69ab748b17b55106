"""CPUs and nodes that a plan names and that cannot be used: not there, offline, outside the cpuset, isolated."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from numascope.cpuset import CpuSet
from numascope.plan.check.launcher import Launcher, launcher_of
from numascope.plan.check.objects import CheckFinding, Hit, Question, gathered, plural
from numascope.plan.objects import WHOLE_PROCESS, Rule, Severity
from numascope.plan.owners import role_words
from numascope.plan.resolve import BOUND_BY_MINDSPORE, PYNATIVE_QUEUES


def unusable_cpus(question: Question) -> tuple[CheckFinding, ...]:
    """`cpu-absent`, `cpu-offline`, `cpu-denied`: whoever is bound there is refused, or gets what is left."""
    cpus = question.owners.machine.cpus
    online = cpus.online
    has = f"this machine has the CPUs {cpus.present}"
    return (
        *_lost(question, "cpu-absent", lambda one: one - cpus.present, "not on this machine", has),
        *_lost(question, "cpu-offline", lambda one: one & cpus.offline, "offline", f"online are {online}"),
        *_lost(
            question,
            "cpu-denied",
            lambda one: (one & online) - question.cpuset,
            "outside the cpuset",
            f"allowed are {question.cpuset or 'none'}",
        ),
    )


def _lost(
    question: Question, rule: str, lost_of: Callable[[CpuSet], CpuSet], words: str, known: str
) -> Iterator[CheckFinding]:
    """An error where the launcher refuses such CPUs, or where nothing else is left; torch_npu binds nobody, and starts all the same."""
    plan = question.owners.plan
    refused: dict[Launcher, list[Hit]] = {}
    empty: dict[Launcher, list[Hit]] = {}
    cut: dict[Launcher, list[Hit]] = {}
    for one in plan.rules:
        lost = lost_of(one.cpus)
        if not lost:
            continue
        launcher = launcher_of(plan, one)
        told = f"{plural(len(lost), 'CPU')} of {role_words(one)} {'is' if len(lost) == 1 else 'are'} {words}: {lost}"
        kind = refused if rule in launcher.refuses else cut if one.cpus & question.cpuset else empty
        kind.setdefault(launcher, []).append(Hit(one.place, told))
    remedy = f"plan CPUs of {question.cpuset or 'another machine'}"
    weight: Severity = "warning" if plan.dialect == "torch_npu" else "error"
    for launcher, hits in refused.items():
        yield from gathered(rule, "error", hits, remedy, (known, launcher.refusal))
    for launcher, hits in empty.items():
        yield from gathered(rule, weight, hits, remedy, (known, launcher.nothing))
    for launcher, hits in cut.items():
        yield from gathered(rule, "warning", hits, remedy, (known, launcher.cut))


def unusable_nodes(question: Question) -> tuple[CheckFinding, ...]:
    """`node-absent`, `node-empty`: nodes of a plan in numa mode that are not there, or have no CPU to run on."""
    machine = question.owners.machine
    known = CpuSet.of(node.id for node in machine.nodes)
    able = CpuSet.of(node.id for node in machine.nodes if node.cpus & question.cpuset)
    absent, empty = [], []
    for rule in question.owners.plan.rules:
        if rule.nodes is None:
            continue
        if rule.nodes - known:
            absent.append(Hit(rule.place, f"node {rule.nodes - known} of {role_words(rule)} is not on this machine"))
        if (rule.nodes & known) - able:
            empty.append(Hit(rule.place, f"node {(rule.nodes & known) - able} of {role_words(rule)} has no usable CPU"))
    remedy = f"name a node of {able}"
    outcome = launcher_of(question.owners.plan).node
    return (
        *gathered("node-absent", "error", absent, remedy, (f"this machine has the nodes {known or 'none'}", outcome)),
        *gathered("node-empty", "error", empty, remedy, ("the kernel refuses to run a process there (EINVAL)",)),
    )


def isolated_cpus(question: Question) -> tuple[CheckFinding, ...]:
    """`cpu-isolated`: the kernel balances no thread there, so all threads of a set stay on one of its CPUs."""
    cpus = question.owners.machine.cpus
    apart = cpus.isolated | cpus.partitioned
    piled: list[Hit] = []
    alone: list[Hit] = []
    for rule in question.owners.plan.rules if apart else ():
        found = rule.cpus & apart
        if not found:
            continue
        text = (
            f"{plural(len(found), 'CPU')} of {role_words(rule)} {'is' if len(found) == 1 else 'are'} isolated: {found}"
        )
        (alone if _one_thread_each(question, rule) else piled).append(Hit(rule.place, text))
    return (
        *gathered(
            "cpu-isolated",
            "warning",
            piled,
            "plan CPUs that are not isolated, or give each thread a CPU of its own",
            (f"isolated here: {apart}", "the kernel balances no threads there: several of one set stay on one CPU"),
        ),
        *gathered(
            "cpu-isolated",
            "info",
            alone,
            "nothing to do where this is wanted",
            ("each thread has one CPU there, which nothing else disturbs",),
        ),
    )


def _one_thread_each(question: Question, rule: Rule) -> bool:
    """Whether each thread of this role is bound to one CPU: by MindSpore, by vLLM, or where torch_npu pins a thread."""
    dialect = question.owners.plan.dialect
    if dialect == "vllm" or (dialect == "torch_npu" and rule.role != WHOLE_PROCESS):
        return True
    if dialect not in BOUND_BY_MINDSPORE:
        return False
    fixed = rule.role == "runtime" and question.owners.plan.fixed_actors
    return fixed or (rule.role == "pynative" and len(rule.by_position()) >= len(PYNATIVE_QUEUES))
