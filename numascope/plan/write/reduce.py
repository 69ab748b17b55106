"""What a form can say of a plan, and what is lost, line by line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.plan.make.made import RoleCpus
from numascope.plan.objects import PROCESS_ROLES, WHOLE_PROCESS, MemoryPolicy, Subject
from numascope.plan.write.losses import Losses
from numascope.plan.write.outline import MEMORY, Outline, Part, Setting

BIND_ONLY: Final[tuple[MemoryPolicy, ...]] = ("bind",)
NUMACTLS: Final[tuple[MemoryPolicy, ...]] = (
    "bind",
    "preferred",
    "preferred-many",
    "interleave",
    "weighted-interleave",
    "local",
)
"""numactl's policies, by the options of its current release."""


class Form(NamedTuple):
    """One form of output: its name, who reads it, how it is written, and what it can say."""

    name: str
    reader: str
    """`MindSpore`, `numactl`, `mpirun`: who the sentences of losses speak of."""
    write: Callable[[Outline, Setting], str]
    roles: Sequence[str] | None = ()
    """The roles that it can name; none: only a process as a whole; None: every role."""
    policies: Sequence[MemoryPolicy] = ()
    has_scheduler: bool = False
    follows_nodes: bool = False
    """It can name nodes in the place of CPUs, which then are theirs whatever comes online."""
    by_position: bool = False
    """The n-th element is for the n-th rank: devices are numbered anew from 0."""
    fixes_actors: bool = False
    memory_alone: bool = False
    """It can bind memory without CPUs."""
    has_command: bool = True
    """Its text starts the ranks, or says how, and so has a place for their command."""
    settle: Callable[[Outline, Machine, Losses], Outline] | None = None
    """What is peculiar to it."""
    doubts: Callable[[Outline], Sequence[str]] | None = None
    """What has to be said of it, whatever the plan."""


def reduced(outline: Outline, form: Form, machine: Machine, losses: Losses) -> Outline:
    """The part of a plan that a form can say; what it cannot is added to `losses`."""
    parts = [part for part in outline.parts if part.subject.device is not None or _keeps_scheduler(part, form, losses)]
    if form.settle is not None:
        settled = form.settle(Outline(tuple(parts), outline.fixed_actors), machine, losses)
        parts = list(settled.parts)
    parts = [_with_memory(_with_roles(part, form, losses), form, losses) for part in parts]
    parts = [part for part in parts if _says_something(part, form, losses)]
    if form.by_position:
        parts = _renumbered(parts, form, losses)
    fixed = outline.fixed_actors and any(one.role == "runtime" for part in parts for one in part.roles)
    if fixed and not form.fixes_actors:
        losses.whole("actor_thread_fix_bind", f"{form.reader} lets each actor run on the whole list of runtime")
    return Outline(tuple(parts), fixed and form.fixes_actors)


def _keeps_scheduler(part: Part, form: Form, losses: Losses) -> bool:
    if not form.has_scheduler and (part.roles or part.memory is not None):
        role = part.roles[0].role if part.roles else MEMORY
        losses.add(part.subject, role, f"{form.reader} starts none", detail=f"CPU {part.cpus or 'none'}")
    return form.has_scheduler


def _with_roles(part: Part, form: Form, losses: Losses) -> Part:
    if form.roles is None:
        return part
    roles = as_whole(part, form.reader, losses) if not form.roles else _named(part, form, form.roles, losses)
    if not form.follows_nodes:
        for one in roles:
            if one.nodes is not None:
                losses.nodes(part.subject, one._replace(role=part.roles[0].role))
        roles = tuple(one._replace(nodes=None) for one in roles)
    return part._replace(roles=roles)


def as_whole(part: Part, reader: str, losses: Losses) -> tuple[RoleCpus, ...]:
    """All roles as one: what the process and everything in it may use."""
    if not part.roles:
        return ()
    names = {one.role for one in part.roles}
    is_of_process = not names.isdisjoint(PROCESS_ROLES)
    for one in part.roles:
        if one.cpus != part.cpus or not is_of_process:
            losses.role(part.subject, one, f"{reader} binds a rank as a whole, to all its CPUs")
    return (RoleCpus(WHOLE_PROCESS, part.cpus, part.nodes),)


def first_preferred(outline: Outline, reader: str, losses: Losses) -> Outline:
    """Of several preferred nodes the first, which is the one that the kernel heeds (mm/mempolicy.c, mpol_new_preferred)."""
    parts = []
    for part in outline.parts:
        settled = part
        if part.policy == "preferred" and part.memory is not None and len(part.memory) > 1:
            losses.memory(part.subject, part.memory, f"{reader} prefers one node, the first is written")
            settled = part._replace(memory=CpuSet.of((part.memory.first,)))
        parts.append(settled)
    return outline._replace(parts=tuple(parts))


def _named(part: Part, form: Form, known: Sequence[str], losses: Losses) -> tuple[RoleCpus, ...]:
    """The roles that the form knows; a whole process is its `main`, which everything inherits that is not bound."""
    kept: list[RoleCpus] = []
    has_main = any(one.role == "main" for one in part.roles)
    for one in part.roles:
        if one.role in known:
            kept.append(one)
        elif one.role == WHOLE_PROCESS and not has_main:
            kept.insert(0, one._replace(role="main"))
        else:
            why = f"{form.reader} knows no such role, its threads stay where whoever starts them is"
            losses.role(part.subject, one, why)
    return tuple(kept)


def _with_memory(part: Part, form: Form, losses: Losses) -> Part:
    if part.memory is None or part.policy in form.policies:
        return part
    text = "binds no memory" if not form.policies else f"has no policy {part.policy}"
    losses.memory(part.subject, part.memory, f"{form.reader} {text}")
    return part._replace(memory=None, policy="bind")


def _says_something(part: Part, form: Form, losses: Losses) -> bool:
    if part.cpus or any(one.nodes for one in part.roles):
        return True
    if part.memory is not None and not form.memory_alone:
        losses.memory(part.subject, part.memory, f"{form.reader} binds none without CPUs")
        return False
    return part.memory is not None


def _renumbered(parts: Sequence[Part], form: Form, losses: Losses) -> list[Part]:
    found = []
    for number, part in enumerate(sorted((one for one in parts if one.subject.device is not None), key=_number)):
        if part.subject.device != number:
            role = part.roles[0].role if part.roles else MEMORY
            losses.add(part.subject, role, f"{form.reader} counts its ranks from 0", detail=f"rank {number}")
        found.append(part._replace(subject=Subject(number)))
    return [*found, *(part for part in parts if part.subject.device is None)]


def _number(part: Part) -> int:
    return part.subject.device or 0
