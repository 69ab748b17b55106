"""Who descends from whom, and what a process's environment and command line say: what every kind of job is told by."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Final

from numascope.observe.jobs.objects import Facts, Job, Rank
from numascope.observe.sample import ProcessFacts

Children = Mapping[int, list[int]]

_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh"})


def children_of(facts: Facts) -> dict[int, list[int]]:
    """Parent → its children, by pid."""
    children: dict[int, list[int]] = {}
    for pid in sorted(facts):
        children.setdefault(facts[pid].ppid, []).append(pid)
    return children


def descendants(children: Children, pid: int) -> list[int]:
    """All processes below one, parents before children."""
    found: list[int] = []
    todo = list(reversed(children.get(pid, [])))
    while todo:
        one = todo.pop()
        found.append(one)
        todo.extend(reversed(children.get(one, [])))
    return found


def environ_of(facts: Facts, pid: int) -> Mapping[str, str]:
    """What is kept of a process's environment; empty where it may not be read."""
    process = facts.get(pid)
    return {} if process is None or process.environ is None else process.environ


def number_in(text: str | None) -> int | None:
    """A number of at most nine digits, else None."""
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 10 else None


def program_of(process: ProcessFacts) -> tuple[str, ...]:
    """The names that a command line runs: the program, and what an interpreter was told to run."""
    names = tuple(part.rpartition("/")[2] for part in process.cmdline[:4])
    if not names or not names[0].startswith("python"):
        return names[:1]
    return names[2:3] if names[1:2] == ("-m",) else tuple(name for name in names[1:] if not name.startswith("-"))[:1]


def runs(process: ProcessFacts, names: Collection[str]) -> bool:
    """Whether a process is one of these programs, by its name or its command line."""
    return process.comm in names or any(name in names for name in program_of(process))


def tops(facts: Facts, children: Children, same: Callable[[int], object | None]) -> list[int]:
    """The topmost processes of each identity: children carry a copy of the environment; a shell stands for its one child."""
    found = []
    for pid, process in facts.items():
        identity = same(pid)
        if identity is None or same(process.ppid) == identity:
            continue
        top = pid
        while facts[top].comm in _SHELLS:
            alike = [child for child in children.get(top, []) if same(child) == identity]
            if len(alike) != 1:
                break
            top = alike[0]
        found.append(top)
    return sorted(found)


def launcher_above(facts: Facts, pid: int, is_launcher: Callable[[ProcessFacts], bool]) -> int | None:
    """The nearest process above that launches; shells and wrappers may stand between."""
    seen = {pid}
    above = facts.get(facts[pid].ppid)
    while above is not None and above.pid not in seen:
        if is_launcher(above):
            return above.pid
        seen.add(above.pid)
        above = facts.get(above.ppid)
    return None


def by_number(ranks: list[Rank]) -> tuple[Rank, ...]:
    """Ranks in their order, those without a number last."""
    return tuple(sorted(ranks, key=lambda rank: (rank.number is None, rank.number or 0, rank.pid)))


def with_others(job: Job, facts: Facts, children: Children) -> Job:
    """Adds what else hangs below the launcher, and says where ranks may hide behind an unreadable environment."""
    known = set(job.pids())
    heads = [pid for pid in (job.launcher, job.scheduler) if pid is not None]
    below = dict.fromkeys(pid for head in heads for pid in descendants(children, head) if pid not in known)
    hidden = [pid for pid in below if facts[pid].environ is None]
    notes = job.notes
    if hidden:
        notes = (*notes, f"environment of {hidden[0]} cannot be read: its rank is unknown")
    return replace(job, others=tuple(below), notes=notes)
