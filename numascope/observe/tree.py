"""Which processes are watched: the given ones and all that they start, found without walking /proc when nothing was born."""

from __future__ import annotations

from collections.abc import Iterable

from numascope.host import procfs
from numascope.host.root import HostRoot


class ProcessTree:
    """The watched pids, kept up to date; a process joins by its parent, or by the session of a watched session leader."""

    def __init__(self, root: HostRoot, roots: Iterable[int], *, follow: bool = True) -> None:
        self._root = root
        self._follow = follow
        self._newest: int | None = None
        self._strangers: set[int] = set()
        self._members: set[int] = set(roots)

    def members(self, newest_pid: int | None) -> frozenset[int]:
        """The watched processes now; those that ended stay until `drop`. While the newest pid stands, nobody was born."""
        if self._follow and (newest_pid is None or newest_pid != self._newest):
            self._newest = newest_pid
            self._look_for_new()
        return frozenset(self._members)

    def drop(self, pid: int) -> None:
        """Forgets a process that ended, so that its number means nothing when it is used again."""
        self._members.discard(pid)

    def _look_for_new(self) -> None:
        listed = set(procfs.pids(self._root))
        self._strangers &= listed
        unknown = {
            pid: stat for pid in listed - self._strangers - self._members if (stat := procfs.stat_of(self._root, pid))
        }
        joined = True
        while joined:
            joined = False
            for pid, stat in list(unknown.items()):
                if stat.ppid in self._members or (stat.sid != pid and stat.sid in self._members):
                    self._members.add(pid)
                    del unknown[pid]
                    joined = True
        self._strangers.update(unknown)

    def add(self, pids: Iterable[int]) -> None:
        """Watches these too."""
        self._members.update(pids)
        self._strangers.difference_update(self._members)
