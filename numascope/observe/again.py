"""A job that was started again: by what it is the same as the one that ended. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from numascope.observe.jobs import Facts, Job, find_jobs
from numascope.observe.named import ancestors
from numascope.observe.sample import ProcessFacts
from numascope.observe.select import Wanted


class Identity(NamedTuple):
    """What a watched process was: its user and arguments, and its place in a job (a rank's number, a launcher's ranks and plan)."""

    wanted: Wanted
    uid: int | None
    cmdline: tuple[str, ...]
    framework: str | None
    """None: it was none of a job's launchers, schedulers and ranks."""
    number: int | None = None
    is_launcher: bool = False
    ranks: int = 0
    """The most ranks that it had at one time."""
    plan_path: str | None = None

    def since(self, before: Identity) -> Identity:
        """With what was known of it before: ranks end before their launcher, and with them what they tell."""
        return self._replace(ranks=max(self.ranks, before.ranks), plan_path=self.plan_path or before.plan_path)


def identities(
    wanted: Iterable[Wanted], jobs: Sequence[Job], processes: Mapping[int, ProcessFacts]
) -> tuple[Identity, ...]:
    """Who is watched, by what will be the same when it is started again; those that are gone already are left out."""
    return tuple(_identity(one, processes[one.pid], _home(jobs, one.pid)) for one in wanted if one.pid in processes)


def started_again(
    gone: Sequence[Identity], facts: Facts, is_new: Collection[int], *, is_patient: bool = True
) -> tuple[Wanted, ...]:
    """The processes that are now what all of `gone` were, among the new ones; empty until each is there.

    A launcher counts once it has as many ranks as before, without `is_patient` at once.
    """
    jobs = find_jobs(facts)
    found: list[Wanted] = []
    for one in gone:
        pid = _again(one, jobs, facts, is_new, is_patient=is_patient)
        if pid is None:
            return ()
        found.append(one.wanted._replace(pid=pid))
    return tuple(found)


def _home(jobs: Sequence[Job], pid: int) -> Job | None:
    return next((job for job in jobs if pid in _heads(job)), None)


def _heads(job: Job) -> tuple[int, ...]:
    heads = tuple(pid for pid in (job.launcher, job.scheduler) if pid is not None)
    return (*heads, *(rank.pid for rank in job.ranks))


def _identity(wanted: Wanted, process: ProcessFacts, job: Job | None) -> Identity:
    if job is None or job.framework == "process" or wanted.device is not None or wanted.scheduler:
        return Identity(wanted, process.uid, process.cmdline, None)
    rank = next((rank for rank in job.ranks if rank.pid == wanted.pid), None)
    number = None if rank is None else rank.number
    leads = wanted.pid == job.launcher
    ranks = len(job.ranks) if leads else 0
    return Identity(wanted, process.uid, process.cmdline, job.framework, number, leads, ranks, job.plan_path)


def _again(
    one: Identity, jobs: Sequence[Job], facts: Facts, is_new: Collection[int], *, is_patient: bool
) -> int | None:
    if one.is_launcher:
        for job in jobs:
            if (
                job.launcher is None
                or job.launcher not in is_new
                or not _is_same(one, facts[job.launcher], job.plan_path)
            ):
                continue
            if job.framework == one.framework and (len(job.ranks) >= one.ranks or not is_patient):
                return job.launcher
        return None
    if one.framework is not None:
        return next(
            (
                pid
                for job in jobs
                if job.framework == one.framework
                for pid, number in _numbered(job)
                if pid in is_new and number == one.number and _is_same(one, facts[pid], job.plan_path)
            ),
            None,
        )
    alike = {pid for pid in is_new if pid in facts and _is_same(one, facts[pid], None)}
    return next((pid for pid in sorted(alike) if alike.isdisjoint(ancestors(facts, pid) - {pid})), None)


def _numbered(job: Job) -> list[tuple[int, int | None]]:
    scheduler = [] if job.scheduler is None else [(job.scheduler, None)]
    return [*((rank.pid, rank.number) for rank in job.ranks), *scheduler]


def _is_same(one: Identity, process: ProcessFacts, plan_path: str | None) -> bool:
    """The same arguments, or the same plan; by the same user."""
    if process.uid != one.uid:
        return False
    return process.cmdline == one.cmdline or (one.plan_path is not None and plan_path == one.plan_path)
