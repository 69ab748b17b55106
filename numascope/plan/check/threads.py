"""Roles with fewer CPUs than threads: actors, the four queues of pynative, loader workers, OpenMP's team."""

from __future__ import annotations

from collections.abc import Iterator

from numascope.cpuset import CpuSet
from numascope.plan.check.objects import CheckFinding, Hit, Question, gathered, is_scheduler, plural
from numascope.plan.objects import WHOLE_PROCESS, Rule
from numascope.plan.owners import role_words
from numascope.plan.resolve import BOUND_BY_MINDSPORE, PYNATIVE_QUEUES, actor_words, bound_actors, rule_cpus

_INHERITS = {"loader": ("minddata", "main", WHOLE_PROCESS), "omp": ("main", WHOLE_PROCESS)}
"""Threads that no list of a MindSpore plan names, and the roles whose CPUs they have."""


def few_cpus(question: Question) -> tuple[CheckFinding, ...]:
    """`few-queues`, `few-actors`, `few-cpus`: threads that share a CPU, or that MindSpore reads past the list for."""
    return (*_queues(question), *_actors(question), *_given(question))


def _queues(question: Question) -> tuple[CheckFinding, ...]:
    if question.owners.plan.dialect not in BOUND_BY_MINDSPORE:
        return ()
    hits = [
        Hit(rule.place, f"{role_words(rule)} has {plural(len(rule.cpus), 'CPU')}, its queues take {len(PYNATIVE_QUEUES)} by position")
        for rule in question.owners.plan.rules
        if rule.role == "pynative" and rule.nodes is None and 0 < len(rule.by_position()) < len(PYNATIVE_QUEUES)
    ]  # fmt: skip
    return gathered(
        "few-queues", "error", hits, f"give pynative {len(PYNATIVE_QUEUES)} CPUs, or leave it out",
        (f"the order is {', '.join(PYNATIVE_QUEUES)}: MindSpore reads past the end for the others, any CPU may come out",),
    )  # fmt: skip


def _actors(question: Question) -> tuple[CheckFinding, ...]:
    """A warning where idle cores on the same node would do, else a note; a note where the actors may move within the list."""
    owners = question.owners
    if owners.plan.dialect not in BOUND_BY_MINDSPORE:
        return ()
    fixed = owners.plan.fixed_actors
    actors = bound_actors(len(owners.machine.cpus.online))
    avoidable: list[Hit] = []
    forced: list[Hit] = []
    for rule in owners.plan.rules:
        if rule.role != "runtime" or not rule.cpus or len(rule.cpus) >= len(actors):
            continue
        words = "take one each in turn" if fixed else "share them"
        text = f"{role_words(rule)} has {plural(len(rule.cpus), 'CPU')} for {len(actors)} threads, which {words}"
        sharing = [actor_words(name) for at, name in enumerate(actors) if not fixed or at % len(rule.cpus) == 0]
        where = f"on CPU {rule.cpus.first if fixed else rule.cpus}: {', '.join(sharing)}"
        is_avoidable = fixed and _idle_beside(question, rule) > len(actors) - len(rule.cpus)
        (avoidable if is_avoidable else forced).append(Hit(rule.place, text, where))
    remedy = f"give runtime {len(actors)} CPUs"
    other = ', or say "actor_thread_fix_bind": false' if fixed else ""
    return (
        *gathered("few-actors", "warning", avoidable, f"{remedy}: there are idle cores on its node"),
        *gathered("few-actors", "info", forced, f"{remedy}{other}"),
    )


def _idle_beside(question: Question, rule: Rule) -> int:
    """Whole cores on the role's node that nobody has."""
    owners = question.owners
    node = owners.machine.node_of.get(rule.cpus.first)
    here = CpuSet.of(cpu for cpu in question.free if owners.machine.node_of.get(cpu) == node)
    return sum(1 for cpu in here if (core := owners.cores.get(cpu, CpuSet(1 << cpu))) <= here and core.first == cpu)


def _given(question: Question) -> tuple[CheckFinding, ...]:
    """What the user says, or a live job shows, of how many threads there are."""
    hits = [hit for role, count, source in _counts(question) for hit in _short(question, role, count, source)]
    return gathered("few-cpus", "warning", hits, "give the role more CPUs, or start fewer threads")


def _counts(question: Question) -> Iterator[tuple[str, int, str]]:
    for role, count in question.threads.items():
        yield role, count, "--threads"
    job = question.job
    if job is not None and job.loaders and not {"loader", "minddata"} & set(question.threads):
        yield "loader", job.loaders, f"processes started by one rank of job {job.pid}"
    if job is not None and job.omp_threads and "omp" not in question.threads:
        yield "omp", job.omp_threads, "OMP_NUM_THREADS of the job"


def _short(question: Question, role: str, count: int, source: str) -> Iterator[Hit]:
    owners = question.owners
    for subject, rules in owners.of_subject.items():
        if is_scheduler(subject):
            continue
        own = {rule.role: rule for rule in rules}
        rule = next((own[name] for name in (role, *_INHERITS.get(role, (WHOLE_PROCESS,))) if name in own), None)
        usable = CpuSet() if rule is None else rule_cpus(rule, owners.machine) & question.cpuset
        if rule is not None and 0 < len(usable) < count:
            words = "" if rule.role == role else f"{role} threads run in "
            yield Hit(
                rule.place,
                f"{words}{role_words(rule)}, {plural(len(usable), 'CPU')} for {count} threads",
                f"{count} by {source}",
            )
