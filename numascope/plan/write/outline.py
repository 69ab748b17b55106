"""A plan as what every form is written from: subject by subject its roles and its memory, with the places that they came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet, union
from numascope.machine.objects import Machine
from numascope.plan.make.made import Made, RoleCpus
from numascope.plan.objects import SCHEDULER, MemoryPolicy, Place, Plan, Subject
from numascope.plan.resolve import rule_cpus

MEMORY: Final = "memory"
"""In the place of a role, where something is said of a subject's memory."""


class Part(NamedTuple):
    """What one subject gets; `memory` None leaves its memory unbound, and is empty only with the policy `local`."""

    subject: Subject
    roles: tuple[RoleCpus, ...]
    memory: CpuSet | None = None
    policy: MemoryPolicy = "bind"
    label: str = ""
    """`device 0 (0000:3b:00.0)`, as a comment beside it says."""

    @property
    def cpus(self) -> CpuSet:
        """The CPUs of all roles."""
        return union(one.cpus for one in self.roles)

    @property
    def nodes(self) -> CpuSet | None:
        """The nodes, where the whole process is to run on these and nothing else is said of its CPUs."""
        return self.roles[0].nodes if len(self.roles) == 1 else None


class Outline(NamedTuple):
    """A whole plan: devices by number, then the scheduler."""

    parts: tuple[Part, ...]
    fixed_actors: bool = False


class Setting(NamedTuple):
    """What writing needs beside the plan: the machine, the command to start, and how JSON is indented."""

    machine: Machine
    command: tuple[str, ...] = ()
    indent: int = 2


Places = Mapping[tuple[Subject, str], Place]
"""Subject and role, or `MEMORY`, to where the plan says it."""


def outline_of_made(made: Made) -> Outline:
    """A made plan as an outline."""
    parts = [
        Part(Subject(share.seat.number), share.roles, share.memory, label=str(share.seat)) for share in made.shares
    ]
    if made.scheduler:
        parts.append(Part(SCHEDULER, (RoleCpus("main", made.scheduler),), label=str(SCHEDULER)))
    return Outline(tuple(parts), made.fixed_actors)


def outline_of_plan(plan: Plan, machine: Machine) -> tuple[Outline, Places]:
    """A plan that was read, on a machine, and the places of its rules; of two rules of one role the CPUs of both."""
    places: dict[tuple[Subject, str], Place] = {}
    roles: dict[Subject, dict[str, RoleCpus]] = {subject: {} for subject in plan.subjects()}
    for rule in plan.rules:
        places.setdefault((rule.subject, rule.role), rule.place)
        old = roles[rule.subject].get(rule.role)
        cpus = rule_cpus(rule, machine) if old is None else old.cpus | rule_cpus(rule, machine)
        nodes = rule.nodes if old is None else None
        roles[rule.subject][rule.role] = RoleCpus(rule.role, cpus, nodes)
    memory = {one.subject: one for one in plan.memory} if plan.memory_mode != "none" else {}
    for subject, one in memory.items():
        places[subject, MEMORY] = one.place
    parts = []
    for subject, found in roles.items():
        bound = memory.get(subject)
        label = str(subject) if subject.device is None else f"device {subject.device}"
        parts.append(
            Part(subject, tuple(found.values()), None if bound is None else bound.nodes, "bind" if bound is None else bound.policy, label)
        )  # fmt: skip
    return Outline(tuple(parts), plan.fixed_actors and any("runtime" in found for found in roles.values())), places
