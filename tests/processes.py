"""Real processes to look at: small Python programs that say when they are ready and end with the test."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

OWN_CPUS = sorted(os.sched_getaffinity(0))
needs_two_cpus = pytest.mark.skipif(len(OWN_CPUS) < 2, reason="needs two CPUs: one planned, one to escape to")

PRELUDE = """
import ctypes, os, sys, threading, time
def name(text):
    ctypes.CDLL(None).prctl(15, text if isinstance(text, bytes) else text.encode(), 0, 0, 0)
def thread(body, *args):
    one = threading.Thread(target=body, args=args, daemon=True); one.start(); return one
def named(text, body, *args):
    def run():
        name(text); body(*args)
    return thread(run)
def sleep(): time.sleep(1000)
def spin(share=1.0):
    while True:
        began = time.perf_counter()
        while time.perf_counter() - began < share * 0.02: pass
        time.sleep(0.02 * (1 - share))
def ready(): print("ready", flush=True)
"""

EXECS_ITSELF = """
if "AGAIN" not in os.environ:
    ready(); sys.stdin.readline()
    os.execve(sys.executable, sys.orig_argv, {**os.environ, "AGAIN": "1"})
ready(); sleep()
"""
"""Starts itself anew, once, with the same name and arguments, when it gets a line."""


def _has_aslr() -> bool:
    with open("/proc/sys/kernel/randomize_va_space", encoding="ascii") as file:
        return file.read().strip() != "0"


needs_aslr = pytest.mark.skipif(not _has_aslr(), reason="stacks are not placed at random: kernel.randomize_va_space=0")


@contextlib.contextmanager
def program(code: str, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """Runs code after the prelude until it says ready; ends it, whatever happens."""
    child = subprocess.Popen(
        [sys.executable, "-c", PRELUDE + code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **environ},
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


def tell(child: subprocess.Popen[str], line: str = "") -> None:
    """Gives a program a line on its standard input."""
    assert child.stdin is not None
    child.stdin.write(f"{line}\n")
    child.stdin.flush()


def answer(child: subprocess.Popen[str]) -> str:
    """The next line that a program prints, with its end."""
    assert child.stdout is not None
    return child.stdout.readline()


def eventually(holds: Callable[[], bool], within_s: float = 10.0) -> bool:
    """Whether something comes true in time."""
    deadline = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
