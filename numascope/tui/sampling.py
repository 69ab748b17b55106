"""The sampler's thread: a report each interval, and between two of them the jobs that may change something."""

from __future__ import annotations

import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final

from textual.message import Message
from textual.worker import Worker

from numascope.errors import NumascopeError
from numascope.review.report import Report
from numascope.tui.messages import ReportReady, SamplerFailed, SteeringDone
from numascope.tui.source import ReportSource
from numascope.tui.steering import Job, finished

_HELD_S: Final = 0.1


class Sampling:
    """Steps a source from one thread only; `submit` may be called from another."""

    def __init__(self, source: ReportSource, post: Callable[[Message], object]) -> None:
        self._source = source
        self._post = post
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._worker: Worker[None] | None = None
        self.held = False
        """No step is taken as long as it is set: a recording waits."""

    def started(self, worker: Worker[None]) -> None:
        """By whom `run` is called."""
        self._worker = worker

    def submit(self, job: Job) -> None:
        """Has a job done at once, or after the look that is being taken."""
        self._jobs.put(job)
        if self._worker is not None:
            self._worker.cancelled_event.set()

    def run(self, worker: Worker[None]) -> None:
        """Takes a step, posts it, waits; once the target has ended only jobs are left to do. Ends when told to."""
        try:
            while not worker.is_cancelled:
                if self.held:
                    self._serve(worker, _HELD_S)
                elif self._look():
                    break
                else:
                    self._serve(worker, self._source.interval_s)
        finally:
            self._source.close()
        self._serve(worker, None)

    def _look(self) -> bool:
        """Whether the target has ended."""
        try:
            return self._step().ended
        except NumascopeError as error:
            self._post(SamplerFailed(str(error), fatal=False))
            return False

    def _step(self) -> Report:
        report = self._source.step()
        self._post(ReportReady(report))
        return report

    def _serve(self, worker: Worker[None], for_s: float | None) -> None:
        """Does what comes in, for so long or until cancelled; the event rings for a job too, `is_cancelled` tells which."""
        until_s = None if for_s is None else time.monotonic() + for_s
        bell = worker.cancelled_event
        while True:
            bell.clear()
            if worker.is_cancelled:
                return
            try:
                job = self._jobs.get_nowait()
            except Empty:
                left_s = None if until_s is None else until_s - time.monotonic()
                if left_s is not None and left_s <= 0:
                    return
                bell.wait(left_s)
            else:
                self._post(SteeringDone(finished(job, self._step)))
