"""The guest's kernel in the hands of its root: CPUs offline and back, cpusets, and what threads and CPUs did."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from numascope.cli.session import Session, open_session
from numascope.cli.standin_process import StandIn
from numascope.observe.select import Wanted
from numascope.review.report import Finding, Placement, Report

CGROUPS = Path("/sys/fs/cgroup")
SLOW_S = 60.0
"""How long a guest may take to show what it will show: its user code is 10 to 15 times slower than the host's."""

HASHING = """
import hashlib
block = bytes(1 << 20)
def hash(rest_s=0):
    while True: hashlib.sha256(block).digest(); time.sleep(rest_s)
"""
"""Work without the interpreter's lock: threads that do this run side by side."""


def kernel() -> tuple[int, int]:
    """Version of the guest's kernel: (6, 1) for Debian 12's."""
    found = re.match(r"(\d+)\.(\d+)", os.uname().release)
    assert found is not None
    return int(found[1]), int(found[2])


@contextlib.contextmanager
def offline(cpu: int) -> Iterator[None]:
    """Takes a CPU offline, and brings it back."""
    switch = Path(f"/sys/devices/system/cpu/cpu{cpu}/online")
    switch.write_text("0")
    try:
        yield
    finally:
        switch.write_text("1")


class Cpuset(NamedTuple):
    """A cgroup v2 with a cpuset of its own."""

    path: Path

    def give(self, cpus: str) -> None:
        """Sets `cpuset.cpus`."""
        (self.path / "cpuset.cpus").write_text(cpus)

    def take_in(self, pids: Iterable[int]) -> None:
        """Moves processes into it."""
        for pid in pids:
            (self.path / "cgroup.procs").write_text(str(pid))


@contextlib.contextmanager
def cpuset(cpus: str) -> Iterator[Cpuset]:
    """A cpuset of these CPUs, removed at the end; who is still in it goes back to the root."""
    (CGROUPS / "cgroup.subtree_control").write_text("+cpuset")
    one = Cpuset(CGROUPS / "job")
    one.path.mkdir()
    try:
        one.give(cpus)
        yield one
    finally:
        for pid in (one.path / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (CGROUPS / "cgroup.procs").write_text(pid)
        deadline_s = time.monotonic() + SLOW_S
        while (one.path / "cgroup.procs").read_text() and time.monotonic() < deadline_s:
            time.sleep(0.1)
        one.path.rmdir()


def pids_of(launcher: int) -> list[int]:
    """A process and all that descend from it."""
    found = [launcher]
    for pid in found:
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found.extend(map(int, children.read_text().split()))
    return found


def masks_of(pids: Iterable[int]) -> dict[int, frozenset[int]]:
    """Thread → the CPUs that it may use, for all threads of these processes."""
    found = {}
    for pid in pids:
        for tid in map(int, os.listdir(f"/proc/{pid}/task")):
            with contextlib.suppress(ProcessLookupError):
                found[tid] = frozenset(os.sched_getaffinity(tid))
    return found


def put_back(masks: Mapping[int, frozenset[int]]) -> None:
    """Sets the masks of all threads that still are."""
    for tid, mask in masks.items():
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(tid, mask)


@contextlib.contextmanager
def masks_kept(pids: Iterable[int]) -> Iterator[None]:
    """Puts the masks of all threads of these processes back at the end."""
    before = masks_of(pids)
    try:
        yield
    finally:
        put_back(before)


@contextlib.contextmanager
def watching_job(job: StandIn) -> Iterator[Session]:
    """A session on the stand-in job against its own plan, with its one escape put back and nothing pending."""
    session = open_session((Wanted(job.launcher_pid),), None, interval_s=0.5, window_s=1.0, pending_for_s=0.0)
    try:
        for one in session.step().placements:
            if one.target is not None and one.allowed is not None and not one.allowed <= one.target.cpus:
                os.sched_setaffinity(one.key.tid, set(one.target.cpus))
        yield session
    finally:
        session.close()


def seen(session: Session, holds: Callable[[Report], bool], within_s: float = SLOW_S) -> Report:
    """The first report of which something holds; fails with what the last one says."""
    deadline_s = time.monotonic() + within_s
    while True:
        report = session.step()
        if holds(report):
            return report
        if time.monotonic() > deadline_s:
            told = "\n".join(f"{one.rule}: {one.subject}: {one.text}; {one.evidence}" for one in report.findings)
            busy = [(one.label, one.cpu, one.busy, one.wait_ms_per_s) for one in report.placements if one.busy]
            raise AssertionError(f"not seen within {within_s:g} s; {dict(report.counts)}\n{told}\nbusy: {busy}")
        time.sleep(0.5)


def placement(report: Report, tid: int) -> Placement:
    """What the report says of a thread."""
    return next(one for one in report.placements if one.key.tid == tid)


def named(report: Report, rank: int, comm: str) -> Placement:
    """The thread of that name in that rank."""
    return next(one for one in report.placements if one.rank == rank and one.comm == comm)


def finding_of(report: Report, rule: str, tid: int) -> Finding | None:
    """The finding of a rule that names the thread."""
    told = (one for one in report.findings if one.rule == rule)
    return next((one for one in told if tid in {key.tid for key in one.keys}), None)


def findings(report: Report, rule: str) -> list[Finding]:
    """All findings of a rule."""
    return [one for one in report.findings if one.rule == rule]


def numascope(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a verb."""
    program = "from numascope.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, timeout=2 * SLOW_S
    )


def last_cpu(pid: int, tid: int) -> int:
    """`psr`: field 39 of `stat`."""
    return int(Path(f"/proc/{pid}/task/{tid}/stat").read_text().rpartition(")")[2].split()[36])


def run_ns(pid: int, tid: int) -> int:
    """CPU time of a thread, from `schedstat`."""
    return int(Path(f"/proc/{pid}/task/{tid}/schedstat").read_text().split()[0])


def busy_ns(cpus: Iterable[int]) -> int:
    """CPU time that these CPUs have given to user and system, from /proc/stat."""
    wanted = {f"cpu{cpu}" for cpu in cpus}
    rows = (line.split() for line in Path("/proc/stat").read_text().splitlines())
    ticks = sum(int(row[1]) + int(row[2]) + int(row[3]) for row in rows if row[0] in wanted)
    return ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def hog(cpu: int) -> Iterator[None]:
    """A SCHED_FIFO loop that never gives its CPU up: the kernel's real-time throttling is off meanwhile."""
    limit = Path("/proc/sys/kernel/sched_rt_runtime_us")
    before = limit.read_text()
    limit.write_text("-1")
    loop = ["chrt", "-f", "50", "taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"]
    child = subprocess.Popen(loop, stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
        limit.write_text(before)
