"""`attach` without a pid, in a terminal: the jobs to pick from; the terminal is left as it was found."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from processes import PRELUDE, program

pytestmark = pytest.mark.live

RANK = PRELUDE + "sleep()"
JOB = f"""
if os.fork() == 0:
    os.execve(sys.executable, [sys.executable, "-c", {RANK!r}], {{**os.environ, "RANK": "0", "LOCAL_RANK": "0"}})
name("pt_elastic"); time.sleep(0.7); ready(); sleep()
"""


class Terminal:
    """numascope in a terminal of 80 × 24."""

    def __init__(self, *arguments: str) -> None:
        self.ours, self.theirs = pty.openpty()
        termios.tcsetwinsize(self.theirs, (24, 80))
        self.before = termios.tcgetattr(self.theirs)
        self.child = subprocess.Popen(
            [sys.executable, "-m", "numascope", *arguments],
            stdin=self.theirs,
            stdout=self.theirs,
            stderr=self.theirs,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"},
        )
        self.seen = ""

    def until(self, text: str) -> None:
        """Reads until that stands there."""
        deadline = time.monotonic() + 60
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            if select.select([self.ours], [], [], 0.2)[0]:
                self.seen += os.read(self.ours, 1 << 16).decode(errors="replace")

    def press(self, keys: str) -> None:
        """Types."""
        os.write(self.ours, keys.encode())


@contextmanager
def terminal(*arguments: str) -> Iterator[Terminal]:
    one = Terminal(*arguments)
    try:
        yield one
    finally:
        one.child.kill()
        one.child.wait()
        os.close(one.ours)
        os.close(one.theirs)


def number_of(pid: int, page: str) -> str:
    """The number that stands before a job."""
    found = re.search(rf"(\d+) \S*\s*{pid}  torchrun", re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", page))
    assert found is not None, page
    return found[1]


def test_a_job_is_picked_by_its_number() -> None:
    with program(JOB), program(JOB) as other, terminal("attach", "--once", "--for", "0.2s") as one:
        one.until("q leaves")
        one.press(number_of(other.pid, one.seen) + "\r")
        one.until(f"torchrun {other.pid} · 1 rank")
        one.until("exit ")
        one.child.wait(20)

        assert termios.tcgetattr(one.theirs) == one.before


@pytest.mark.parametrize("key", ["q", "\x1b"])
def test_leaving_is_no_error_and_says_nothing(key: str) -> None:
    with program(JOB), program(JOB), terminal("attach") as one:
        one.until("q leaves")
        one.press("\x1b[B")
        one.press(key)

        assert one.child.wait(20) == 0
        assert termios.tcgetattr(one.theirs) == one.before
        assert "numascope:" not in one.seen


def test_an_interrupt_ends_it_as_everywhere() -> None:
    with program(JOB), program(JOB), terminal("attach") as one:
        one.until("q leaves")
        one.child.send_signal(signal.SIGINT)

        assert one.child.wait(20) == 130
        assert termios.tcgetattr(one.theirs) == one.before
