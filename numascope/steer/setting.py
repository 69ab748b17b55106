"""One thread's mask, set with care: the same thread before and after, the mask that the record says, and read back."""

from __future__ import annotations

import errno
from types import TracebackType
from typing import Final, NamedTuple, Self

from numascope.cpuset import CpuSet
from numascope.host.procfs import TaskFiles
from numascope.host.root import AbsentError, HostRoot
from numascope.review.change import Outcome, Thread
from numascope.steer.syscalls import Kernel

_MEANING: Final = {
    errno.EINVAL: "none of these CPUs is online and in its cpuset, or the thread's affinity is fixed",
    errno.EPERM: "another user's thread: its owner or CAP_SYS_NICE may set it",
    errno.EACCES: "denied by a security policy",
    errno.ENOSYS: "sched_setaffinity is filtered (seccomp)",
}


class Face(NamedTuple):
    """By what a thread was known when it was looked at: exec changes its name, or for the main thread the arguments, or its stack."""

    thread: Thread
    comm: str | None
    """None: the name does not matter."""
    cmdline: tuple[str, ...] | None = None
    """None: the arguments do not matter; only a main thread outlives an exec."""
    start_stack: int = 0
    """0: not known."""


class Order(NamedTuple):
    """What to write to whom: `seen` is what sched_getaffinity gave when the undo record was taken, `restore` what would undo it."""

    face: Face
    seen: CpuSet
    restore: CpuSet
    after: CpuSet
    expected: CpuSet
    """What has to be read back."""


class Done(NamedTuple):
    """What became of an order."""

    outcome: Outcome
    read_back: CpuSet | None
    why: str = ""


class Faces:
    """Kept `task` descriptors, one a process; a context, at whose end they are given back."""

    def __init__(self, root: HostRoot) -> None:
        self._root = root
        self._files: dict[int, TaskFiles] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for files in self._files.values():
            files.close()
        self._files.clear()

    def files(self, pid: int) -> TaskFiles:
        """The threads of a process; AbsentError, DeniedError."""
        files = self._files.get(pid)
        if files is None:
            files = self._files[pid] = TaskFiles(self._root, pid)
        return files

    def doubt(self, face: Face) -> Done | None:
        """None where this is still the thread that was looked at; else `gone` or `raced`, and why."""
        pid, tid, starttime_ticks = face.thread
        try:
            files = self.files(pid)
            who = files.identity(tid)
            if who is None or who.starttime_ticks != starttime_ticks:
                return Done("gone", None, "it ended; another thread has its number")
            if who.state in "ZX":
                return Done("gone", None)
            if face.comm is not None and who.comm != face.comm:
                return Done("raced", None, f"it is {who.comm} now: renamed, or another program by exec")
            if tid == pid and (why := _other_program(files, face)):
                return Done("raced", None, why)
        except AbsentError:
            return Done("gone", None)
        except OSError as error:
            return Done("refused", None, f"it cannot be looked at: {error.strerror}")
        return None


def _other_program(files: TaskFiles, face: Face) -> str:
    """Why a main thread runs another program now; empty where it does not, as far as this user may see."""
    tid = face.thread.tid
    if face.cmdline and (cmdline := files.cmdline(tid)) and cmdline != face.cmdline:
        return "its arguments changed: another program by exec"
    stat = files.stat(tid) if face.start_stack else None
    if stat is not None and stat.start_stack not in (0, face.start_stack):
        return "it has another stack: started anew by exec"
    return ""


def set_thread(faces: Faces, order: Order, kernel: Kernel) -> Done:
    """Sets one mask whose undo record is on the disk; where the thread is not, or no longer, the one that was meant, it is put back."""
    doubt = faces.doubt(order.face)
    if doubt is not None:
        return doubt
    tid = order.face.thread.tid
    try:
        seen = kernel.get_affinity(tid)
        if seen != order.seen:
            return Done("raced", seen, f"somebody set it to {seen or 'no CPU that is online'} meanwhile: left as it is")
        kernel.set_affinity(tid, order.after)
        doubt = faces.doubt(order.face)
        if doubt is not None:
            return _put_back(doubt, faces, order, seen, kernel)
        read_back = kernel.get_affinity(tid)
    except OSError as error:
        return _refused(error)
    if read_back == order.expected:
        return Done("set", read_back)
    if read_back and read_back <= order.expected:
        return Done(
            "trimmed", read_back, f"the kernel left {read_back} of {order.expected}: its cpuset or CPUs changed"
        )
    return Done("raced", read_back, f"{read_back or 'no CPU'} was read back: somebody else sets it too")


def _refused(error: OSError) -> Done:
    if error.errno == errno.ESRCH:
        return Done("gone", None)
    return Done("refused", None, _MEANING.get(error.errno or 0, error.strerror or "refused by the kernel"))


def _put_back(doubt: Done, faces: Faces, order: Order, seen: CpuSet, kernel: Kernel) -> Done:
    """The mask was written to somebody else, or to another program: he gets back what he had just before."""
    pid, tid, starttime_ticks = order.face.thread
    try:
        who = faces.files(pid).identity(tid)
        is_same_task = who is not None and who.starttime_ticks == starttime_ticks
        kernel.set_affinity(tid, order.restore if is_same_task else seen)
    except AbsentError:
        return Done("gone", None)
    except OSError as error:
        refused = _refused(error)
        return (
            refused if refused.outcome == "gone" else Done("raced", None, f"{doubt.why}; not put back: {refused.why}")
        )
    return Done("raced", seen, f"{doubt.why}; put back")
