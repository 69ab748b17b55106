"""What the launcher makes of a plan: numactl goes by its own mask, msrun by lscpu, set_cpu_affinity by the path as it is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from numascope.plan.check.objects import CheckFinding, Hit, Question, gathered, is_scheduler
from numascope.plan.make.lscpu import unread_nodes
from numascope.plan.make.near import has_no_nodes
from numascope.plan.objects import PROCESS_ROLES, Place, Plan, Rule, Severity
from numascope.plan.owners import role_words

_WITHOUT: Final = {
    "torch": "torchrun --numa-binding ends every rank without it",
    "numactl": "the line fails, and its rank does not start",
    "taskset": "the line fails, and its rank does not start",
    "msrun": "msrun then binds nobody by it, and says so in its log",
}
"""What happens where the tool of a dialect is not there."""


def launcher_refusals(question: Question) -> tuple[CheckFinding, ...]:
    """`numactl-refuses`, `tool-missing`, `node-absent`: what ends a rank before its program begins."""
    return (*_outside_mask(question), *_missing_tool(question), *_without_nodes(question))


def _without_nodes(question: Question) -> Iterator[CheckFinding]:
    """Where the kernel has no nodes numactl ends, and msrun's objects bind nobody by it; of the bind JSON MindSpore's own answer says so."""
    plan = question.owners.plan
    if not has_no_nodes(question.owners.machine) or "numactl" not in _tools(plan):
        return
    written = [rule.place for rule in plan.memory]
    written += [rule.place for rule in plan.rules if (rule.tool or "numactl").startswith("numactl")]
    is_msrun = plan.dialect == "msrun"
    severity: Severity = "warning" if is_msrun else "error"
    text = "this kernel has no NUMA nodes: numactl says so and ends"
    if is_msrun:
        text = "this kernel has no NUMA nodes: msrun then binds nobody by --bind_numa, and says so in its log"
    remedy = (
        "bind by CPUs alone: --bind_core" if is_msrun else "bind by CPUs alone: numascope plan convert --to taskset"
    )
    yield from gathered(
        "node-absent", severity, [Hit(min(written, key=_order, default=Place(plan.path, 1, 1)), text)], remedy
    )


def _order(place: Place) -> tuple[int, int]:
    return place.line, place.column


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
        return rule.role in PROCESS_ROLES and rule.subject in question.owners.memory
    return (rule.tool or plan.dialect) in ("numactl", "torch")


def _missing_tool(question: Question) -> Iterator[CheckFinding]:
    """Tools that are not installed; of the bind JSON MindSpore's own answer says so."""
    plan, tools = question.owners.plan, question.host.tools
    for tool in _tools(plan) if tools is not None else ():
        if tools is None or tools.get(tool, True):
            continue
        written = [rule.place for rule in plan.rules] + [rule.place for rule in plan.memory]
        place = Place(plan.path, 1, 1) if plan.dialect == "torch" or not written else written[0]
        severity: Severity = "warning" if plan.dialect == "msrun" else "error"
        hit = Hit(place, f"{tool} is not installed", _WITHOUT[plan.dialect])
        yield from gathered("tool-missing", severity, [hit], f"install {tool}, or start ranks with numascope run")


def _tools(plan: Plan) -> tuple[str, ...]:
    """The tools by which the launcher binds."""
    if plan.dialect == "msrun":
        by_numactl = ("numactl",) if plan.memory else ()
        return (*by_numactl, *(("taskset",) if any(rule.cpus for rule in plan.rules) else ()))
    if plan.dialect in ("numactl", "taskset"):
        named = {(rule.tool or plan.dialect).partition(" ")[0] for rule in plan.rules}
        return tuple(sorted(named | ({"numactl"} if plan.memory else set())))
    return ("numactl",) if plan.dialect == "torch" else ()


def unread_cpuset(question: Question) -> tuple[CheckFinding, ...]:
    """`cgroup-v1`: the one file by which msrun's objects and set_cpu_affinity know CPUs, without which they bind nobody."""
    plan = question.owners.plan
    if plan.dialect not in ("msrun", "mindformers") or question.host.has_v1_cpuset is not False:
        return ()
    bound = next((rule for rule in plan.rules if rule.cpus), None)
    if bound is None:
        return ()
    text = "MindSpore up to 2.10 knows CPUs by /sys/fs/cgroup/cpuset/cpuset.cpus of cgroup v1, which is not there"
    hit = Hit(bound.place, text, "it then binds nobody, and says so in its log")
    return gathered("cgroup-v1", "info", [hit], "bind by numactl lines instead: numascope plan convert --to numactl")


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
    odd = unread_nodes(question.owners.machine)
    if not odd:
        return ()
    text = f"msrun cannot read the CPUs of node {odd} from lscpu: it understands only ranges such as 0-23"
    hit = Hit(plan.rules[0].place, text, "for true it then deals CPUs without regard to devices and nodes, or fails")
    return gathered("lscpu", "info", [hit], "give the CPUs of each device instead of true")
