"""Who is who in a sample: for each thread its rank, role, label and target. Pure; made anew only when somebody comes or goes."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_not
from typing import NamedTuple

from numascope.host.pci.numbers import NO_NUMBERS, DeviceNumbers
from numascope.machine.objects import Machine
from numascope.observe.jobs import Job, Rank
from numascope.observe.roles import Planned, Role, Seat, ThreadFacts, call_roll
from numascope.observe.roles.names import OwnNames
from numascope.observe.sample import ProcessFacts, Sample, ThreadKey, Threads
from numascope.plan.objects import SCHEDULER, Plan, Subject, Target
from numascope.plan.resolve import Member, resolve
from numascope.review.devices import DevicePlace, place_of

LETTERS = "ABCDEFGHIJKLMNOPQRTUVWXYZ"
"""S is kept for the scheduler; ranks after Z are `&`."""


class Part(NamedTuple):
    """One thread's part: what it is for, how screens name it, whose it is and where it should run."""

    role: Role
    label: str
    rank: int | None
    subject: Subject | None
    target: Target | None


@dataclass(frozen=True, slots=True)
class CastRank:
    """A rank as screens name it, with its processes; `index` is its place in the report."""

    index: int
    letter: str
    name: str
    job: Job
    rank: Rank
    subject: Subject | None
    place: DevicePlace | None = None
    """Its device on this machine; None where nothing tells it."""
    framework: str = ""
    """The job's, or where nobody known launched it the one that its threads' names tell."""


@dataclass(frozen=True, slots=True)
class Cast:
    """All parts, in the order of the sample's threads."""

    ranks: tuple[CastRank, ...]
    parts: tuple[Part, ...]
    rank_rows: tuple[tuple[int, ...], ...]
    """For each rank the rows of its threads."""
    evident_rows: tuple[int, ...] = ()
    """The rows of ranks' threads that have their role, or none yet, by evidence."""


def cast_ranks(
    jobs: Sequence[Job],
    processes: Mapping[int, ProcessFacts],
    plan: Plan | None,
    machine: Machine,
    numbers: DeviceNumbers = NO_NUMBERS,
) -> tuple[CastRank, ...]:
    """The ranks of all jobs in order, each with its letter, its device and, under a plan, its subject."""
    found: list[CastRank] = []
    for job in jobs:
        for rank in job.ranks:
            index = len(found)
            letter = LETTERS[index] if index < len(LETTERS) else "&"
            process = processes.get(rank.pid)
            comm = process.comm if process is not None else "process"
            name = f"rank {rank.number}" if rank.number is not None else f"{comm} {rank.pid}"
            if rank.number is not None and len(jobs) > 1:
                name = f"{job.launcher if job.launcher is not None else job.ranks[0].pid} {name}"
            subject = Subject(rank.device) if plan is not None and rank.device is not None else None
            place = place_of(rank, process, machine, numbers)
            found.append(CastRank(index, letter, name, job, rank, subject, place, job.framework))
    return tuple(found)


def make_cast(
    jobs: Sequence[Job],
    sample: Sample,
    plan: Plan | None,
    machine: Machine,
    cleaners: Container[ThreadKey] = frozenset(),
    own: OwnNames | None = None,
    numbers: DeviceNumbers = NO_NUMBERS,
) -> Cast:
    """Gives every thread of a sample its part; `cleaners` are the threads that were cleaning processes before, `own` the user's names."""
    ranks = cast_ranks(jobs, sample.processes, plan, machine, numbers)
    rows_of: dict[int, list[int]] = {}
    for row, key in enumerate(sample.threads.keys):
        rows_of.setdefault(key.pid, []).append(row)
    keys = sample.threads.keys
    roll = call_roll(
        jobs,
        sample.processes,
        {pid: [_thread_facts(sample, row) for row in rows] for pid, rows in rows_of.items()},
        cleaners={pid for pid, rows in rows_of.items() if keys[rows[0]] in cleaners},
        minddata=_planned_minddata(ranks, plan),
        own=own,
    )
    ranks = tuple(replace(one, framework=roll.seats[one.rank.pid].framework) for one in ranks)
    roles = {row: role for pid, rows in rows_of.items() for row, role in zip(rows, roll.roles[pid], strict=True)}
    subjects = {pid: _subject(seat, ranks, plan) for pid, seat in roll.seats.items()}
    targets = _targets(sample, rows_of, roll.seats, subjects, roles, plan, machine)
    parts: list[Part] = []
    for row, key in enumerate(keys):
        seat = roll.seats.get(key.pid)
        if seat is None:
            parts.append(Part(roles[row], sample.threads.comms[row], None, None, None))
            continue
        label = _label(sample, row, roles[row], seat, roll.comms[key.pid])
        parts.append(Part(roles[row], label, seat.rank, subjects[key.pid], targets.get(row)))
    rank_rows: list[list[int]] = [[] for _ in ranks]
    for row, part in enumerate(parts):
        if part.rank is not None:
            rank_rows[part.rank].append(row)
    evident = (row for rows in rank_rows for row in rows if _is_by_evidence(parts[row].role))
    return Cast(ranks, tuple(parts), tuple(map(tuple, rank_rows)), tuple(evident))


def _is_by_evidence(role: Role) -> bool:
    return role.confidence == "inferred" or role.name == "unnamed"


def may_tell_more(cast: Cast, then: Threads, now: Threads) -> bool:
    """Whether evidence has changed since a cast was made from `then`: a mask, or the CPU time of threads that it tells apart.

    These are a rank's threads without a name of their own; what a name tells does not change.
    """
    if then.keys is not now.keys and then.keys != now.keys:
        return True
    if any(map(is_not, then.allowed, now.allowed)) and then.allowed != now.allowed:
        return bool(cast.evident_rows)
    return any(then.run_ns[row] != now.run_ns[row] for row in cast.evident_rows)


def _thread_facts(sample: Sample, row: int) -> ThreadFacts:
    threads = sample.threads
    key = threads.keys[row]
    return ThreadFacts(key.tid, threads.comms[row], key.starttime_ticks, threads.run_ns[row], threads.allowed[row])


def _planned_minddata(ranks: Sequence[CastRank], plan: Plan | None) -> dict[int, Planned]:
    """Rank → where the plan puts its data pipeline, which tells the pipeline's threads once they are bound."""
    rules = () if plan is None else plan.rules
    cpus = {rule.subject: rule.cpus for rule in rules if rule.role == "minddata"}
    return {one.index: Planned(cpus[one.subject], "the plan") for one in ranks if one.subject in cpus}


def _subject(seat: Seat, ranks: Sequence[CastRank], plan: Plan | None) -> Subject | None:
    if seat.rank is not None:
        return ranks[seat.rank].subject
    return SCHEDULER if seat.kind == "scheduler" and plan is not None else None


def _label(sample: Sample, row: int, role: Role, seat: Seat, process_comm: str) -> str:
    key, comm = sample.threads.keys[row], sample.threads.comms[row]
    is_main = key.tid == key.pid
    if seat.kind in ("launcher", "scheduler"):
        return seat.title if is_main else comm
    if seat.kind == "helper":
        name = seat.title.replace("helper", _HELPER_WORD.get(role.name, "helper"), 1)
        if is_main:
            return name
        return f"{name} thread" if comm == process_comm else f"{name} {comm}"
    return "main" if is_main and seat.kind == "rank" else comm


_HELPER_WORD = {
    "loader": "loader", "minddata": "loader", "cleaner": "cleaner", "compile": "compile", "housekeeping": "service",
}  # fmt: skip


def _targets(
    sample: Sample,
    rows_of: Mapping[int, list[int]],
    seats: Mapping[int, Seat],
    subjects: Mapping[int, Subject | None],
    roles: Mapping[int, Role],
    plan: Plan | None,
    machine: Machine,
) -> dict[int, Target]:
    """Row → target; a subject's threads are resolved together, since an actor's place depends on its siblings."""
    if plan is None:
        return {}
    tops: dict[tuple[int | None, Subject], list[int]] = {}
    for pid, rows in rows_of.items():
        subject = subjects.get(pid)
        if subject is not None:
            tops.setdefault((seats[pid].rank, subject), []).extend(rows)
    targets: dict[int, Target] = {}
    for (_, subject), rows in tops.items():
        framework = seats[sample.threads.keys[rows[0]].pid].framework
        members = [_member(sample, row, roles[row], seats) for row in rows]
        cpuset = next(
            (
                found.cpuset
                for row in rows
                if (found := sample.processes.get(sample.threads.keys[row].pid)) and found.cpuset
            ),
            None,
        )
        resolved = resolve(plan, machine, subject, framework, members, cpuset)
        targets.update({row: target for row, target in zip(rows, resolved, strict=True) if target is not None})
    return targets


def _member(sample: Sample, row: int, role: Role, seats: Mapping[int, Seat]) -> Member:
    key = sample.threads.keys[row]
    in_top = seats[key.pid].kind in ("rank", "scheduler")
    return Member(sample.threads.comms[row], role, key.tid == key.pid, in_top, (key.starttime_ticks, key.tid))
