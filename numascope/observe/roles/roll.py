"""The roles of all threads of all jobs: each process has its seat in a job, and its threads are told by that. Pure."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Final, NamedTuple

from numascope.observe.facts import MINDSPORE_LIBRARY
from numascope.observe.jobs.kin import number_in
from numascope.observe.jobs.objects import Job
from numascope.observe.roles.classify import framework_of, roles_of
from numascope.observe.roles.names import OwnNames
from numascope.observe.roles.objects import Planned, ProcessKind, ProcessView, Role, ThreadFacts
from numascope.observe.sample import ProcessFacts


class Seat(NamedTuple):
    """Where a process belongs: its job's framework, which part it is, its rank by place among all jobs' ranks, what to call it."""

    framework: str
    kind: ProcessKind
    rank: int | None
    title: str


_OF_ANY_PROGRAM: Final = frozenset({"process", "mpi", "slurm"})
"""Jobs whose launcher says nothing of what it starts."""

STRANGER = Seat("process", "other", None, "")
"""A process of no job."""


class Roll(NamedTuple):
    """Processes by pid: where each that belongs to a job sits, the roles of its threads in their order, its name."""

    seats: Mapping[int, Seat]
    roles: Mapping[int, tuple[Role, ...]]
    comms: Mapping[int, str]


def call_roll(
    jobs: Sequence[Job],
    processes: Mapping[int, ProcessFacts],
    threads: Mapping[int, Sequence[ThreadFacts]],
    *,
    cleaners: Container[int] = frozenset(),
    minddata: Mapping[int, Planned] | None = None,
    own: OwnNames | None = None,
) -> Roll:
    """The roles of these threads, by process; `cleaners` were cleaning processes before, `minddata` is what each rank's pipeline is bound to."""
    seats = _seats(jobs, processes, threads)
    mains, busiest = _mains(jobs, threads), _busiest(jobs, threads)
    roles: dict[int, tuple[Role, ...]] = {}
    comms: dict[int, str] = {}
    for pid, members in threads.items():
        seat, process = seats.get(pid, STRANGER), processes.get(pid)
        main = mains.get(seat.rank) if seat.rank is not None else None
        parent = None if process is None else processes.get(process.ppid)
        own_comm = process.comm if process is not None else ""
        comms[pid] = next((thread.comm for thread in members if thread.tid == pid), own_comm)
        view = ProcessView(
            framework=seat.framework,
            kind=seat.kind,
            pid=pid,
            comm=comms[pid],
            cmdline=process.cmdline if process is not None else (),
            rank_allowed=None if main is None else main.allowed,
            was_cleaner=pid in cleaners,
            parent_cmdline=None if parent is None else parent.cmdline,
            busiest_ns=busiest.get(seat.rank) if seat.rank is not None else None,
            omp_threads=_omp_threads(process),
            minddata=minddata.get(seat.rank) if minddata is not None and seat.rank is not None else None,
        )
        roles[pid] = roles_of(view, members, own)
    return Roll(seats, roles, comms)


def _omp_threads(process: ProcessFacts | None) -> int | None:
    """The first of a list of numbers, one a nesting level (OpenMP specification, OMP_NUM_THREADS)."""
    environ = {} if process is None or process.environ is None else process.environ
    return number_in(environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip())


def _mains(jobs: Sequence[Job], threads: Mapping[int, Sequence[ThreadFacts]]) -> dict[int, ThreadFacts]:
    """Rank → its main thread, from whose set later threads inherit."""
    found: dict[int, ThreadFacts] = {}
    for index, pid in enumerate(rank.pid for job in jobs for rank in job.ranks):
        main = next((thread for thread in threads.get(pid, ()) if thread.tid == pid), None)
        if main is not None:
            found[index] = main
    return found


def _busiest(jobs: Sequence[Job], threads: Mapping[int, Sequence[ThreadFacts]]) -> dict[int, int]:
    """Rank → the most CPU time of the first thread of a child."""
    helpers = enumerate(rank.helpers for job in jobs for rank in job.ranks)
    return {
        index: max((members[0].run_ns or 0 for pid in pids if (members := threads.get(pid))), default=0)
        for index, pids in helpers
    }


def _seats(
    jobs: Sequence[Job], processes: Mapping[int, ProcessFacts], threads: Mapping[int, Sequence[ThreadFacts]]
) -> dict[int, Seat]:
    """Ranks sit last: a process that is a rank is one whatever else it is."""
    seats: dict[int, Seat] = {}
    ranks: dict[int, Seat] = {}
    index = 0
    for job in jobs:
        framework = _framework(job, processes, threads)
        seats.update({pid: Seat(framework, "other", None, "") for pid in job.others})
        if job.launcher is not None:
            seats[job.launcher] = Seat(framework, "launcher", None, "launcher")
        if job.scheduler is not None:
            seats[job.scheduler] = Seat(framework, "scheduler", None, "scheduler")
        for rank in job.ranks:
            for count, pid in enumerate(sorted(rank.helpers)):
                ranks[pid] = Seat(framework, "helper", index, f"helper {count}")
            ranks[rank.pid] = Seat(framework, "rank", index, "main")
            index += 1
    return {**seats, **ranks}


def _framework(job: Job, processes: Mapping[int, ProcessFacts], threads: Mapping[int, Sequence[ThreadFacts]]) -> str:
    """The job's framework; where its launcher starts any program, or there is none, what its threads' names or its libraries tell."""
    if job.framework not in _OF_ANY_PROGRAM:
        return job.framework
    comms = (thread.comm for pid in job.pids() for thread in threads.get(pid, ()))
    named = framework_of(comms)
    if named is not None:
        return named
    tops = (processes[rank.pid] for rank in job.ranks if rank.pid in processes)
    return "mindspore" if any(MINDSPORE_LIBRARY in one.libraries for one in tops) else job.framework
