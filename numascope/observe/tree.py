"""Which processes are watched: the given ones and all that they start, found without walking /proc when nothing was born."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from numascope.host import procfs
from numascope.host.parse_proc import StatRecord
from numascope.host.root import HostRoot

_FEW_BORN: Final = 64
"""Up to so many new pids are asked for one by one: cheaper than a walk through /proc, which passes every thread of the machine."""

_WALK_EVERY: Final = 10
"""Looks between two walks all the same: who restores processes (ns_last_pid of proc_sys_kernel(5)) may give one any number."""


class ProcessTree:
    """The watched pids, kept up to date; a process joins by its parent, or by the session of a watched session leader."""

    def __init__(self, root: HostRoot, roots: Iterable[int], *, follow: bool = True) -> None:
        self._root = root
        self._follow = follow
        self._newest: int | None = None
        self._looks = 0
        self._strangers: dict[int, int] = {}
        """Their inodes in /proc: a number that is used again has another."""
        self._numbers: set[int] = set()
        """To be asked one by one at the next look: given to somebody since, or free to be."""
        self._members: set[int] = set(roots)

    def members(self, newest_pid: int | None) -> frozenset[int]:
        """The watched processes now; those that ended stay until `drop`. While the newest pid stands, nobody was born."""
        if self._follow and (newest_pid is None or newest_pid != self._newest):
            before, self._newest = self._newest, newest_pid
            self._looks += 1
            born = range(0) if before is None or newest_pid is None else range(before + 1, newest_pid + 1)
            if not 0 < len(born) <= _FEW_BORN or self._looks % _WALK_EVERY == 0:
                self._walk()
            else:
                self._numbers.update(born)
        if self._follow and self._numbers:
            self._meet(pid for pid in self._numbers if procfs.is_process(self._root, pid))
            self._numbers.clear()
        return frozenset(self._members)

    def drop(self, pid: int) -> None:
        """Forgets a process that ended; whose number it is then is looked at next time."""
        self._members.discard(pid)
        self._numbers.add(pid)

    def add(self, pids: Iterable[int]) -> None:
        """Watches these too."""
        self._members.update(pids)

    def _walk(self) -> None:
        """Goes through all processes, and asks those that it does not know for strangers."""
        listed = procfs.pid_inodes(self._root)
        self._meet(pid for pid, inode in listed.items() if self._strangers.get(pid) != inode)
        self._strangers = {pid: inode for pid, inode in listed.items() if pid not in self._members}

    def _meet(self, pids: Iterable[int]) -> None:
        """Finds out which of these belong to the watched ones."""
        unknown = {
            pid: stat
            for pid in pids
            if pid not in self._members and (stat := procfs.stat_of(self._root, pid)) is not None and not _is_over(stat)
        }
        joined = True
        while joined:
            joined = False
            for pid, stat in list(unknown.items()):
                if stat.ppid in self._members or (stat.sid != pid and stat.sid in self._members):
                    self._members.add(pid)
                    del unknown[pid]
                    joined = True


def _is_over(stat: StatRecord) -> bool:
    """A zombie as a whole, not one whose main thread alone has ended."""
    return stat.state in "ZX" and stat.threads <= 1
