"""Applied until nothing is left: new threads inherit from whoever creates them, so one pass over a busy process is not enough."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from numascope.errors import InputError
from numascope.review.change import Change, Result, Selection, Thread
from numascope.review.report import Report
from numascope.steer.apply import Hand, apply_changes
from numascope.steer.change import OldMain
from numascope.steer.journal import OpenEntry

Select = Callable[[Report, Mapping[tuple[int, int], OldMain]], Selection]

_MOST_PASSES: Final = 20
_QUIET_LOOKS: Final = 2
"""A thread born while a look was taken, of one that ended meanwhile, is seen by the next: so many looks find nothing."""

_BETWEEN_S: Final = 0.003


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of every thread, by its last attempt; the entry's id where anything was written; and the last look."""

    results: tuple[Result, ...]
    entry: int | None
    report: Report
    passes: int
    notes: tuple[str, ...]


def apply_until_settled(
    step: Callable[[], Report],
    select: Select,
    entry: OpenEntry,
    hand: Hand,
    first: tuple[Report, Selection] | None = None,
) -> Settled:
    """Applies what `select` finds in one report after another until it finds nothing; `first` is the list that was shown."""
    work = _Work(entry, hand)
    report, selection = first if first is not None else _look(step, select, work)
    passes = quiet = 0
    while True:
        passes += 1
        quiet = 0 if work.do(selection) else quiet + 1
        if quiet >= _QUIET_LOOKS or work.stopped or report.ended:
            break
        if passes >= _MOST_PASSES:
            work.notes.append(
                f"threads still appear with their old set after {passes} passes: numascope hold watches them"
            )
            break
        time.sleep(_BETWEEN_S)
        report, selection = _look(step, select, work)
    return Settled(tuple(work.results.values()), entry.number, report, passes, tuple(work.notes))


def _look(step: Callable[[], Report], select: Select, work: _Work) -> tuple[Report, Selection]:
    report = step()
    return report, select(report, work.old_mains)


class _Work:
    """The results so far, and the old sets of main threads that were changed."""

    def __init__(self, entry: OpenEntry, hand: Hand) -> None:
        self.entry = entry
        self.hand = hand
        self.results: dict[Thread, Result] = {}
        self.old_mains: dict[tuple[int, int], OldMain] = {}
        self.strangers: set[tuple[int, int]] = set()
        """Processes whose main thread was no longer the one that was shown: another program, which nobody agreed to change."""
        self.notes: list[str] = []
        self.stopped = False

    def do(self, selection: Selection) -> bool:
        """Whether there was anything to do; what the kernel refused once, or what exec replaced, is not tried again."""
        due = [one for one in selection.changes if not self.is_hopeless(one)]
        if not due:
            return False
        try:
            results = apply_changes(due, self.entry, self.hand)
        except InputError as error:
            if self.entry.number is None:
                raise
            self.notes.append(f"stopped: {error}")
            self.stopped = True
            return False
        for result in results:
            self.take(result)
        return True

    def is_hopeless(self, change: Change) -> bool:
        if (change.process.pid, change.process.starttime_ticks) in self.strangers:
            return True
        last = self.results.get(change.thread)
        if last is None:
            return False
        # What somebody else set between the look and the act was never shown: it is left to him.
        return last.outcome == "raced" or (last.outcome in ("refused", "trimmed") and last.change.after == change.after)

    def take(self, result: Result) -> None:
        change, thread = result.change, result.change.thread
        last = self.results.get(thread)
        # What was set and then found in place, or gone, stays the change that it was.
        if last is None or result.outcome not in ("already", "gone") or last.outcome not in ("set", "trimmed"):
            self.results[thread] = result
        process = (change.process.pid, change.process.starttime_ticks)
        if change.key.pid != change.key.tid:
            return
        if result.outcome == "raced":
            self.strangers.add(process)
        elif result.outcome in ("set", "trimmed", "already"):
            self.old_mains.setdefault(process, OldMain(change.before, change.after))
