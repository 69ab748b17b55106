"""What a plan gives to the process of a rank when it starts: the part that a prefix of numactl or taskset can bind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.plan.objects import WHOLE_PROCESS, MemoryRule, Plan, Rule, Subject
from numascope.plan.resolve import rule_cpus


class Prefix(NamedTuple):
    """The CPUs of the process and the rule that says so, its memory, and the roles that are bound later or not at all."""

    rule: Rule | None
    cpus: CpuSet | None
    memory: MemoryRule | None
    rest: Sequence[str]


def prefix_of(plan: Plan, machine: Machine, subject: Subject) -> Prefix:
    """The process is `any`, else `main`, as msrun has it: a plan of runtime and minddata alone binds no process."""
    rules = {rule.role: rule for rule in plan.rules if rule.subject == subject}
    rule = rules.get(WHOLE_PROCESS) or rules.get("main")
    bound = [one for one in plan.memory if one.subject == subject and plan.memory_mode != "none"]
    rest = [role for role in rules if rule is None or role != rule.role]
    return Prefix(rule, None if rule is None else rule_cpus(rule, machine), bound[0] if bound else None, rest)
