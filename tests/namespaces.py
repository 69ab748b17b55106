"""Code run in a namespace of its own, where numbers of processes are ours to give and /proc is ours to mount."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from processes import PRELUDE

import numascope

_TESTS = str(Path(__file__).resolve().parent)
_OWN_PIDS = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


def _may_unshare() -> bool:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    return subprocess.run([*_OWN_PIDS, "true"], capture_output=True, check=False).returncode == 0


needs_namespaces = pytest.mark.skipif(not _may_unshare(), reason="needs root, unshare and pid namespaces")

LOOKS = f"""
import os, signal, subprocess, sys, time
sys.path.insert(0, {_TESTS!r})
from processes import eventually, program
from numascope.host.root import HostRoot
from numascope.observe.sampler import Sampler
def next_pid(number):
    with open("/proc/sys/kernel/ns_last_pid", "w") as file: file.write(str(number - 1))
def ask(child, what):
    child.stdin.write(what + "\\n"); child.stdin.flush()
    return child.stdout.readline().strip()
"""
"""What such code begins with: a target as elsewhere in the tests, questions to it, and which number comes next."""


def in_own_pids(code: str, *before: str) -> str:
    """What code says that runs as a process of a new pid namespace with a /proc of its own."""
    done = subprocess.run(
        [*_OWN_PIDS, *before, sys.executable, "-c", LOOKS + code],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


NOBODY = 65534

needs_setpriv = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv, to be another user"
)
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
PACKAGE = str(Path(numascope.__file__).resolve().parent.parent)


def python_for(user: tuple[str, ...]) -> str:
    """A Python that this user can start, numascope within its reach."""
    for python in (sys.executable, shutil.which("python3", path="/usr/bin:/bin")):
        test = "import sys; sys.path.insert(0, sys.argv[1]); import threading, numascope.observe.sampler"
        if (
            python
            and not subprocess.run([*user, python, "-c", test, PACKAGE], capture_output=True, check=False).returncode
        ):
            return python
    pytest.skip("nobody may not start this Python, or not read the package")


@contextmanager
def target_of(user: tuple[str, ...], code: str) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen(
        [*user, python_for(user), "-c", PRELUDE + code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        yield child
    finally:
        child.kill()
        child.communicate()
