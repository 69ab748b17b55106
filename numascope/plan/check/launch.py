"""What the launcher makes of a plan: numactl goes by its own mask, msrun by lscpu, set_cpu_affinity by the path as it is written."""

from __future__ import annotations

from collections.abc import Iterator

from numascope.plan.check.objects import CheckFinding, Hit, Question, gathered, is_scheduler
from numascope.plan.objects import Place, Rule
from numascope.plan.why import role_words


def launcher_refusals(question: Question) -> tuple[CheckFinding, ...]:
    """`numactl-refuses`, `tool-missing`: what ends a rank before its program begins."""
    return (*_outside_mask(question), *_missing_numactl(question))


def _outside_mask(question: Question) -> Iterator[CheckFinding]:
    """CPUs that the launcher itself may not use: numactl checks each against its own mask, which taskset goes past."""
    hits = []
    for rule in question.owners.plan.rules:
        lost = (rule.cpus & question.cpuset) - question.mask
        if lost and _by_numactl(question, rule):
            hits.append(
                Hit(rule.place, f"numactl refuses CPUs {lost} of {role_words(rule)}: its launcher may not use them")
            )
    evidence = f"the launcher may use {question.mask or 'nothing'}, the cpuset has {question.cpuset}"
    remedy = "start the launcher with all CPUs of the plan, or plan within its mask: numascope plan make --allowed"
    yield from gathered("numactl-refuses", "error", hits, remedy, (evidence,))


def _by_numactl(question: Question, rule: Rule) -> bool:
    """Whether these CPUs are handed to `numactl --physcpubind`."""
    plan = question.owners.plan
    if plan.dialect in ("mindspore", "msrun"):
        return rule.role in ("main", "any") and rule.subject in question.owners.memory
    return "numactl" in plan.dialect or plan.dialect == "torch"


def _missing_numactl(question: Question) -> Iterator[CheckFinding]:
    plan, tools = question.owners.plan, question.host.tools
    if plan.dialect != "torch" or tools is None or tools.get("numactl", True):
        return
    hit = Hit(Place(plan.path, 1, 1), "numactl is not installed", "torchrun --numa-binding ends every rank without it")
    yield from gathered("tool-missing", "error", [hit], "install numactl")


def linked_file(question: Question) -> tuple[CheckFinding, ...]:
    """`symlink`: set_cpu_affinity compares paths as texts, so the link's own name has to be given to both."""
    plan = question.owners.plan
    threads = [rule for rule in plan.rules if rule.role != "main" and not is_scheduler(rule.subject)]
    if plan.dialect != "mindspore" or not question.host.is_link or not threads:
        return ()
    text = "the file is a symbolic link, and set_cpu_affinity(bind_file=…) compares paths as texts"
    return gathered(
        "symlink", "info", [Hit(Place(plan.path, 1, 1), text)], "give msrun and set_cpu_affinity the same path"
    )


def unread_lscpu(question: Question) -> tuple[CheckFinding, ...]:
    """`lscpu`: msrun fails to read the CPUs of a node where they are no pure ranges, and then computes nothing for `true`."""
    plan = question.owners.plan
    if plan.dialect != "msrun" or not plan.rules:
        return ()
    odd = [
        str(node.id)
        for node in question.owners.machine.nodes
        if not node.cpus or any(first == last for first, last in node.cpus.ranges())
    ]
    if not odd:
        return ()
    text = f"msrun cannot read the CPUs of node {', '.join(odd[:8])} from lscpu: it takes ranges such as 0-23 alone"
    hit = Hit(plan.rules[0].place, text, "true then deals CPUs without a look at devices and nodes, or fails")
    return gathered("lscpu", "info", [hit], "give the CPUs of each device instead of true")
