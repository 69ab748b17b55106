"""Hands to test with: a store of its own, real processes, and a kernel and a disk that a test can stand in the way of."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from processes import OWN_CPUS

from numascope.cli.session import Session, open_session
from numascope.cpuset import CpuSet
from numascope.host.here import Here, read_here
from numascope.host.root import HostRoot
from numascope.observe.select import Wanted
from numascope.review.change import Change, Outcome, Result, Selection, Undone
from numascope.review.report import Report
from numascope.steer.apply import Hand, apply_changes
from numascope.steer.change import OldMain, select_changes
from numascope.steer.journal import OpenEntry, Source
from numascope.steer.ledger import choose, read_ledger
from numascope.steer.revert import revert_entry
from numascope.steer.settle import Settled, apply_until_settled
from numascope.steer.store import Store
from numascope.steer.syscalls import Disk, Kernel, LinuxDisk, LinuxKernel

ROOT = HostRoot()
"""One for all tests: each holds a descriptor."""

FIRST, SECOND = OWN_CPUS[:2] if len(OWN_CPUS) > 1 else (0, 0)
"""The one that is planned, and the one to escape to."""

SOURCE = Source("bind.json", "8f3c21d0", "python")

ON_FIRST = f"os.sched_setaffinity(0, {{{OWN_CPUS[0]}}})\n"
SLEEPERS = "for _ in range({count}): thread(sleep)\nready(); sleep()"


def here(**changed: object) -> Here:
    """This machine, with some of it told otherwise."""
    return read_here(ROOT)._replace(**changed)  # type: ignore[arg-type]


@contextlib.contextmanager
def store_in(folder: Path, where: Here | None = None) -> Iterator[Store]:
    """The journals below a folder."""
    store = Store(where or here(), {"NUMASCOPE_STATE": str(folder)}, create=True)
    try:
        yield store
    finally:
        store.close()


def plan_file(folder: Path, cpus: str) -> str:
    """A plan that gives device 0 these CPUs."""
    path = folder / "bind.json"
    path.write_text(json.dumps({"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": {"main": cpus}}}))
    return str(path)


@contextlib.contextmanager
def watching(folder: Path, pid: int, cpus: int | str) -> Iterator[Session]:
    """A session on one process as device 0, planned on these CPUs."""
    session = open_session((Wanted(pid, 0),), plan_file(folder, str(cpus)), interval_s=0.2, window_s=1.0)
    try:
        yield session
    finally:
        session.close()


def hold(folder: Path, pid: int, *more: str) -> subprocess.Popen[str]:
    """A numascope that holds the plan of a folder, and keeps its journal there."""
    command = [sys.executable, "-m", "numascope", "hold", str(folder / "bind.json"), f"{pid}=device0", "--yes"]
    return subprocess.Popen(
        [*command, "--interval", "0.3s", *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "NUMASCOPE_STATE": str(folder), "PYTHONUNBUFFERED": "1"},
    )


def masks(pid: int) -> dict[int, str]:
    """Thread → its `Cpus_allowed`, as the kernel writes it; threads that end meanwhile are left out."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            lines = (task / "status").read_text().splitlines()
            found[int(task.name)] = next(line.split()[1] for line in lines if line.startswith("Cpus_allowed:"))
    return found


def allowed(pid: int) -> set[frozenset[int]]:
    """The different sets that the threads of a process may use."""
    found = set()
    for tid in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(ProcessLookupError):
            found.add(frozenset(os.sched_getaffinity(int(tid))))
    return found


def select(report: Report, old_mains: Mapping[tuple[int, int], OldMain]) -> Selection:
    """What an apply without options takes."""
    return select_changes(report, old_mains=old_mains)


def changes_of(session: Session) -> tuple[Change, ...]:
    """What an apply without options would do now."""
    return select_changes(session.step()).changes


def moved(change: Change, **of_key: int) -> Change:
    """A change of somebody else: another tid or start."""
    return replace(change, key=change.key._replace(**of_key))


def hand(kernel: Kernel | None = None) -> Hand:
    """The live machine, through a kernel of the test's."""
    return Hand(ROOT, kernel if kernel is not None else LinuxKernel())


def do(
    changes: Sequence[Change], store: Store, kernel: Kernel | None = None, disk: Disk | None = None
) -> tuple[Result, ...]:
    """One pass, as one entry."""
    with store.locked():
        entry = OpenEntry(store, "apply", SOURCE, disk=disk)
        try:
            return apply_changes(changes, entry, hand(kernel))
        finally:
            entry.close()


def settle(session: Session, store: Store, kernel: Kernel | None = None, disk: Disk | None = None) -> Settled:
    """A whole apply."""
    with store.locked():
        entry = OpenEntry(store, "apply", SOURCE, disk=disk)
        try:
            return apply_until_settled(session.step, select, entry, hand(kernel))
        finally:
            entry.close()


def undo(
    store: Store,
    number: int | None = None,
    kernel: Kernel | None = None,
    disk: Disk | None = None,
    *,
    force: bool = False,
) -> tuple[Undone, ...]:
    """A whole revert; nothing where nothing is left."""
    entry = choose(read_ledger(store), store.here, number, force=force)
    if entry is None:
        return ()
    with store.locked():
        into = OpenEntry(store, "revert", SOURCE, reverts=entry.header.id, disk=disk)
        try:
            return revert_entry(entry, into, hand(kernel), force=force)
        finally:
            into.close()


def outcomes(found: Sequence[Result | Undone]) -> set[Outcome]:
    """The different outcomes."""
    return {one.outcome for one in found}


class Refusing:
    """A kernel that answers some threads with an error, and everything else as the real one."""

    def __init__(self, errors: Mapping[int, int], before: Callable[[int, CpuSet], None] | None = None) -> None:
        self.errors = errors
        self.before = before
        self.real = LinuxKernel()
        self.written: list[tuple[int, CpuSet]] = []

    def set_affinity(self, tid: int, cpus: CpuSet) -> None:
        """Sets, unless this thread is to fail."""
        if self.before is not None:
            self.before(tid, cpus)
        if tid in self.errors:
            raise OSError(self.errors[tid], os.strerror(self.errors[tid]))
        self.written.append((tid, cpus))
        self.real.set_affinity(tid, cpus)

    def get_affinity(self, tid: int) -> CpuSet:
        """As the real one."""
        return self.real.get_affinity(tid)


class Steps(NamedTuple):
    """Ends something at the n-th write, sync or system call."""

    at: int
    end: Callable[[], None]
    counted: list[int]

    def step(self) -> None:
        """Counts one."""
        self.counted[0] += 1
        if self.counted[0] == self.at:
            self.end()


class CountedKernel:
    """The real kernel; every call is a step, before and after it is done."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.real = LinuxKernel()

    def set_affinity(self, tid: int, cpus: CpuSet) -> None:
        """Sets."""
        self.steps.step()
        self.real.set_affinity(tid, cpus)
        self.steps.step()

    def get_affinity(self, tid: int) -> CpuSet:
        """Gets."""
        self.steps.step()
        return self.real.get_affinity(tid)


class CountedDisk:
    """The real disk; a write is torn in three, each part a step."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.real = LinuxDisk()

    def append(self, descriptor: int, data: bytes) -> int:
        """Writes a part."""
        self.steps.step()
        part = data if len(data) < 200 else data[: len(data) // 2 + 7]
        return self.real.append(descriptor, part)

    def sync(self, descriptor: int) -> None:
        """Syncs."""
        self.steps.step()
        self.real.sync(descriptor)
        self.steps.step()
