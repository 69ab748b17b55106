"""What would be changed and what became of it: values that the hand fills, screens show and the journal keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from numascope.cpuset import CpuSet
from numascope.observe.sample import ThreadKey
from numascope.review.report import Verdict

Outcome = Literal["set", "already", "trimmed", "refused", "raced", "gone", "changed", "pending"]
"""`set` read back as written; `trimmed` the kernel cut it; `refused` by the kernel; `raced` no longer the thread that was looked at;
`changed` by somebody since, left alone; `pending` until one of its CPUs is online."""


class ProcessMark(NamedTuple):
    """By what a process is known again: its start (clock ticks since boot), and its arguments and stack, which exec changes."""

    pid: int
    starttime_ticks: int
    cmdline: tuple[str, ...]
    start_stack: int = 0
    """0: not to be read by this user, or not of interest."""


class Thread(NamedTuple):
    """A thread as it is known again later, its epoch aside."""

    pid: int
    tid: int
    starttime_ticks: int


@dataclass(frozen=True, slots=True)
class Change:
    """One thread's affinity mask: `before` as it is allowed now, `after` as the plan wants it."""

    key: ThreadKey
    comm: str
    label: str
    rank: str
    """`rank 5 d5`; empty for the scheduler and other processes."""
    role: str
    before: CpuSet
    after: CpuSet
    verdict: Verdict
    reason: str
    process: ProcessMark

    @property
    def thread(self) -> Thread:
        """Who it is, its epoch aside."""
        return Thread(self.key.pid, self.key.tid, self.key.starttime_ticks)


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """How many threads are not touched for one reason, and what they are, the most frequent first."""

    count: int
    reason: str
    examples: str = ""


class Fragile(NamedTuple):
    """A process on the list whose own OpenMP runtime binds its threads, and may do so again."""

    pid: int
    variables: str
    """`OMP_PROC_BIND=true`, as it was started."""
    runtime: str
    """The library that it has mapped: `libgomp`."""


class Selection(NamedTuple):
    """The list of a dry run, which is the list that is done."""

    changes: tuple[Change, ...]
    left_alone: tuple[LeftAlone, ...]
    threads: int
    """All threads that were looked at."""
    fragile: tuple[Fragile, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one change: `read_back` is the mask that the thread has now, None where that could not be read."""

    change: Change
    outcome: Outcome
    read_back: CpuSet | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Undone:
    """One thread that a revert looked at: the set that it had, the one that it gets back (None: not known), and what became of it."""

    thread: Thread
    label: str
    rank: str
    role: str
    now: CpuSet | None
    back: CpuSet | None
    was_cpuset: bool
    inherited: bool
    outcome: Outcome
    read_back: CpuSet | None
    why: str = ""


FAILED: frozenset[Outcome] = frozenset({"trimmed", "refused", "raced", "changed", "pending"})
"""Outcomes after which a thread that is still there does not have the set that was asked for."""
