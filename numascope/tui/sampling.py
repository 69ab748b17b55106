"""The sampler's thread: a report each interval, and between two of them the jobs that may change something."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Final

from textual.message import Message
from textual.worker import Worker

from numascope.errors import NumascopeError
from numascope.review.report import Report
from numascope.tui.messages import ReportReady, SamplerFailed, SteeringDone
from numascope.tui.source import ReportSource
from numascope.tui.steering import Job, finished

_LONGEST_WAIT_S: Final = 3600.0
"""After so long it is looked anew how much is left; a wait of centuries would be refused (threading.TIMEOUT_MAX)."""


class Gap:
    """The time between two looks, of which a part may pass at one speed, and a part at another or not at all."""

    def __init__(self, began_s: float, interval_s: float) -> None:
        self._at_s = began_s
        self._share = 1.0
        self._interval_s: float | None = interval_s

    def left_s(self, now_s: float, interval_s: float | None) -> float | None:
        """Seconds to the next look if the interval is that from now on; None, as long as it is None: no time passes."""
        if self._interval_s is not None:
            self._share -= (now_s - self._at_s) / self._interval_s
        self._at_s, self._interval_s = now_s, interval_s
        return None if interval_s is None else self._share * interval_s


class Sampling:
    """Steps a source from one thread only; `submit`, `hold`, `step_held` and `look_up` may be called from another."""

    def __init__(self, source: ReportSource, post: Callable[[Message], object]) -> None:
        self._source = source
        self._post = post
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._worker: Worker[None] | None = None
        self._is_held = False
        self._steps: SimpleQueue[None] = SimpleQueue()

    def started(self, worker: Worker[None]) -> None:
        """By whom `run` is called."""
        self._worker = worker

    def submit(self, job: Job) -> None:
        """Has a job done at once, or after the look that is being taken."""
        self._jobs.put(job)
        self.look_up()

    def hold(self, *, held: bool) -> None:
        """No look is taken and no time passes as long as it is held; steps that were asked for and not taken are forgotten."""
        self._is_held = held
        with suppress(Empty):
            while True:
                self._steps.get_nowait()
        self.look_up()

    def step_held(self) -> None:
        """Has one look taken although it is held; the one that is being taken counts."""
        self._steps.put(None)
        self.look_up()

    def look_up(self) -> None:
        """What the wait depends on has changed: the source's interval."""
        if self._worker is not None:
            self._worker.cancelled_event.set()

    def run(self, worker: Worker[None]) -> None:
        """Takes a step, posts it, waits; once the target has ended only jobs are left to do. Ends when told to."""
        try:
            while not worker.is_cancelled:
                began_s = time.monotonic()
                if self._look():
                    break
                if not self._source.is_recorded:  # a job is left alone for so long, whatever a look has taken
                    began_s = time.monotonic()
                self._serve(worker, partial(self._left_s, Gap(began_s, self._source.interval_s)))
        finally:
            self._source.close()
        self._serve(worker, lambda: None)

    def _look(self) -> bool:
        """Whether the target has ended, and nobody waits for it to start again."""
        try:
            return _is_over(self._step())
        except NumascopeError as error:
            self._post(SamplerFailed(str(error), fatal=False))
            return False
        finally:
            with suppress(Empty):
                self._steps.get_nowait()

    def _step(self) -> Report:
        report = self._source.step()
        self._post(ReportReady(report))
        return report

    def _left_s(self, gap: Gap) -> float | None:
        """Seconds to the next look; None: until somebody rings."""
        if not self._steps.empty():
            return 0.0
        return gap.left_s(time.monotonic(), None if self._is_held else self._source.interval_s)

    def _serve(self, worker: Worker[None], left_s: Callable[[], float | None]) -> None:
        """Does what comes in until no time is left or cancelled; the event rings for all that is new, `is_cancelled` tells which."""
        bell = worker.cancelled_event
        while True:
            bell.clear()
            if worker.is_cancelled:
                return
            try:
                job = self._jobs.get_nowait()
            except Empty:
                wait_s = left_s()
                if wait_s is not None and wait_s <= 0:
                    return
                bell.wait(_LONGEST_WAIT_S if wait_s is None else min(wait_s, _LONGEST_WAIT_S))
            else:
                self._post(SteeringDone(finished(job, self._step)))


def _is_over(report: Report) -> bool:
    return report.ended and not report.is_awaited
