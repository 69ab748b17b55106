"""Which of the found jobs the user means: by launcher, by rank, or any process mapped to a device by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from numascope.observe.jobs import BY_HAND, Facts, Job, Rank, find_jobs, process_job, with_held


class Wanted(NamedTuple):
    """A pid that the user gave, and what he said that it is: a device's rank, the scheduler, or nothing (None, False)."""

    pid: int
    device: int | None = None
    scheduler: bool = False


def select_jobs(facts: Facts, wanted: Sequence[Wanted]) -> tuple[Job, ...]:
    """The jobs of these pids, each whole for its launcher, else cut down to the named ranks; later facts give later jobs.

    Their devices are compared with the device files that the facts have.
    """
    found = find_jobs(facts)
    jobs: list[Job] = []
    for one in wanted:
        if one.pid not in facts:
            continue
        home = next((job for job in found if one.pid in job.pids()), None)
        jobs.append(_as_said(_job_of(facts, home, one.pid), one))
    return with_held(_merged(jobs), {pid: one.devices_held for pid, one in facts.items() if one.devices_held})


def ranks_meant(facts: Facts, wanted: Sequence[Wanted]) -> tuple[Rank, ...]:
    """The processes whose memory is meant: the ranks of these jobs; of a scheduler, or where no rank is known, the process itself."""
    found: list[Rank] = []
    for job in select_jobs(facts, wanted):
        head = job.launcher if job.launcher is not None else job.scheduler
        found.extend(job.ranks if job.ranks or head is None else process_job(facts, head).ranks)
    return tuple(found)


def wanted_of(jobs: Iterable[Job]) -> tuple[Wanted, ...]:
    """The pids by which whole jobs are named: the launcher, or where it is not seen all ranks and the scheduler."""
    wanted: list[Wanted] = []
    for job in jobs:
        if job.launcher is not None:
            wanted.append(Wanted(job.launcher))
        else:
            wanted.extend(Wanted(rank.pid) for rank in job.ranks)
            if job.scheduler is not None:
                wanted.append(Wanted(job.scheduler))
    return tuple(wanted)


def roots_of(jobs: Iterable[Job]) -> tuple[int, ...]:
    """The processes to watch so that all of these jobs are seen: the topmost of each."""
    roots: dict[int, None] = {}
    for job in jobs:
        heads = [pid for pid in (job.launcher, job.scheduler) if pid is not None]
        roots.update(dict.fromkeys([*heads, *(rank.pid for rank in job.ranks)]))
    return tuple(roots)


def _job_of(facts: Facts, home: Job | None, pid: int) -> Job:
    if home is None:
        return process_job(facts, pid)
    if pid == home.launcher:
        return home
    rank = next((rank for rank in home.ranks if rank.pid == pid), None)
    if rank is not None:
        return replace(home, launcher=None, scheduler=None, others=(), ranks=(rank,))
    if pid == home.scheduler:
        return replace(home, launcher=None, others=(), ranks=()) if home.launcher is not None else home
    hidden = (f"environment of {pid} cannot be read: its rank is unknown",) if facts[pid].environ is None else ()
    return replace(process_job(facts, pid), framework=home.framework, notes=hidden)


def _as_said(job: Job, one: Wanted) -> Job:
    if one.scheduler:
        pids = [pid for pid in job.pids() if pid != one.pid]
        return replace(job, launcher=None, scheduler=one.pid, ranks=(), others=tuple(pids))
    if one.device is None:
        return job
    ranks = [replace(rank, device=one.device, device_source=BY_HAND) for rank in job.ranks if rank.pid == one.pid]
    if not ranks:
        ranks = [Rank(one.pid, None, None, one.device, BY_HAND, tuple(pid for pid in job.pids() if pid != one.pid))]
    return replace(job, launcher=None, scheduler=None, others=(), ranks=tuple(ranks))


def _merged(jobs: list[Job]) -> tuple[Job, ...]:
    """One job for all named ranks of one framework, so that two ranks given by hand are seen as ranks of one job."""
    whole = [job for job in jobs if job.launcher is not None]
    covered = {pid for job in whole for pid in job.pids()}
    merged: dict[str, Job] = {}
    for job in jobs:
        if job.launcher is not None or covered.issuperset(job.pids()):
            continue
        first = merged.get(job.framework)
        if first is None:
            merged[job.framework] = job
            continue
        known = {rank.pid for rank in first.ranks}
        merged[job.framework] = replace(
            first,
            ranks=first.ranks + tuple(rank for rank in job.ranks if rank.pid not in known),
            scheduler=first.scheduler if first.scheduler is not None else job.scheduler,
            others=first.others + job.others,
            plan_path=first.plan_path or job.plan_path,
            plan_hash=first.plan_hash or job.plan_hash,
            plan_source=first.plan_source or job.plan_source,
        )
    return tuple({id(job): job for job in [*whole, *merged.values()]}.values())
