"""What the sampler thread says to the dashboard."""

from __future__ import annotations

from textual.message import Message

from numascope.review.report import Report
from numascope.tui.steering import Outcome


class ReportReady(Message):
    """A whole immutable report; a newer one that waits behind it makes it moot."""

    def __init__(self, report: Report) -> None:
        self.report = report
        super().__init__()

    def can_replace(self, message: Message) -> bool:
        """Whether this one stands for an older one that nobody has read yet."""
        return isinstance(message, ReportReady)


class SamplerFailed(Message):
    """No report came; `reason` is one line, `fatal` means that none will come any more."""

    def __init__(self, reason: str, *, fatal: bool) -> None:
        self.reason = reason
        self.fatal = fatal
        super().__init__()


class SteeringDone(Message):
    """A job that was asked for has come to its end."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        super().__init__()
