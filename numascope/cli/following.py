"""A session that outlives its job: once that has ended it waits for the same to be started again, and goes on with it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from numascope.cli.session import SAMPLES, Session
from numascope.cli.targets import Target
from numascope.errors import TargetGoneError
from numascope.host.root import HostRoot
from numascope.observe.again import Identity, identities, started_again
from numascope.observe.facts import scan_facts
from numascope.observe.jobs import Job
from numascope.observe.select import Wanted
from numascope.review.report import Report

AWAITED: Final = "waiting for it to start again"
"""The note of a report whose job has ended and is waited for."""

_RANKS_WITHIN_S: Final = 15.0
"""So long a launcher may take to start as many ranks as it had; then it is followed as it is."""

_REST: Final = 20
"""Looking for the job takes a twentieth of one CPU at most."""

_LEAST_REST_S: Final = 0.5
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


@dataclass
class FollowingSession:
    """A source of reports, as a session is; `reopen` makes a session on the same job as it was started anew."""

    session: Session
    reopen: Callable[[Sequence[Wanted]], Session]
    is_recorded = False
    _who: tuple[Identity, ...] = field(default=(), init=False)
    _who_of: tuple[Job, ...] | None = field(default=None, init=False)
    _alive_ticks: float = field(default=0.0, init=False)
    """When one of the given processes was last seen alive (clock ticks since boot): what was started later is new."""
    _ended: Report | None = field(default=None, init=False)
    _look_at_s: float = field(default=0.0, init=False)
    _seen_at_s: float | None = field(default=None, init=False)

    @property
    def interval_s(self) -> float:
        """Seconds between two looks."""
        return self.session.interval_s

    @property
    def pace(self) -> str:
        """How the dashboard names the time between two looks."""
        return self.session.pace

    def step(self) -> Report:
        """The next report; of a job that has ended its last one, marked as awaited, until the same is there again."""
        if self._ended is not None:
            again = self._find()
            if not again:
                return self._ended
            try:
                self.session = self.reopen(again)
            except TargetGoneError:  # it has ended since
                return self._ended
            self._ended, self._who, self._who_of = None, (), None
        began_ticks = time.clock_gettime(time.CLOCK_BOOTTIME) * _TICKS_PER_S
        report = self.session.step()
        if not report.ended:
            self._remember(report, began_ticks)
            return report
        self.session.close()
        if not self._who:  # it was gone before it was seen: nobody knows what to wait for
            return report
        self._ended = replace(report, is_awaited=True, notes=(*report.notes, AWAITED))
        self._look_at_s, self._seen_at_s = 0.0, None
        return self._ended

    def look(self, for_s: float, samples: int = SAMPLES) -> Report:
        """The report of a while, of the job as it is now."""
        return self.session.look(for_s, samples)

    def close(self) -> None:
        """Gives all descriptors back."""
        if self._ended is None:
            self.session.close()

    def _remember(self, report: Report, began_ticks: float) -> None:
        processes = report.sample.processes
        if report.jobs is not self._who_of:
            # A rank or a launcher that ended before the others is still who will come again.
            who = {one.wanted.pid: one for one in self._who}
            for one in identities(self.session.question.wanted, report.jobs, processes):
                before = who.get(one.wanted.pid)
                who[one.wanted.pid] = one if before is None else one.since(before)
            self._who = tuple(who.values())
            self._who_of = report.jobs
        if any(one.pid in processes for one in self.session.question.wanted):
            self._alive_ticks = began_ticks

    def _find(self) -> tuple[Wanted, ...]:
        """Looks among all processes, seldom where that takes long."""
        began_s = time.monotonic()
        if began_s < self._look_at_s:
            return ()
        root = HostRoot()
        try:
            facts = scan_facts(root)
        finally:
            root.close()
        new = {pid for pid, one in facts.items() if one.starttime_ticks >= int(self._alive_ticks)}
        found = started_again(self._who, facts, new)
        if not found and (early := started_again(self._who, facts, new, is_patient=False)):
            self._seen_at_s = began_s if self._seen_at_s is None else self._seen_at_s
            found = early if began_s - self._seen_at_s > _RANKS_WITHIN_S else ()
        took_s = time.monotonic() - began_s
        self._look_at_s = time.monotonic() + max(_LEAST_REST_S, _REST * took_s)
        return found


def followed(targets: Sequence[Target], opened: Callable[[Sequence[Target]], Session]) -> FollowingSession:
    """A session on these targets that goes on with them; `opened` makes one of targets."""
    return FollowingSession(opened(targets), opened)
