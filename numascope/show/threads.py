"""The text and the document of `threads`: what each thread of a job is for, how sure that is, and what tells it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numascope
from numascope.observe.jobs import Facts, Job, Rank
from numascope.observe.roles import Roll, Seat, ThreadFacts
from numascope.show.detail import inner_words
from numascope.show.document import Document, set_or_null
from numascope.show.ink import Line, Span


class Seen(NamedTuple):
    """All that is shown: jobs, their processes, the threads of each with their roles, and what is to be said beside."""

    jobs: Sequence[Job]
    facts: Facts
    threads: Mapping[int, Sequence[ThreadFacts]]
    roll: Roll
    notes: Sequence[str] = ()
    """What could not be read."""


class _Process(NamedTuple):
    pid: int
    seat: Seat
    rank: Rank | None


def threads_lines(seen: Seen) -> list[Line]:
    """For each process a heading and one line a thread."""
    lines: list[Line] = []
    for process in _processes(seen):
        if lines:
            lines.append(())
        lines.append((Span(_heading(seen, process)),))
        lines.append((Span(f"  {'tid':>8}  {'name':<15}  {'role':<12}  {'sure':<8}  told by", "dim"),))
        rows = zip(seen.threads.get(process.pid, ()), seen.roll.roles.get(process.pid, ()), strict=True)
        for thread, role in rows:
            told = f"  {thread.tid:>8}  {thread.comm:<15}  {role.name:<12}  {role.confidence:<8}  {role.evidence}"
            lines.append((Span(told, "text" if role.confidence == "named" else "dim"),))
    said = [*(note for job in seen.jobs for rank in job.ranks for note in rank.notes), *seen.notes]
    if said:
        lines.append(())
        lines.extend((Span(note, "warn"),) for note in said)
    return lines


def threads_document(seen: Seen) -> Document:
    """The same for scripts."""
    return {
        "schema": "numascope.threads/1",
        "numascope": numascope.__version__,
        "source": {"machine": "live"},
        "partial": bool(seen.notes),
        "notes": list(seen.notes),
        "processes": [_process_document(seen, process) for process in _processes(seen)],
    }


def _process_document(seen: Seen, process: _Process) -> Document:
    rank, facts = process.rank, seen.facts.get(process.pid)
    rows = zip(seen.threads.get(process.pid, ()), seen.roll.roles.get(process.pid, ()), strict=True)
    return {
        "pid": process.pid,
        "inner_pid": None if facts is None else facts.inner_pid,
        "comm": facts.comm if facts is not None else None,
        "framework": process.seat.framework,
        "kind": process.seat.kind,
        "rank_pid": None if rank is None else rank.pid,
        "rank": None if rank is None else rank.number,
        "device": None if rank is None else rank.device,
        "device_source": None if rank is None else rank.device_source,
        "notes": [] if rank is None else list(rank.notes),
        "threads": [
            {
                "tid": thread.tid,
                "starttime": thread.starttime_ticks,
                "comm": thread.comm,
                "role": role.name,
                "confidence": role.confidence,
                "evidence": role.evidence,
                "allowed": set_or_null(thread.allowed),
            }
            for thread, role in rows
        ],
    }


def _processes(seen: Seen) -> Iterator[_Process]:
    """In the order of the jobs: launcher, scheduler, each rank with its helpers, and what else there is."""
    told: set[int] = set()
    for job in seen.jobs:
        rank_of = {pid: rank for rank in job.ranks for pid in (*rank.helpers, rank.pid)}
        for pid in job.pids():
            if pid in seen.threads and pid not in told:
                told.add(pid)
                yield _Process(pid, seen.roll.seats[pid], rank_of.get(pid))


def _heading(seen: Seen, process: _Process) -> str:
    seat, rank = process.seat, process.rank
    what = {"helper": seat.title, "other": "beside the ranks", "rank": ""}.get(seat.kind, seat.kind)
    if rank is not None and rank.number is not None:
        what = f"rank {rank.number} {what}".rstrip()
    framework = "no known framework" if seat.framework == "process" else seat.framework
    facts = seen.facts.get(process.pid)
    inner = "" if facts is None else inner_words(facts).removeprefix(", ")
    parts = [f"{process.pid} {seen.roll.comms.get(process.pid, '')}", inner, what, framework]
    if rank is not None and seat.kind == "rank" and (rank.device is not None or rank.device_source):
        parts.append(f"device {'?' if rank.device is None else rank.device} ({rank.device_source})")
    return " · ".join(part for part in parts if part)
