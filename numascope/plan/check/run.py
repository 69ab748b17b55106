"""A whole check: the framework's own answer, then every rule on the machine, sorted by weight and place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, CpuSet
from numascope.errors import InputError
from numascope.machine.objects import Machine
from numascope.plan.check.cpus import isolated_cpus, unusable_cpus, unusable_nodes
from numascope.plan.check.devices import far_devices, odd_devices
from numascope.plan.check.job import job_faults
from numascope.plan.check.judged import View
from numascope.plan.check.launch import launcher_refusals, linked_file, unread_cpuset, unread_lscpu
from numascope.plan.check.memory import bound_memory, missing_memory
from numascope.plan.check.mindspore import outcome_words, refusals, silent_faults
from numascope.plan.check.msrun_judge import judge
from numascope.plan.check.noted import noted
from numascope.plan.check.objects import CheckFinding, Hit, HostFacts, Question, gathered, shortened
from numascope.plan.check.overlap import scheduler_slice, shared_cpus
from numascope.plan.check.siblings import paired_cores, split_cores
from numascope.plan.check.spread import spread_roles
from numascope.plan.check.surroundings import device_interrupts, idle_cpus
from numascope.plan.check.threads import few_cpus
from numascope.plan.dialects.mindspore import OWN_KEY, SECTIONS
from numascope.plan.json_reader import Value
from numascope.plan.make.made import NoPlanError
from numascope.plan.make.near import has_no_nodes
from numascope.plan.objects import Place, Plan, Severity

_RULES: Final[tuple[Callable[[Question], Sequence[CheckFinding]], ...]] = (
    unusable_cpus, unusable_nodes, isolated_cpus, shared_cpus, split_cores, paired_cores, scheduler_slice, spread_roles,
    bound_memory, missing_memory, far_devices, odd_devices, few_cpus, launcher_refusals, linked_file, unread_lscpu,
    unread_cpuset, job_faults, idle_cpus, device_interrupts,
)  # fmt: skip

_WEIGHT: Final[dict[Severity, int]] = {"error": 0, "warning": 1, "info": 2}


class Checked(NamedTuple):
    """What a check found, worst first, and what MindSpore would do (None: it has no part in this plan)."""

    findings: tuple[CheckFinding, ...]
    outcome: str | None
    is_usable: bool
    """Whether the plan could be read; False: what is found is why not."""


def is_for_mindspore(document: Value) -> bool:
    """Whether MindSpore is to read this JSON: it has one of its sections, or nothing at all, and is not numascope's own."""
    top = document.data
    return isinstance(top, Mapping) and OWN_KEY not in top and (not top or any(key in top for key in SECTIONS))


def view_of(machine: Machine, cpuset: CpuSet, host: HostFacts) -> View:
    """The host as MindSpore sees it."""
    nodes = (
        EMPTY
        if has_no_nodes(machine)
        else CpuSet.of(one.id for one in machine.nodes if one.cpus and one.memory_kib != 0)
    )
    npus = sum(1 for device in machine.devices if device.kind == "npu")
    return View(cpuset, nodes, npus - 1 if npus else None, host.has_v1_cpuset, host.tools)


def check_document(
    path: str, document: Value, view: View, question: Question | None, refusal: InputError | None, *, has_mark: bool
) -> Checked:
    """A bind JSON: as MindSpore reads it, and where numascope can read it (`question`) by every rule on the machine."""
    judgement = judge(document, view, has_mark=has_mark)
    ruled = [] if question is None else list(_ruled(question))
    found = [*refusals(path, judgement, ruled), *silent_faults(path, document, judgement), *ruled]
    if refusal is not None and document.data and not any(one.severity == "error" for one in found):
        found += _unread(path, refusal)
    binds_nobody = document.data == {}  # which MindSpore accepts, and so it is a plan
    return Checked(_sorted(found), shortened(outcome_words(judgement)), is_usable=question is not None or binds_nobody)


def as_written(plan: Plan) -> Plan:
    """The plan without what its reader adds, which is not to be held against it; where all is added, all of it."""
    return replace(plan, rules=tuple(rule for rule in plan.rules if rule.is_written) or plan.rules)


def check_plan(question: Question) -> Checked:
    """A plan of any other dialect: its reader's notes, and every rule on the machine."""
    ruled = list(_ruled(question))
    return Checked(_sorted([*noted(question.owners.plan, ruled), *ruled]), None, is_usable=True)


def refused_by_torch(path: str, refusal: NoPlanError) -> Checked:
    """What the framework itself fails at, which leaves nothing to look at."""
    hit = Hit(Place(path, 1, 1), str(refusal))
    remedy = "choose another mode, or bind by launch lines: numascope plan make says how"
    return Checked(gathered("framework-refuses", "error", [hit], remedy), None, is_usable=True)


def _unread(path: str, refusal: InputError) -> tuple[CheckFinding, ...]:
    place = Place(path, refusal.line or 1, refusal.column or 1)
    return gathered("unreadable", "error", [Hit(place, refusal.problem)], "correct it at that place")


def _ruled(question: Question) -> Iterator[CheckFinding]:
    for rule in _RULES:
        yield from rule(question)


def _sorted(found: Sequence[CheckFinding]) -> tuple[CheckFinding, ...]:
    def order(one: CheckFinding) -> tuple[int, int, int, str]:
        return _WEIGHT[one.severity], one.places[0].line, one.places[0].column, one.rule

    return tuple(sorted(found, key=order))
