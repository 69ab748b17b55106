"""A job that ended and is waited for: its last picture stays, says so, and the dashboard goes on looking."""

from __future__ import annotations

import threading
from dataclasses import replace

from reports import eight_ranks, ended, two_cpus
from textual.message import Message

from numascope.review.report import Report
from numascope.tui.messages import ReportReady
from numascope.tui.sampling import Sampling
from numascope.tui.state import ended_notice, is_stale, state_word


class Reports:
    """A source that gives these reports, one after the other."""

    interval_s = 0.01
    is_recorded = False
    pace = "live 1s"

    def __init__(self, *reports: Report) -> None:
        self._reports = list(reports)
        self.closed = 0

    def step(self) -> Report:
        """The next."""
        return self._reports.pop(0)

    def close(self) -> None:
        """Counted."""
        self.closed += 1


class Told:
    """A worker that is told to end once the source has been closed."""

    def __init__(self, source: Reports) -> None:
        self.cancelled_event = threading.Event()
        self._source = source

    @property
    def is_cancelled(self) -> bool:
        """Once nothing is left to look at."""
        return self._source.closed > 0


AWAITED = replace(ended(eight_ranks()), is_awaited=True)


def test_looking_goes_on_until_a_report_has_ended_for_good() -> None:
    posted: list[Message] = []
    anew = two_cpus()
    source = Reports(eight_ranks(), AWAITED, AWAITED, anew, ended(anew))
    Sampling(source, posted.append).run(Told(source))  # type: ignore[arg-type]

    reports = [one.report for one in posted if isinstance(one, ReportReady)]
    assert [one.ended for one in reports] == [False, True, True, False, True]
    assert reports[3] is anew
    assert source.closed == 1


def test_the_screen_says_that_it_waits() -> None:
    source = Reports()

    assert state_word(AWAITED, source, paused=False, age_s=0).text.strip() == "WAITING"
    assert state_word(ended(eight_ranks()), source, paused=False, age_s=0).text.strip() == "ENDED"
    assert not is_stale(AWAITED, source, paused=False, age_s=1000)
    said = ended_notice(AWAITED)
    assert said.startswith(f"ENDED: {AWAITED.title}, last seen ")
    assert said.endswith("; waiting for it to start again. q quits")
    assert len(said) <= 80
