"""What a process's CPU clock proves: whether the threads that were not looked at slept, and what those that ended had used."""

from __future__ import annotations

from typing import Final

from numascope.host.procfs import process_clock_ns
from numascope.observe.waiting import ROTATION

_CLOSE_BOUNDS: Final = 4


class ProcessTime:
    """The clock is the sum of the times of all threads, ended ones among them (clock_getcpuclockid(3)); all in ns."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._living_ns = 0
        self._most_dead_ns: int | None = None
        self._bounds = 0
        self._seen_dead_ns: int | None = None
        self.unseen_ns: int | None = None
        """CPU time of threads that ended, as far as no sample has it: at least so much; it only grows. None: unknown."""

    def now_ns(self) -> int | None:
        """The clock; None where the process is gone."""
        return process_clock_ns(self._pid)

    def ran(self, run_ns: int) -> None:
        """A living thread was seen to have used so much more."""
        self._living_ns += run_ns

    def ended(self, run_ns: int) -> None:
        """So much CPU time is no longer that of a living thread."""
        self._living_ns -= run_ns
        self._most_dead_ns = None
        if self._seen_dead_ns is not None:
            self._seen_dead_ns += run_ns

    def is_explained(self, clock_ns: int | None) -> bool:
        """Whether the times that were read account for the clock, so that every other thread slept."""
        return (
            clock_ns is not None and self._most_dead_ns is not None and clock_ns - self._most_dead_ns <= self._living_ns
        )

    def claim(self, clock_ns: int | None) -> None:
        """What neither living nor ended threads were seen to have used was used by some that are gone.

        The clock is of a time before the threads were listed: who was there then, and still is, has been read since.
        """
        if self._seen_dead_ns is not None and self.unseen_ns is not None and clock_ns is not None:
            self.unseen_ns = max(self.unseen_ns, clock_ns - self._living_ns - self._seen_dead_ns)

    def begin_anew(self) -> None:
        """By exec threads ended or took another's number: which of their times are those of ended ones is not known."""
        self._seen_dead_ns = self._most_dead_ns = None

    def bound(self, number: int) -> None:
        """How much of the clock is that of ended threads, once all who ran were read.

        Each look bounds it from above, the closer the less time the look took.
        """
        if self._most_dead_ns is None:
            self._bounds = 0
        # The kernel adds all threads up for it: a millisecond for ten thousand.
        if self._bounds >= _CLOSE_BOUNDS and number % ROTATION:
            return
        after_ns = self.now_ns()
        if after_ns is None:
            return
        self._bounds += 1
        most_ns = after_ns - self._living_ns
        self._most_dead_ns = most_ns if self._most_dead_ns is None else min(most_ns, self._most_dead_ns)
        if self._seen_dead_ns is None:
            self.unseen_ns = self.unseen_ns or 0
            self._seen_dead_ns = most_ns - self.unseen_ns
