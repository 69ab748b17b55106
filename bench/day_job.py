"""A job that never stands still, one step for each line that it reads: threads and processes are born and end, some exec, masks change.

It looks like a MindSpore job of some ranks and imports nothing of numascope. At every step there are as many threads as at any
other, so whoever watches it has no reason to grow. `day_job.py launcher RANKS THREADS`; it answers `done` and ends with its input.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque

PASSING = 8
"""Threads of a rank that are replaced in turn; the others stay."""

CHILDREN = 2
_NAMES = ("ActorThread_0", "launch_queue", "", "minddata_0", "pt_autograd_0")
_libc = ctypes.CDLL(None)


def launcher(ranks: int, threads: int) -> None:
    """Starts the ranks and passes each line on to one of them in turn; now and then to one for a change of its processes."""
    own = [_Rank(number, threads // ranks) for number in range(ranks)]
    print("done", flush=True)
    for step, _ in enumerate(sys.stdin):
        own[step % ranks].act("thread")
        if step % 10 == 0:
            own[step // 10 % ranks].act("child")
        if step % 25 == 0:
            own[step // 25 % ranks].act("mask")
        if step % 50 == 5:
            own[step // 50 % ranks].act("exec")
        print("done", flush=True)


class _Rank:
    """A rank as its launcher has it."""

    def __init__(self, number: int, threads: int) -> None:
        environ = {"MS_ROLE": "MS_WORKER", "RANK_ID": str(number), "DEVICE_ID": str(number), "MS_WORKER_NUM": "4"}
        command = [sys.executable, "-I", "-S", "-W", "ignore", __file__, "rank", str(threads)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **environ}
        )
        self._wait()

    def act(self, what: str) -> None:
        """Lets it do one thing, and waits until it has."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        self._wait()

    def _wait(self) -> None:
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "done\n":
            sys.exit("a rank ended")


def rank(threads: int) -> None:
    """Has so many threads, and children of one thread, and replaces them as it is told."""
    threading.stack_size(65536)
    for number in range(threads - PASSING - CHILDREN - 1):
        threading.Thread(target=_sleep, args=(f"stays_{number}",), daemon=True).start()
    passing = deque(_Passing(number) for number in range(PASSING))
    children = deque(_child() for _ in range(CHILDREN))
    everywhere = os.sched_getaffinity(0)
    print("done", flush=True)
    for step, line in enumerate(sys.stdin):
        match line.strip():
            case "thread":
                passing.popleft().end()
                passing.append(_Passing(step))
            case "child":
                gone = children.popleft()
                os.kill(gone, signal.SIGKILL)
                os.waitpid(gone, 0)
                children.append(_child())
            case "exec":
                _exec(children[0])
            case _:
                narrow = {min(everywhere)} if step % 2 else everywhere
                os.sched_setaffinity(passing[0].tid, narrow)
        print("done", flush=True)


class _Passing:
    """A thread that works a little and then waits for its end."""

    def __init__(self, number: int) -> None:
        self._end = threading.Event()
        self._worked = threading.Event()
        self._thread = threading.Thread(target=self._work, args=(_NAMES[number % len(_NAMES)],), daemon=True)
        self._thread.start()
        self._worked.wait()
        self.tid = self._thread.native_id or 0

    def end(self) -> None:
        """Returns once the kernel has no such thread any more."""
        self._end.set()
        self._thread.join()
        while os.path.exists(f"/proc/self/task/{self.tid}"):
            time.sleep(0.0001)

    def _work(self, name: str) -> None:
        if name:
            _libc.prctl(15, name.encode(), 0, 0, 0)  # PR_SET_NAME
        began = time.thread_time_ns()
        while time.thread_time_ns() - began < 50_000:
            pass
        self._worked.set()
        self._end.wait()


def _sleep(name: str) -> None:
    _libc.prctl(15, name.encode(), 0, 0, 0)
    threading.Event().wait()


def _child() -> int:
    pid = os.fork()
    if pid == 0:
        _libc.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
        while True:
            signal.pause()
    return pid


def _exec(pid: int) -> None:
    """The child becomes another program, and is there once its name tells so."""
    os.kill(pid, signal.SIGUSR1)
    with contextlib.suppress(OSError):
        for _ in range(1000):
            with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                if file.read() == "sleep\n":
                    return
            time.sleep(0.001)


def _become(*_: object) -> None:
    os.execvp("sleep", ["sleep", "100000"])


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, _become)
    if sys.argv[1] == "launcher":
        launcher(int(sys.argv[2]), int(sys.argv[3]))
    else:
        rank(int(sys.argv[2]))
