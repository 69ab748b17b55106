"""Processes and threads as /proc shows them: one-off facts of a process, and kept descriptors for the threads of one."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from typing import Final

from numascope.cpuset import EMPTY, CpuSet
from numascope.errors import InputError
from numascope.host.parse_proc import (
    Identity,
    StatRecord,
    parse_allowed,
    parse_cmdline,
    parse_environ,
    parse_identity,
    parse_policy,
    parse_stat,
    parse_status,
)
from numascope.host.parse_sched import UNKNOWN, SchedRecord, parse_sched, parse_switches
from numascope.host.root import AbsentError, HostRoot, as_host_error

_POLICY_BYTES: Final = 40
"""`numa_maps` is produced mapping by mapping: 40 bytes hold the task's policy and walk no page table."""

_SMALL: Final = 4096
"""The files of a thread that are read here are shorter: `stat` and `schedstat` a line, `sched` some 50."""

_STATUS_BYTES: Final = 1 << 14
"""`status` holds four masks of up to 8,192 CPUs and nodes, as words and as lists."""

_TGID: Final = re.compile(rb"\nTgid:\s*(\d+)")
_MOST_CMDLINE: Final = 1 << 16
_MOST_ENVIRON: Final = 1 << 20


def pids(root: HostRoot) -> list[int]:
    """The processes that /proc lists for this user."""
    return [int(name) for name in root.names("proc") if name.isdigit()]


def is_process(root: HostRoot, pid: int) -> bool:
    """Whether a number is that of a process, not of another thread of one: /proc does not list these, yet opens them."""
    try:
        raw = root.read(f"proc/{pid}/status", _STATUS_BYTES)
    except OSError:
        return False
    found = _TGID.search(raw)
    return found is None or int(found[1]) == pid


def pid_inodes(root: HostRoot) -> dict[int, int]:
    """The processes that /proc lists for this user, each with its inode there: a number that is used again has another."""
    try:
        with os.scandir(os.path.join(root.path, "proc")) as entries:
            return {int(entry.name): entry.inode() for entry in entries if entry.name.isdigit()}
    except OSError:
        return {}


def check_numbers(root: HostRoot) -> None:
    """InputError where /proc is that of another pid namespace: its numbers mean other threads to every system call, or none."""
    if root.is_live and root.link("proc/self") != str(os.getpid()):
        raise InputError(
            "/proc",
            "is of another pid namespace than numascope, its numbers mean other processes here: "
            "mount it anew (mount -t proc proc /proc), or start with unshare --mount-proc",
        )


def lives(pid: int) -> bool:
    """Whether some process or thread has this number, whoever may see it (kill(2) with no signal)."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def is_hidden(root: HostRoot, pid: int) -> bool:
    """Whether a process lives of which /proc shows nothing to this user (`hidepid` of proc(5)); False where it is gone.

    EPERM from kill(2) says that it lives; so does success, of one's own process that may not be traced.
    """
    if not root.is_live or stat_of(root, pid) is not None:
        return False
    return lives(pid) and stat_of(root, pid) is None


def stat_of(root: HostRoot, pid: int | str) -> StatRecord | None:
    """`stat` of a process; None where it is gone or hidden."""
    raw = root.read_if_there(f"proc/{pid}/stat", 4096)
    return None if raw is None else parse_stat(raw)


def lives_in(root: HostRoot) -> Callable[[int, int], bool]:
    """Whether a process of that pid and start (clock ticks since boot) is there and no zombie."""

    def lives(pid: int, starttime_ticks: int) -> bool:
        stat = stat_of(root, pid)
        return stat is not None and stat.starttime_ticks == starttime_ticks and stat.state not in "ZX"

    return lives


def speaker_of(root: HostRoot, pid: int) -> int | str:
    """Below /proc, where a process's facts are to be read: its pid, or `PID/task/TID` of a living thread whose leader has exited.

    Of a leader that exited `environ`, `maps` and `cgroup` give nothing, though the process lives on.
    """
    stat = stat_of(root, pid)
    if stat is None or stat.state not in "ZX":
        return pid
    for tid in root.names(f"proc/{pid}/task"):
        one = stat_of(root, f"{pid}/task/{tid}")
        if one is not None and one.state not in "ZX":
            return f"{pid}/task/{tid}"
    return pid


def cmdline_of(root: HostRoot, pid: int | str) -> tuple[str, ...]:
    """The arguments of a process, safe to print."""
    return parse_cmdline(root.read_if_there(f"proc/{pid}/cmdline", _MOST_CMDLINE) or b"")


def environ_of(root: HostRoot, pid: int | str, wanted: tuple[str, ...]) -> dict[str, str] | None:
    """The wanted variables of the environment that a process was started with; None where it may not be read."""
    raw = root.read_if_there(f"proc/{pid}/environ", _MOST_ENVIRON)
    return None if raw is None else parse_environ(raw, wanted)


def status_of(root: HostRoot, pid: int | str) -> dict[str, str]:
    """The lines of `status`; empty where it is gone or hidden."""
    return dict(parse_status(root.read_if_there(f"proc/{pid}/status", 1 << 16) or b""))


def root_of(pid: int) -> HostRoot:
    """The file tree as a process sees it, a container's included; InputError where it may not be read."""
    here = HostRoot()
    try:
        return HostRoot(f"/proc/{speaker_of(here, pid)}/root")
    finally:
        here.close()


def policy_of(root: HostRoot, pid: int | str) -> str | None:
    """The memory policy of a process's main thread (`default`, `bind:0` …); DeniedError where it may not be read."""
    try:
        return parse_policy(root.read(f"proc/{pid}/numa_maps", _POLICY_BYTES))
    except AbsentError:
        return None


def mapped_libraries(root: HostRoot, pid: int | str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Which of the named libraries a process has mapped, by the start of their file names."""
    raw = root.read_if_there(f"proc/{pid}/maps") or b""
    return tuple(name for name in names if f"/{name}".encode() in raw)


def allowed_of_process(root: HostRoot, pid: int) -> CpuSet:
    """The CPUs that any thread of a process may use, by its `status`; empty where it is gone or hidden."""
    found = EMPTY
    for tid in root.names(f"proc/{pid}/task"):
        raw = root.read_if_there(f"proc/{pid}/task/{tid}/status", _STATUS_BYTES)
        found |= (None if raw is None else parse_allowed(raw)) or EMPTY
    return found


def process_clock_ns(pid: int) -> int | None:
    """CPU time of all threads of a process, dead ones included (clock_getcpuclockid(3)); None where it is gone."""
    try:
        return time.clock_gettime_ns(~pid << 3 | 2)
    except OSError:
        return None


class TaskFiles:
    """The threads of one process through a kept descriptor of its `task` directory, which a reused pid cannot reach."""

    def __init__(self, root: HostRoot, pid: int) -> None:
        self.pid = pid
        try:
            self._directory = os.open(os.path.join(root.path, f"proc/{pid}/task"), os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise as_host_error(error, f"proc/{pid}/task") from error

    def close(self) -> None:
        """Gives the descriptor back."""
        os.close(self._directory)

    def tids(self) -> list[int]:
        """The threads now; empty once the process is gone."""
        try:
            return [int(name) for name in os.listdir(self._directory)]
        except OSError:
            return []

    def count(self) -> int:
        """How many threads there are, from the directory's link count (`proc_task_getattr` of fs/proc/base.c); 0 once gone."""
        try:
            return max(0, os.fstat(self._directory).st_nlink - 2)
        except OSError:
            return 0

    def has(self, tid: int) -> bool:
        """Whether a thread is there; listing threads while others end may leave it out (`next_tid` of fs/proc/base.c)."""
        return os.access(str(tid), os.F_OK, dir_fd=self._directory)

    def open_schedstat(self, tid: int) -> int:
        """A descriptor to keep; OSError as open(2)."""
        return os.open(f"{tid}/schedstat", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._directory)

    def read(self, tid: int, name: str, limit: int = _SMALL) -> bytes:
        """A small file of a thread, whole; AbsentError once it is gone, DeniedError."""
        try:
            descriptor = os.open(f"{tid}/{name}", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._directory)
            try:
                return os.read(descriptor, limit)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise as_host_error(error, f"proc/{self.pid}/task/{tid}/{name}") from error

    def stat(self, tid: int) -> StatRecord | None:
        """`stat` of a thread; AbsentError once it is gone."""
        return parse_stat(self.read(tid, "stat"))

    def identity(self, tid: int) -> Identity | None:
        """Who a thread is; AbsentError once it is gone."""
        return parse_identity(self.read(tid, "stat"))

    def allowed_mask(self, tid: int) -> CpuSet | None:
        """The thread's mask with its offline CPUs, from `status`; AbsentError once it is gone."""
        return parse_allowed(self.read(tid, "status", _STATUS_BYTES))

    def cmdline(self, tid: int) -> tuple[str, ...]:
        """The arguments of the thread's process, asked of this very thread; AbsentError once it is gone."""
        return parse_cmdline(self.read(tid, "cmdline", _MOST_CMDLINE))

    def counters(self, tid: int) -> SchedRecord:
        """The thread's migrations, switches and NUMA faults, as far as this kernel gives them; AbsentError once it is gone."""
        try:
            return parse_sched(self.read(tid, "sched"))
        except AbsentError:
            # CONFIG_SCHED_DEBUG may be off: then the file is not there, and the thread may be all the same.
            return parse_switches(self.read(tid, "status", _STATUS_BYTES))
        except OSError:
            return UNKNOWN
