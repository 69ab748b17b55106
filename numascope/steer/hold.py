"""Holding a plan: what drifts is put back, at most so often, until something fights back."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from numascope.errors import NumascopeError
from numascope.observe.facts import rebinding
from numascope.observe.sample import ProcessFacts, ThreadKey
from numascope.review.change import FAILED, Change, Result, Thread
from numascope.review.report import Placement, Report
from numascope.steer.apply import Hand
from numascope.steer.journal import OpenEntry
from numascope.steer.settle import Select, Settled, apply_until_settled

MOST_TIMES: Final = 3
WITHIN_S: Final = 60.0
"""A thread that has to be put back more than three times within a minute is being set by somebody else."""


class FoughtError(NumascopeError):
    """Something sets a thread again and again: holding on would only be a quarrel at the job's expense."""

    exit_code = 1


class Act(NamedTuple):
    """One time that something was put back: what became of each thread, and what could not be told of it."""

    wall_s: float
    results: tuple[Result, ...]
    notes: tuple[str, ...]

    @property
    def failed(self) -> int:
        """How many threads that are still there did not take their set."""
        return sum(result.outcome in FAILED for result in self.results)


@dataclass
class Hold:
    """What was put back when; an act is one report's worth of changes, settled."""

    entry: OpenEntry
    hand: Hand
    select: Select

    def __post_init__(self) -> None:
        self._times: dict[Thread, deque[float]] = {}
        self._refused: dict[Thread, Change] = {}
        self.blocked: frozenset[ThreadKey] = frozenset()
        """The threads of the plan that can have none of their CPUs, as of the last look."""

    def newly_blocked(self, report: Report) -> tuple[Placement, ...] | None:
        """Those that cannot be held where that has changed since the last look; None where it has not."""
        blocked = tuple(one for one in report.placements if one.verdict == "blocked")
        keys = frozenset(one.key for one in blocked)
        if keys == self.blocked:
            return None
        self.blocked = keys
        return blocked

    def act(self, report: Report, step: Callable[[], Report]) -> Act | None:
        """Puts back what has drifted in this report; None where nothing has. FoughtError, before anything is set."""
        selection = self.select(report, {})
        due = tuple(one for one in selection.changes if not self._was_refused(one))
        if not due:
            return None
        now_s = report.sample.monotonic_ns / 1e9
        self._check(due, now_s, report.sample.processes)
        settled = apply_until_settled(
            step, self.select, self.entry, self.hand, (report, selection._replace(changes=due))
        )
        self._remember(settled, now_s)
        return Act(report.sample.wall_s, settled.results, settled.notes)

    def _was_refused(self, change: Change) -> bool:
        """Whether the kernel would not give the thread this very set before: asking again each second changes nothing."""
        old = self._refused.get(change.thread)
        return old is not None and (old.before, old.after) == (change.before, change.after)

    def _check(self, due: tuple[Change, ...], now_s: float, processes: Mapping[int, ProcessFacts]) -> None:
        for change in due:
            times = self._times.get(change.thread, deque())
            while times and now_s - times[0] > WITHIN_S:
                times.popleft()
            if len(times) >= MOST_TIMES:
                raise FoughtError(_evidence(change, now_s - times[0], len(times), processes))

    def _remember(self, settled: Settled, now_s: float) -> None:
        for result in settled.results:
            if result.outcome == "set":
                self._times.setdefault(result.change.thread, deque()).append(now_s)
            elif result.outcome in ("refused", "trimmed"):
                self._refused[result.change.thread] = result.change
        self._times = {
            thread: times for thread, times in self._times.items() if times and now_s - times[-1] <= WITHIN_S
        }


def _evidence(change: Change, over_s: float, times: int, processes: Mapping[int, ProcessFacts]) -> str:
    process = processes.get(change.key.pid)
    named = "" if process is None else rebinding(process)
    cause = f"; {named} is in its environment" if named else "; who does it, the kernel does not record"
    return (
        f"{change.rank} {change.label} {change.key.tid} was put on {change.after} {times} times in {over_s:.0f} s and is on "
        f"{change.before} again{cause}. Holding stops"
    ).strip()
