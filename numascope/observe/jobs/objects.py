"""Jobs and ranks as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from numascope.observe.sample import ProcessFacts

Facts = Mapping[int, ProcessFacts]

BY_HAND: Final = "given by hand"


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank: its top process, its device by the plan's numbering (None: unknown), and its descendants."""

    pid: int
    number: int | None
    local: int | None
    device: int | None
    device_source: str
    helpers: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    """What contradicts the device: another device's file that it holds open."""

    @property
    def by_hand(self) -> bool:
        """Whether the user said which device it has."""
        return self.device_source == BY_HAND


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

    def pids(self) -> tuple[int, ...]:
        """Every process of the job."""
        heads = tuple(pid for pid in (self.launcher, self.scheduler) if pid is not None)
        return heads + tuple(pid for rank in self.ranks for pid in (rank.pid, *rank.helpers)) + self.others
