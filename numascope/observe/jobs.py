"""Which processes are a training job: its launcher, its ranks and each rank's helpers. Pure: facts in, jobs out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank: its top process, its device by the plan's numbering (None: unknown), and its descendants."""

    pid: int
    number: int | None
    local: int | None
    device: int | None
    device_source: str
    helpers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """A launcher and what it launched; a process of no known framework is a job of its own kind, `process`."""

    framework: str
    launcher: int | None
    ranks: tuple[Rank, ...]
    scheduler: int | None = None
    others: tuple[int, ...] = ()
    plan_path: str | None = None
    plan_hash: str | None = None
    plan_source: str | None = None
    """Where the job's own plan is named: `MSRUN_BIND_FILE`, `--numa-binding=node` …; None where the job names none."""
    notes: tuple[str, ...] = ()
