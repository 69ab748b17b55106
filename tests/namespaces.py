"""Code run in a namespace of its own, where numbers of processes are ours to give and /proc is ours to mount."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from processes import PRELUDE

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


__all__ = ["LOOKS", "PRELUDE", "in_own_pids", "needs_namespaces"]
