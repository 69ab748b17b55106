"""Whose old set a revert gives back: the recorded threads', and that of threads born later which inherited a new one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from numascope.cpuset import CpuSet
from numascope.host import procfs
from numascope.host.parse_proc import Identity, StatRecord
from numascope.host.root import HostRoot
from numascope.review.change import Thread
from numascope.steer.journal import Entry, Recorded
from numascope.steer.setting import Faces
from numascope.steer.syscalls import Kernel


class Old(NamedTuple):
    """A set to give back, and whether it was the whole cpuset."""

    before: CpuSet
    was_cpuset: bool


@dataclass(frozen=True, slots=True)
class Ward:
    """A thread whose old set is to be given back; `old` is None where its process's threads had several."""

    thread: Thread
    process_starttime: int
    label: str
    rank: str
    role: str
    old: Old | None
    after: CpuSet
    read_back: CpuSet | None
    inherited: bool = False
    set_again_by: int | None = None

    @classmethod
    def of(cls, one: Recorded) -> Ward:
        """A thread that the entry names itself."""
        old = Old(one.before, one.before_was_cpuset)
        return cls(
            one.thread, one.process_starttime, one.label, one.rank, one.role, old, one.after, one.read_back,
            set_again_by=one.set_again_by,
        )  # fmt: skip

    def has(self, mask: CpuSet, limit: CpuSet) -> bool:
        """Whether a mask is the one that was written, or what the kernel makes of it within a cpuset."""
        ours = {self.after, self.after & limit}
        if self.read_back:
            ours |= {self.read_back, self.read_back & limit}
        # Where none of what was written is in the cpuset now, the kernel shows the cpuset, and from 6.2 on remembers ours.
        fell_back = not self.after & limit and mask == limit
        return bool(mask) and (mask in ours or fell_back)


_Groups = Mapping[CpuSet, frozenset[Old]]
"""New set → the old sets of the recorded threads of one process that were given it."""


def find_heirs(entry: Entry, root: HostRoot, kernel: Kernel, faces: Faces) -> Iterator[Ward]:
    """Threads of the recorded processes, and of their later children, that were born after the first change with a new set."""
    groups = _groups(entry)
    recorded = {one.thread for one in entry.changes}
    began = entry.header.began_ticks
    # Most are created by their process's main thread: its old set is theirs where the others' differ.
    mains = {
        (one.thread.pid, one.process_starttime): Old(one.before, one.before_was_cpuset)
        for one in entry.changes
        if one.thread.pid == one.thread.tid and one.was_done
    }
    parts = {(one.thread.pid, one.process_starttime): one for one in entry.changes}
    for stat, owner in _families(root, groups, began):
        names = parts[owner]
        for tid, mask in _masks(stat.pid, kernel, faces):
            olds = groups[owner].get(mask)
            if olds is None:
                continue
            born = _born(stat.pid, tid, faces)
            if born is None or born.starttime_ticks <= began:
                continue
            thread = Thread(stat.pid, tid, born.starttime_ticks)
            if thread not in recorded:
                old = next(iter(olds)) if len(olds) == 1 else mains.get(owner)
                yield Ward(
                    thread, stat.starttime_ticks, born.comm, names.rank, "inherited", old, mask, None, inherited=True
                )


def _groups(entry: Entry) -> dict[tuple[int, int], _Groups]:
    found: dict[tuple[int, int], dict[CpuSet, frozenset[Old]]] = {}
    for one in entry.changes:
        if one.was_done:
            group = found.setdefault((one.thread.pid, one.process_starttime), {})
            for mask in {one.after, one.read_back or one.after}:
                group[mask] = group.get(mask, frozenset()) | {Old(one.before, one.before_was_cpuset)}
    return dict(found)


def _families(
    root: HostRoot, groups: Mapping[tuple[int, int], _Groups], began: int
) -> Iterator[tuple[StatRecord, tuple[int, int]]]:
    """The recorded processes that live, and their descendants born later, each with the nearest recorded one above it."""
    alive = {pid: stat for pid in procfs.pids(root) if (stat := procfs.stat_of(root, pid)) is not None}
    for stat in alive.values():
        above: StatRecord | None = stat
        seen: set[int] = set()
        while above is not None and above.pid not in seen:
            if (above.pid, above.starttime_ticks) in groups:
                yield stat, (above.pid, above.starttime_ticks)
                break
            if above.starttime_ticks <= began:
                break
            seen.add(above.pid)
            above = alive.get(above.ppid)


def _masks(pid: int, kernel: Kernel, faces: Faces) -> Iterator[tuple[int, CpuSet]]:
    try:
        tids = faces.files(pid).tids()
    except OSError:
        return
    for tid in tids:
        try:
            yield tid, kernel.get_affinity(tid)
        except OSError:
            continue


def _born(pid: int, tid: int, faces: Faces) -> Identity | None:
    try:
        return faces.files(pid).identity(tid)
    except OSError:
        return None
