"""Who is who in a sample: for each thread its rank, role, label and target. Pure; made anew only when somebody comes or goes."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.observe.jobs import Job, Rank
from numascope.observe.roles import ProcessKind, ProcessView, Role, ThreadFacts, roles_of
from numascope.observe.sample import ProcessFacts, Sample, ThreadKey
from numascope.plan.objects import SCHEDULER, Plan, Subject, Target
from numascope.plan.resolve import Member, resolve

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


@dataclass(frozen=True, slots=True)
class Cast:
    """All parts, in the order of the sample's threads."""

    ranks: tuple[CastRank, ...]
    parts: tuple[Part, ...]
    rank_rows: tuple[tuple[int, ...], ...]
    """For each rank the rows of its threads."""


class _Seat(NamedTuple):
    """Where a process belongs."""

    framework: str
    kind: ProcessKind
    rank: int | None
    subject: Subject | None
    title: str


def cast_ranks(jobs: Sequence[Job], processes: Mapping[int, ProcessFacts], plan: Plan | None) -> tuple[CastRank, ...]:
    """The ranks of all jobs in order, each with its letter and, under a plan, its subject."""
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
            found.append(CastRank(index, letter, name, job, rank, subject))
    return tuple(found)


def make_cast(
    jobs: Sequence[Job],
    sample: Sample,
    plan: Plan | None,
    machine: Machine,
    cleaners: Container[ThreadKey] = frozenset(),
) -> Cast:
    """Gives every thread of a sample its part; `cleaners` are the threads that were cleaning processes before."""
    ranks = cast_ranks(jobs, sample.processes, plan)
    seats = _seats(jobs, ranks, plan)
    rows_of: dict[int, list[int]] = {}
    for row, key in enumerate(sample.threads.keys):
        rows_of.setdefault(key.pid, []).append(row)
    main_sets = _main_sets(sample, ranks)
    roles: dict[int, Role] = {}
    labels: dict[int, str] = {}
    for pid, rows in rows_of.items():
        seat = seats.get(pid, _Seat("process", "other", None, None, ""))
        threads = [_thread_facts(sample, row) for row in rows]
        process = sample.processes.get(pid)
        comm = next((thread.comm for thread in threads if thread.tid == pid), process.comm if process else "")
        view = ProcessView(
            framework=seat.framework,
            kind=seat.kind,
            pid=pid,
            comm=comm,
            cmdline=process.cmdline if process is not None else (),
            rank_allowed=main_sets.get(seat.rank) if seat.rank is not None else None,
            was_cleaner=sample.threads.keys[rows[0]] in cleaners,
        )
        for row, role in zip(rows, roles_of(view, threads), strict=True):
            roles[row] = role
            labels[row] = _label(sample, row, role, seat, comm)
    targets = _targets(sample, rows_of, seats, roles, plan, machine)
    parts = tuple(
        Part(roles[row], labels[row], seats[key.pid].rank, seats[key.pid].subject, targets.get(row))
        if key.pid in seats
        else Part(roles[row], labels[row], None, None, None)
        for row, key in enumerate(sample.threads.keys)
    )
    rank_rows: list[list[int]] = [[] for _ in ranks]
    for row, part in enumerate(parts):
        if part.rank is not None:
            rank_rows[part.rank].append(row)
    return Cast(ranks, parts, tuple(map(tuple, rank_rows)))


def _thread_facts(sample: Sample, row: int) -> ThreadFacts:
    threads = sample.threads
    key = threads.keys[row]
    return ThreadFacts(key.tid, threads.comms[row], key.starttime_ticks, threads.run_ns[row], threads.allowed[row])


def _main_sets(sample: Sample, ranks: Sequence[CastRank]) -> dict[int, CpuSet | None]:
    """Rank index → the allowed set of its main thread, from which later threads inherit."""
    index_of = {one.rank.pid: one.index for one in ranks}
    return {
        index_of[key.pid]: sample.threads.allowed[row]
        for row, key in enumerate(sample.threads.keys)
        if key.tid == key.pid and key.pid in index_of
    }


def _seats(jobs: Sequence[Job], ranks: Sequence[CastRank], plan: Plan | None) -> dict[int, _Seat]:
    seats: dict[int, _Seat] = {}
    for job in jobs:
        seats.update({pid: _Seat(job.framework, "other", None, None, "") for pid in job.others})
        if job.launcher is not None:
            seats[job.launcher] = _Seat(job.framework, "launcher", None, None, "launcher")
        if job.scheduler is not None:
            subject = SCHEDULER if plan is not None else None
            seats[job.scheduler] = _Seat(job.framework, "scheduler", None, subject, "scheduler")
    for one in ranks:
        framework = one.job.framework
        for count, pid in enumerate(sorted(one.rank.helpers)):
            seats[pid] = _Seat(framework, "helper", one.index, one.subject, f"helper {count}")
        seats[one.rank.pid] = _Seat(framework, "rank", one.index, one.subject, "main")
    return seats


def _label(sample: Sample, row: int, role: Role, seat: _Seat, process_comm: str) -> str:
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
    seats: Mapping[int, _Seat],
    roles: Mapping[int, Role],
    plan: Plan | None,
    machine: Machine,
) -> dict[int, Target]:
    """Row → target; a subject's threads are resolved together, since an actor's place depends on its siblings."""
    if plan is None:
        return {}
    tops: dict[tuple[int | None, Subject], list[int]] = {}
    for pid, rows in rows_of.items():
        seat = seats.get(pid)
        if seat is not None and seat.subject is not None:
            tops.setdefault((seat.rank, seat.subject), []).extend(rows)
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


def _member(sample: Sample, row: int, role: Role, seats: Mapping[int, _Seat]) -> Member:
    key = sample.threads.keys[row]
    in_top = seats[key.pid].kind in ("rank", "scheduler")
    return Member(sample.threads.comms[row], role, key.tid == key.pid, in_top)
