"""CPU time of one poll of the programs that people look at threads with; None where one is not there."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pty
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from typing import NamedTuple

from commands import cpu_s, start
from dashboard_cost import resize

_HTOP_BEGINS_S, _HTOP_S = 2.0, 3.0
_PSUTIL_THREADS = 300


class Peer(NamedTuple):
    """What a row says, the program or package that has to be there, and the CPU seconds of a poll of this process."""

    name: str
    needs: str
    poll_s: Callable[[int], float]
    is_slow: bool = False
    """Takes seconds to measure: done once, after the others."""

    @property
    def is_there(self) -> bool:
        """Whether it is installed."""
        return shutil.which(self.needs) is not None or importlib.util.find_spec(self.needs) is not None


def _ps(pid: int) -> float:
    return cpu_s(start("ps", "-L", "-o", "tid,psr,comm", "-p", str(pid)))


def _top(pid: int) -> float:
    return cpu_s(start("top", "-H", "-b", "-n", "1", "-p", str(pid)))


def _psutil(pid: int) -> float:
    """As its users write it: times, mask and last CPU of each thread; where there are many, the last two of some, and reckoned up.

    It reads the `stat` of each thread as if that were a process, for which the kernel adds up all threads each time.
    """
    psutil = importlib.import_module("psutil")
    began_s = time.thread_time()
    threads = psutil.Process(pid).threads()
    listed_s = time.thread_time()
    some = threads[:_PSUTIL_THREADS]
    for thread in some:
        one = psutil.Process(thread.id)
        one.cpu_affinity()
        one.cpu_num()
    return listed_s - began_s + (time.thread_time() - listed_s) * len(threads) / len(some)


def _pidstat(pid: int) -> float:
    """Its interval costs two polls: it reads before and after it."""
    return cpu_s(start("pidstat", "-t", "-p", str(pid), "1", "1")) / 2


def _htop(pid: int) -> float:
    """A refresh each second in a terminal of 120×40, by its CPU clock after it has begun; it is killed, and saves no settings."""
    with tempfile.TemporaryDirectory() as folder:
        own, terminal = pty.fork()
        if own == 0:
            os.environ |= {"TERM": "xterm-256color", "HTOPRC": f"{folder}/htoprc"}
            os.execlp("htop", "htop", "-p", str(pid), "-d", "10")
        resize(terminal)
        try:
            time.sleep(_HTOP_BEGINS_S)
            began_ns, began_s = _clock_ns(own), time.monotonic()
            time.sleep(_HTOP_S)
            return (_clock_ns(own) - began_ns) / 1e9 / (time.monotonic() - began_s)
        finally:
            os.kill(own, signal.SIGKILL)
            os.waitpid(own, 0)
            os.close(terminal)


def _clock_ns(pid: int) -> int:
    """The CPU clock of a process (clock_getcpuclockid(3))."""
    return time.clock_gettime_ns(~pid << 3 | 2)


PS = Peer("ps -L -o tid,psr,comm", "ps", _ps)
PEERS = (
    PS,
    Peer("top -H -b -n 1", "top", _top),
    Peer("psutil: threads, cpu_affinity, cpu_num", "psutil", _psutil),
    Peer("pidstat -t", "pidstat", _pidstat, is_slow=True),
    Peer("htop, a second", "htop", _htop, is_slow=True),
)
