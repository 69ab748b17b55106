"""Whether there still is a terminal: one that went away without a signal to us leaves a dashboard that nobody can see or end."""

from __future__ import annotations

import select
import sys


def has_hung_up() -> bool:
    """Whether the other end of the terminal that keys come from is closed (POLLHUP of poll(2)).

    The kernel sends SIGHUP to the leader of the session only, which under make or sudo is not this process.
    """
    keys = sys.__stdin__
    if keys is None or keys.closed:
        return True
    poll = select.poll()
    poll.register(keys.fileno(), 0)
    return any(events & (select.POLLHUP | select.POLLNVAL) for _, events in poll.poll(0))
