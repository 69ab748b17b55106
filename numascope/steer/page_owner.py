"""Whose pages they are: a process known again by its start and its stack, through a descriptor that a reused pid cannot reach."""

from __future__ import annotations

from numascope.host import procfs
from numascope.host.procfs import TaskFiles
from numascope.host.root import AbsentError, HostRoot
from numascope.show.page_rows import Ending, PageOwner


def read_owner(root: HostRoot, pid: int, rank: str) -> PageOwner | None:
    """A process as it is now; None where it is gone."""
    stat = procfs.stat_of(root, pid)
    if stat is None:
        return None
    program = procfs.stat_of(root, procfs.speaker_of(root, pid))
    return PageOwner(pid, stat.starttime_ticks, 0 if program is None else program.start_stack, stat.comm, rank)


class OwnerWatch:
    """Keeps the `task` directory of a process, to be asked before every write whether it still is the one that was meant."""

    def __init__(self, root: HostRoot, owner: PageOwner, tid: int) -> None:
        """`tid` is a living thread of it. AbsentError where it is gone, DeniedError."""
        self._owner = owner
        self._tid = tid
        self._files = TaskFiles(root, owner.pid)

    def close(self) -> None:
        """Gives the descriptor back."""
        self._files.close()

    def doubt(self) -> tuple[Ending, str] | None:
        """None where it is; else `gone` or `raced`, and why."""
        try:
            main = self._files.identity(self._owner.pid)
            program = self._files.stat(self._tid)
        except AbsentError:
            return "gone", "it ended"
        except OSError as error:
            return "refused", f"it cannot be looked at: {error.strerror}"
        if main is None or program is None or main.starttime_ticks != self._owner.starttime_ticks:
            return "gone", "it ended; another process has its number"
        if program.state in "ZX":
            return "gone", "it ended"
        if self._owner.start_stack and program.start_stack not in (0, self._owner.start_stack):
            return "raced", f"it runs another program now ({program.comm}): started anew by exec"
        return None
