"""Where the dashboard gets its reports from: a live job, a recording, a test."""

from __future__ import annotations

from typing import Protocol, TypeGuard

from numascope.review.report import Report


class ReportSource(Protocol):
    """Judged samples, one a step; used from one worker thread only."""

    @property
    def interval_s(self) -> float:
        """Seconds until the next step."""
        ...

    @property
    def is_recorded(self) -> bool:
        """Whether it waits for whoever looks: a recording can be held still, a job cannot."""
        ...

    @property
    def pace(self) -> str:
        """`live 1s`, or `×4` of a recording."""
        ...

    def step(self) -> Report:
        """The next report; blocks while it reads, and raises NumascopeError where there is none."""
        ...

    def close(self) -> None:
        """Gives back what the source keeps open."""
        ...


class RecordedSource(ReportSource, Protocol):
    """A source that waits for whoever looks, and goes as fast as it is told to."""

    speed: float
    """How many times as fast as it was; `interval_s` follows. May be set from any thread."""


def is_recording(source: ReportSource) -> TypeGuard[RecordedSource]:
    """Whether it can be held still and has a speed."""
    return source.is_recorded
