"""Processes by what they are called: the name of a program, or a pattern on the command line. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from numascope.observe.jobs import Facts, Job
from numascope.observe.jobs.kin import program_of
from numascope.observe.roles.names import COMM_BYTES
from numascope.observe.sample import ProcessFacts
from numascope.observe.select import Wanted, wanted_of

LAUNCHER_NAMES: Final[Mapping[str, str]] = {"mindspore": "msrun", "torch": "torchrun", "mpi": "mpirun", "slurm": "srun"}
"""Framework → what a user calls its launcher."""

MATCHED_CHARACTERS: Final = 4096
"""So much of a command line is compared with a pattern."""


_LONGEST_NAME: Final = 40


class Candidate(NamedTuple):
    """What a name may mean: a job as a whole, or a process with all that it started; `pid` is what the user would give."""

    pid: int
    wanted: tuple[Wanted, ...]
    words: str


def called(facts: Facts, jobs: Iterable[Job], name: str) -> set[int]:
    """The processes of this name: their own, their program's or script's, or for a launcher the usual word (`torchrun`)."""
    short = name.encode()[:COMM_BYTES].decode(errors="ignore")
    launchers = {
        job.launcher
        for job in jobs
        if job.launcher is not None and name in (job.framework, LAUNCHER_NAMES.get(job.framework))
    }
    return {
        pid
        for pid, process in facts.items()
        if pid in launchers or process.comm in (name, short) or name in program_of(process)
    }


def matching(facts: Facts, pattern: re.Pattern[str]) -> set[int]:
    """The processes whose command line, its arguments joined by blanks and cut, a pattern is found in."""
    return {
        pid
        for pid, process in facts.items()
        if process.cmdline and pattern.search(" ".join(process.cmdline)[:MATCHED_CHARACTERS])
    }


def ancestors(facts: Facts, pid: int) -> set[int]:
    """A process and all above it."""
    found: set[int] = set()
    while pid in facts and pid not in found:
        found.add(pid)
        pid = facts[pid].ppid
    return found


def candidates(facts: Facts, jobs: Iterable[Job], pids: Collection[int]) -> tuple[Candidate, ...]:
    """What these processes may mean: the job that one belongs to, else the topmost of them; what a job hangs below means the job."""
    found: list[Candidate] = []
    taken: set[int] = set()
    for job in jobs:
        members = set(job.pids())
        if not members.isdisjoint(pids):
            head = job.launcher if job.launcher is not None else min(members)
            found.append(Candidate(head, wanted_of([job]), job_words(job, facts)))
            taken |= members | ancestors(facts, head)
    alone = set(pids) - taken
    tops = (pid for pid in alone if alone.isdisjoint(ancestors(facts, pid) - {pid}))
    found.extend(Candidate(pid, (Wanted(pid),), process_words(facts[pid])) for pid in tops)
    return tuple(sorted(found, key=lambda one: one.pid))


def job_words(job: Job, facts: Facts) -> str:
    """A job in a few words: `torchrun train.py, 8 ranks`."""
    launcher = LAUNCHER_NAMES.get(job.framework, job.framework)
    first = facts.get(job.ranks[0].pid) if job.ranks else None
    program = () if first is None else _short(first)
    ranks = f"{len(job.ranks)} rank{'' if len(job.ranks) == 1 else 's'}"
    return f"{' '.join((launcher, *program))}, {ranks}"


def process_words(process: ProcessFacts) -> str:
    """A process in a few words: `python train.py`."""
    return " ".join(dict.fromkeys((process.comm, *_short(process))))


def _short(process: ProcessFacts) -> tuple[str, ...]:
    """What it runs; nothing where that is no name but a text (`python -c TEXT`)."""
    return () if "-c" in process.cmdline[1:3] else tuple(name[:_LONGEST_NAME] for name in program_of(process))
