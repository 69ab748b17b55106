"""What verbs that go on looking share: when the next look is due, and the signals that end them."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from typing import Final

_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def until_next_s(began_s: float, interval_s: float) -> float:
    """Seconds to the next look; looks that were missed, because one took long or all was stopped, are not made up for."""
    return interval_s - (time.monotonic() - began_s) % interval_s


def end_as_interrupted() -> None:
    """A terminal that hangs up and a service that is stopped end a verb as Ctrl-C does, but for what nohup has ignored."""
    for number in _heeded():
        signal.signal(number, signal.default_int_handler)


def end_between_looks() -> Callable[[float], bool]:
    """From here to the end of the program Ctrl-C, SIGTERM and SIGHUP break in on nothing.

    What it gives waits for so many seconds, and tells whether one of them has come.
    """
    told, telling = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    # Not signal.sigtimedwait: once a SIGSTOP was longer than its time, it tells of a signal that was none (CPython 3.11).
    signal.set_wakeup_fd(telling, warn_on_full_buffer=False)
    for number in _heeded():
        signal.signal(number, lambda _number, _frame: None)
    poll = select.poll()
    poll.register(told, select.POLLIN)
    return lambda for_s: bool(poll.poll(for_s * 1000))


def _heeded() -> list[signal.Signals]:
    """The signals that nobody has told us to ignore."""
    return [one for one in _ENDING if signal.getsignal(one) is not signal.SIG_IGN]
