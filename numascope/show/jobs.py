"""The text and the document of `jobs`: who trains on this machine, on which devices, by which plan."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numascope
from numascope.observe.jobs import Facts, Job
from numascope.observe.named import LAUNCHER_NAMES
from numascope.show.ink import Line, Span


def jobs_lines(jobs: Sequence[Job], facts: Facts, hidden: Sequence[str], now_s: float) -> list[Line]:
    """One line a job, or what to do where there is none."""
    lines: list[Line] = []
    if jobs:
        lines.append(
            (
                Span(
                    f"{'pid':>7}  {'launcher':<9} {'ranks':>5} {'threads':>8}  {'devices':<9} {'since':<10} plan", "dim"
                ),
            )
        )
    for job in jobs:
        pids = [pid for pid in job.pids() if pid in facts]
        head = job.launcher if job.launcher is not None else pids[0]
        name = LAUNCHER_NAMES.get(job.framework, job.framework)
        launcher = name if job.launcher is not None else f"({name})"
        threads = sum(facts[pid].threads for pid in pids)
        # Ranks whose environment may not be read are unknown, and so is what they would tell.
        unknown = bool(job.notes)
        plan = job.plan_path or job.plan_source or ("?" if unknown else "none")
        ranks = f"{len(job.ranks) or ''}?" if unknown else str(len(job.ranks))
        since = _since(facts[head].started_s, now_s)
        lines.append(
            (Span(f"{head:>7}  {launcher:<9} {ranks:>5} {threads:>8}  {_devices(job):<9} {since:<10} {plan}"),)
        )
    if not jobs:
        lines.append((Span("no training job is seen here"),))
        lines.append((Span("any process can be watched:  numascope attach PID", "dim"),))
        lines.append((Span("to try it on a small job:    numascope demo", "dim"),))
    elif any(job.launcher is None for job in jobs):
        lines.append(())
        lines.append((Span("(name): its launcher has ended or is not seen; pid is its first process", "dim"),))
    lines.extend((Span(note, "warn"),) for job in jobs for rank in job.ranks for note in rank.notes)
    lines.extend((Span(note, "dim"),) for note in hidden)
    return lines


def jobs_document(jobs: Sequence[Job], facts: Facts, hidden: Sequence[str]) -> dict[str, object]:
    """The same for scripts."""
    return {
        "schema": "numascope.jobs/1",
        "numascope": numascope.__version__,
        "source": {"machine": "live"},
        "partial": bool(hidden),
        "notes": list(hidden),
        "jobs": [
            {
                "launcher": job.launcher,
                "scheduler": job.scheduler,
                "framework": job.framework,
                "ranks": [
                    {
                        "pid": rank.pid,
                        "rank": rank.number,
                        "device": rank.device,
                        "helpers": list(rank.helpers),
                        "device_source": rank.device_source,
                        "notes": list(rank.notes),
                    }
                    for rank in job.ranks
                ],
                "threads": sum(facts[pid].threads for pid in job.pids() if pid in facts),
                "plan": job.plan_path,
                "plan_source": job.plan_source,
                "partial": bool(job.notes),
                "notes": list(job.notes),
            }
            for job in jobs
        ],
    }


def _devices(job: Job) -> str:
    numbers = sorted(rank.device for rank in job.ranks if rank.device is not None)
    if not numbers:
        return "?" if job.notes else "-"
    if len(numbers) > 1 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"d{numbers[0]}-d{numbers[-1]}"
    return ",".join(f"d{number}" for number in numbers)


def _since(started_s: float | None, now_s: float) -> str:
    if started_s is None:
        return "?"
    form = "%H:%M:%S" if now_s - started_s < 86_400 else "%Y-%m-%d"
    return time.strftime(form, time.localtime(started_s))
