"""Plan × machine × the threads of one rank → where each thread should run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet, union
from numascope.machine.objects import Machine
from numascope.observe.roles import Role
from numascope.plan.dialects.mindspore import MODULES
from numascope.plan.dialects.roles import NAMED, fits
from numascope.plan.objects import WHOLE_PROCESS, Plan, Rule, Subject, Target

_MODULES: Final = frozenset(MODULES)

BOUND_BY_MINDSPORE: Final = frozenset({"mindspore", "numascope", "mindformers"})
"""Dialects by whose runtime and pynative lists MindSpore's own threads are bound, some to one CPU each by position."""

PYNATIVE_QUEUES: Final = ("frontend_queue", "backend_queue", "launch_queue", "bprop_queue")
"""The n-th is bound to the n-th CPU of the pynative list (mindspore/ccsrc/runtime/pipeline/async_rqueue.cc)."""

_BINDING: Final = frozenset({"bind", "preferred", "preferred-many"})
"""Policies that say where memory should be; interleaving says that it should be everywhere."""

_LATER: Final = "launch_queue"
"""pynative binds it when it starts, runtime at the fifth run of an actor set: both are as the framework does it."""

_TOGETHER_TICKS: Final = 10
"""A tenth of a second: the three queues of the pipeline were made within one clock tick."""

_ACTOR: Final = "ActorThread_"
_ORDINALS: Final = ("first", "second")
_ACTORS: Final[tuple[tuple[int, tuple[str, ...]], ...]] = (
    (28, ("ActorThread_0", "ActorThread_1", "infer_queue", "resize_queue", "launch_queue")),
    (23, ("ActorThread_0", "infer_queue", "resize_queue", "launch_queue")),
    (17, ("ActorThread_0", "ActorThread_1", "launch_queue")),
    (12, ("ActorThread_0", "launch_queue")),
    (0, ("ActorThread_0",)),
)


class Member(NamedTuple):
    """One thread of a rank: `is_main` where tid == pid, `in_top` where it is of the rank's own process, not of a helper."""

    comm: str
    role: Role
    is_main: bool
    in_top: bool
    born: tuple[int, int] = (0, 0)
    """When it started, in clock ticks, and its tid: the order in which the threads of a process were made."""


def resolve(
    plan: Plan, machine: Machine, subject: Subject, framework: str, members: Sequence[Member], cpuset: CpuSet | None
) -> tuple[Target | None, ...]:
    """The target of each member, None where no rule covers it; a `cpuset` that is not known (None) cuts nothing."""
    reachable = machine.cpus.online if cpuset is None else machine.cpus.online & cpuset
    rank = _Rank(plan, machine, subject, reachable, members)
    return tuple(rank.aim(member, framework) for member in members)


def bound_actors(online: int) -> tuple[str, ...]:
    """The threads that MindSpore's runtime module binds, in its order, on so many online CPUs (18 % of them, from 1 to 5)."""
    return next(names for least, names in _ACTORS if online >= least)


def actor_words(name: str) -> str:
    """One of `bound_actors` as long as no job runs: `the first actor`, whatever its name will be, or the name of a queue.

    An actor takes the number in its name when it first runs, its place in the list when it is made (see `_actors`).
    """
    return f"the {_ORDINALS[int(name[len(_ACTOR) :])]} actor" if name.startswith(_ACTOR) else name


def _actors(online: int, members: Sequence[Member]) -> Sequence[str]:
    """The threads that the runtime module binds in one process, in its order, which is that in which they were made.

    Each takes the next number for its name when it first runs, so that names may be the other way round (ActorWorker::RunWithSpin of
    mindrt/src/thread/actor_threadpool.cc; seen on 16 CPUs). A pool that an operator of PyNative mode started before the first graph
    has as many actors as are bound, and then none of the queues is (GraphScheduler::GetRuntimeThreadIds).
    """
    names = bound_actors(online)
    pool = [one for one in members if one.in_top and one.comm.startswith(_ACTOR)]
    pool.sort(key=lambda one: (one.born, one.comm))
    made = [one.comm for one in pool]
    whole = [f"{_ACTOR}{number}" for number in range(len(names))]
    if sorted(made) == whole:
        return made
    usual = [name for name in names if name.startswith(_ACTOR)]
    return (*made, *names[len(usual) :]) if sorted(made) == usual else names


def _pipeline(members: Sequence[Member]) -> frozenset[Member]:
    """The launch queues of the runtime's pipeline, which are made together with its others; one of PyNative mode has the same name."""
    others = [one.born[0] for one in members if one.in_top and one.comm in ("infer_queue", "resize_queue")]
    return frozenset(
        one
        for one in members
        if one.in_top and one.comm == _LATER and any(abs(one.born[0] - born) <= _TOGETHER_TICKS for born in others)
    )


def planned_cpus(plan: Plan, machine: Machine, subject: Subject) -> CpuSet:
    """All CPUs that the plan names for a subject, whatever the role; in numa mode those of its nodes on this machine."""
    return union(rule_cpus(rule, machine) for rule in plan.rules if rule.subject == subject)


def planned_nodes(plan: Plan, machine: Machine, subject: Subject) -> CpuSet:
    """The nodes where a subject's memory should be: those the plan binds, else those of its planned CPUs."""
    bound = memory_nodes(plan, subject)
    if bound is not None:
        return bound
    rules = [rule for rule in plan.rules if rule.subject == subject]
    near = machine.nodes_of(union(rule.cpus for rule in rules))
    return near | union(rule.nodes for rule in rules if rule.nodes is not None)


def memory_nodes(plan: Plan, subject: Subject) -> CpuSet | None:
    """The nodes that the plan binds a subject's memory to, or prefers for it; None where it does neither."""
    if plan.memory_mode == "none":
        return None
    return union(rule.nodes for rule in plan.memory if rule.subject == subject and rule.policy in _BINDING) or None


class _Rank:
    """What one subject's rules mean on one machine; the methods give the target of one thread."""

    def __init__(
        self, plan: Plan, machine: Machine, subject: Subject, reachable: CpuSet, members: Sequence[Member]
    ) -> None:
        self.subject = subject
        self.machine = machine
        self.reachable = reachable
        self.batch = sum(member.role.name == "batch_launch" and member.in_top for member in members)
        self.fixed_actors = plan.fixed_actors
        self.rules: Mapping[str, Rule] = {rule.role: rule for rule in plan.rules if rule.subject == subject}
        self.lists: Mapping[str, tuple[int, ...]] = {role: rule.by_position() for role, rule in self.rules.items()}
        self.actors = _actors(len(machine.cpus.online), members)
        self.pipeline = _pipeline(members)
        self.patterns = [(role.removeprefix(NAMED), role) for role in self.rules if role.startswith(NAMED)]
        self.pins_omp = plan.dialect == "vllm"

    def aim(self, member: Member, framework: str) -> Target | None:
        """By its name, by its framework's own binding, by its role, as a part of the whole process; None: it inherits."""
        for pattern, role in self.patterns:
            if fits(pattern, member.comm):
                return self.whole_list(role)
        found = None
        if self.rules.keys() & _MODULES:
            found = self.mindspore(member) if framework == "mindspore" else self.other(member)
        is_bound = member.role.name == "main" or (framework == "mindspore" and member.role.name in _MODULES)
        if found is None and member.role.name in self.rules and not is_bound:
            found = self.whole_list(member.role.name)
        whole = self.rules.get(WHOLE_PROCESS)
        return self.whole_process(whole) if found is None and whole is not None else found

    def mindspore(self, member: Member) -> Target | None:
        """MindSpore's own binding (runtime/utils/runtime_conf/thread_bind_core.cc)."""
        role = member.role.name
        if role == "main":
            return self.whole_list("main") if member.is_main and member.in_top else None
        if self.subject.device is None:
            return None
        if role == "minddata":
            return self.whole_list("minddata")
        if not member.in_top:
            return None
        if role == "batch_launch":
            return self.batch_launch()
        if role in ("runtime", "pynative"):
            if self.binds_actor(member.comm):
                return self.runtime(member.comm)
            return None if member in self.pipeline else self.pynative(member.comm)
        return None

    def other(self, member: Member) -> Target | None:
        """Any other framework: `main` is what `taskset -c` gave the process and all that it starts, unless a rule has the rest."""
        name = member.role.name
        if name not in ("main", "unnamed") and name in self.rules:
            return self.whole_list(name)
        if name in ("loader", "pin") and "minddata" in self.rules:
            return self.whole_list("minddata", ", the data loading")
        if WHOLE_PROCESS in self.rules:
            return self.whole_list("main") if name == "main" and member.is_main and member.in_top else None
        return self.whole_list("main", ", the whole process")

    def whole_process(self, rule: Rule) -> Target:
        words = WHOLE_PROCESS if rule.nodes is None else f"node{'s' if len(rule.nodes) > 1 else ''} {rule.nodes}"
        return self.target(rule, rule_cpus(rule, self.machine), f"{words} of {self.subject}")

    def whole_list(self, role: str, beside: str = "") -> Target | None:
        rule = self.rules.get(role)
        if rule is None:
            return None
        found = self.target(rule, rule_cpus(rule, self.machine), f"{role} of {self.subject}{beside}")
        return replace(found, one_each=True) if role == "omp" and self.pins_omp else found

    def binds_actor(self, comm: str) -> bool:
        return comm in self.actors and "runtime" in self.rules

    def runtime(self, comm: str) -> Target | None:
        if self.fixed_actors:
            found = self.one_cpu("runtime", self.actors.index(comm) % len(self.lists["runtime"]))
        else:
            found = self.whole_list("runtime")
        earlier = self.pynative(comm) if comm == _LATER else None
        return found if found is None or earlier is None else replace(found, either=earlier.cpus)

    def pynative(self, comm: str) -> Target | None:
        if comm not in PYNATIVE_QUEUES or "pynative" not in self.rules:
            return None
        return self.one_cpu("pynative", PYNATIVE_QUEUES.index(comm))

    def one_cpu(self, role: str, index: int) -> Target | None:
        cpus = self.lists[role]
        if index >= len(cpus):
            return None
        return self.target(self.rules[role], CpuSet.of((cpus[index],)), f"{role}[{index}] of {self.subject}")

    def batch_launch(self) -> Target | None:
        rule = self.rules.get("minddata")
        if rule is None:
            return None
        last = CpuSet.of(self.lists["minddata"][-self.batch :])
        return self.target(rule, last, f"the last {len(last)} of minddata of {self.subject}")

    def target(self, rule: Rule, planned: CpuSet, why: str) -> Target:
        return Target(planned, planned & self.reachable, rule.place, why)


def rule_cpus(rule: Rule, machine: Machine) -> CpuSet:
    """The CPUs of a rule; in numa mode the online ones of its nodes on this machine."""
    if rule.nodes is None:
        return rule.cpus
    return union(node.cpus for node in machine.nodes if node.id in rule.nodes)
