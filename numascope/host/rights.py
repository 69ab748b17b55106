"""What this process may read of another and set for it: found by harmless reads; whether masks may be set follows from ids and capabilities."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, NamedTuple

from numascope.errors import TargetGoneError
from numascope.host import procfs
from numascope.host.root import AbsentError, HostRoot
from numascope.host.text import safe_text

CAP_SYS_PTRACE: Final = 19
CAP_SYS_NICE: Final = 23
"""Numbers of capabilities (include/uapi/linux/capability.h)."""

_INITIAL_USER_NAMESPACE: Final = "user:[4026531837]"
_INITIAL_PID_NAMESPACE: Final = "pid:[4026531836]"
"""PROC_USER_INIT_INO and PROC_PID_INIT_INO of include/linux/proc_ns.h, as links of namespaces(7) show them."""

_MOVE_PAGES: Final = {"x86_64": 279, "aarch64": 239}
"""Number of move_pages(2) by architecture."""

_OVERFLOW_UID: Final = 65534
"""What a user namespace shows for a user that it has no number for (user_namespaces(7))."""

_POLICY_BYTES: Final = 40
_NO_RUNS: Final = b"0 0 0"
_CONTAINER_WORDS: Final = ("docker", "kubepods", "containerd", "libpod", "lxc", "crio")


class Own(NamedTuple):
    """Who asks; None is unknown. `seccomp` is the mode of proc_pid_status(5), `hidepid` the option of /proc where it hides."""

    uid: int
    capabilities: int | None
    user_namespace: str | None
    pid_namespace: str | None
    seccomp: int | None
    container: str | None
    hidepid: str | None

    def has(self, capability: int) -> bool | None:
        """Whether a capability is in effect."""
        return None if self.capabilities is None else bool(self.capabilities >> capability & 1)

    @property
    def in_initial_user_namespace(self) -> bool | None:
        """Whether its capabilities are those of the machine, not of a container's own user namespace."""
        return None if self.user_namespace is None else self.user_namespace == _INITIAL_USER_NAMESPACE

    @property
    def in_initial_pid_namespace(self) -> bool | None:
        """Whether it sees every process of the machine."""
        return None if self.pid_namespace is None else self.pid_namespace == _INITIAL_PID_NAMESPACE


class Access(NamedTuple):
    """Something to read or to change: True it can be, False the kernel refuses, None this kernel has no such thing or it is unknown."""

    what: str
    can: bool | None
    reason: str = ""


class Target(NamedTuple):
    """A process, with what was found of it. `dumpable` and `uid` are None where unknown; `pids` are its numbers, outermost namespace first."""

    pid: int
    comm: str
    uid: int | None
    dumpable: bool | None
    hidden: bool
    pids: tuple[int, ...]
    reads: tuple[Access, ...]
    changes: tuple[Access, ...]

    @property
    def complete(self) -> bool:
        """Whether all of it can be read and set."""
        return all(one.can for one in (*self.reads, *self.changes))


def read_own(root: HostRoot) -> Own:
    """The rights and the surroundings of this process."""
    status = procfs.status_of(root, os.getpid())
    seccomp = status.get("Seccomp", "")
    return Own(
        uid=os.geteuid(),
        capabilities=_hexadecimal(status.get("CapEff", "")),
        user_namespace=root.link("proc/self/ns/user"),
        pid_namespace=root.link("proc/self/ns/pid"),
        seccomp=int(seccomp) if seccomp.isdecimal() else None,
        container=_container(root),
        hidepid=_hidepid(root),
    )


def _hexadecimal(text: str) -> int | None:
    try:
        return int(text, 16)
    except ValueError:
        return None


def _container(root: HostRoot) -> str | None:
    """What hints at a container, in words; None where nothing does."""
    if ".dockerenv" in root.names(""):
        return "/.dockerenv is there"
    if ".containerenv" in root.names("run"):
        return "/run/.containerenv is there"
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "KUBERNETES_SERVICE_HOST is set"
    groups = (root.read_if_there("proc/self/cgroup", 1 << 16) or b"").decode("utf-8", "replace")
    word = next((one for one in _CONTAINER_WORDS if one in groups), None)
    return None if word is None else f'our cgroup is named "{word}"'


def _hidepid(root: HostRoot) -> str | None:
    """The `hidepid` option of /proc where it hides something (proc(5))."""
    for line in (root.read_if_there("proc/self/mounts") or b"").decode("utf-8", "replace").splitlines():
        fields = line.split()
        if len(fields) > 3 and fields[1:3] == ["/proc", "proc"]:
            options = dict(option.partition("=")[::2] for option in fields[3].split(","))
            value = options.get("hidepid", "0")
            return None if value in ("0", "off") else safe_text(value)
    return None


@contextmanager
def process_of_ours() -> Iterator[int]:
    """A waiting child to try things on: on itself a process may do more than on others of its user (`__ptrace_may_access` of kernel/ptrace.c)."""
    with subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL) as child:  # noqa: S607  (wherever it is)
        try:
            yield child.pid
        finally:
            child.kill()


def probe(root: HostRoot, own: Own, pid: int) -> Target:
    """Tries what numascope reads of a live process; TargetGoneError where there is no such process, or it ended meanwhile."""
    stat = procfs.stat_of(root, pid)
    if stat is None:
        return _without_files(own, pid)
    status = procfs.status_of(root, pid)
    if status.get("Tgid", str(pid)) != str(pid):
        raise TargetGoneError(f"{pid} is a thread of process {status['Tgid']}: give {status['Tgid']}")
    thread = _live_thread(root, pid) if stat.state in "ZX" else pid
    if thread is None:
        raise TargetGoneError(f"{pid} has ended: its parent has not asked for its exit status yet")
    if status and "VmSize" not in status and thread == pid:
        raise TargetGoneError(f"{pid} is a kernel thread or has just ended: give the pid of a process")
    reads = (*_try_files(root, f"proc/{pid}/task/{thread}"), _try_affinity(thread), _try_pages(thread))
    owners = _owners(own, status.get("Uid", ""))
    changes = (_may_set(own, owners[:2], root.link(f"proc/{pid}/ns/user")), reads[-1])
    now = procfs.stat_of(root, pid)
    if now is None or now.starttime_ticks != stat.starttime_ticks:
        raise TargetGoneError(f"{pid} ended while it was looked at")
    return Target(
        pid=pid,
        comm=stat.comm,
        uid=owners[0] if owners else None,
        dumpable=_dumpable(root, pid, owners),
        hidden=False,
        pids=tuple(int(word) for word in status.get("NSpid", "").split()),
        reads=reads,
        changes=changes,
    )


def _owners(own: Own, uids: str) -> list[int]:
    """Real, effective, saved and file-system uid; empty where our user namespace has no number for one of them."""
    found = [int(word) for word in uids.split()]
    return [] if _OVERFLOW_UID in found and own.in_initial_user_namespace is False else found


def _live_thread(root: HostRoot, pid: int) -> int | None:
    """A thread of a process whose main thread has exited: it answers for the process, which has not ended."""
    tids = sorted(int(name) for name in root.names(f"proc/{pid}/task") if int(name) != pid)
    return tids[0] if tids else None


def _without_files(own: Own, pid: int) -> Target:
    """A process that /proc does not show: hidden, where kill(2) knows it."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        ours = False
    except (ProcessLookupError, OverflowError):
        raise TargetGoneError(f"no process {pid} here") from None
    else:
        ours = True
    reads = tuple(Access(name, can=False, reason="hidden") for name in (*_FILES, *_LINKS, "fd"))
    affinity = _try_affinity(pid)
    can = bool(own.has(CAP_SYS_NICE)) or (None if ours else False)
    changes = (Access("affinity", can, "hidden, so whose it is cannot be told"), pages := _try_pages(pid))
    return Target(pid, "?", None, None, hidden=True, pids=(), reads=(*reads, affinity, pages), changes=changes)


_FILES: Final = {
    "stat": 4096,
    "status": 4096,
    "schedstat": 128,
    "sched": 4096,
    "cmdline": 1,
    "cgroup": 4096,
    "environ": 1,
    "maps": 1,
    "numa_maps": _POLICY_BYTES,
}
"""Files of a process that numascope reads, and how many bytes are enough to know whether it may."""

_LINKS: Final = ("exe", "root")


def _try_files(root: HostRoot, place: str) -> tuple[Access, ...]:
    base = os.path.join(root.path, place)
    found = [_tried(name, partial(root.read, f"{place}/{name}", limit)) for name, limit in _FILES.items()]
    if (root.read_if_there(f"{place}/schedstat", 128) or b"").strip() == _NO_RUNS:
        nothing = Access("schedstat", None, "counts nothing: a kernel without CONFIG_SCHED_INFO")
        found = [nothing if one.what == "schedstat" else one for one in found]
    found += [_tried(name, partial(os.readlink, f"{base}/{name}")) for name in _LINKS]
    return (*found, _tried("fd", partial(os.listdir, f"{base}/fd")))


def _tried(what: str, act: Callable[[], object]) -> Access:
    try:
        act()
    except OSError as error:
        absent = isinstance(error, AbsentError) or error.errno in (errno.ENOENT, errno.ESRCH, errno.ENOSYS)
        said = error.strerror or "refused"
        return Access(what, None if absent else False, f"not there: {said}" if absent else said)
    return Access(what, can=True)


def _try_affinity(pid: int) -> Access:
    return _tried("affinity", partial(os.sched_getaffinity, pid))


def _try_pages(pid: int) -> Access:
    """Asks move_pages(2) of no page at all: nothing is looked at and nothing moves, but the right to look and to move is checked."""
    number = _MOVE_PAGES.get(platform.machine())
    if number is None:
        return Access("pages", None, f"not tried on {platform.machine()}")

    def ask() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        nothing = ctypes.c_void_p(None)
        arguments = (ctypes.c_long(number), ctypes.c_long(pid), ctypes.c_ulong(0), nothing, nothing, nothing)
        if libc.syscall(*arguments, ctypes.c_long(0)) < 0:
            number_of_error = ctypes.get_errno()
            raise OSError(number_of_error, os.strerror(number_of_error))

    return _tried("pages", ask)


def _may_set(own: Own, owners: list[int], user_namespace: str | None) -> Access:
    """Whether sched_setaffinity(2) would be allowed: our effective uid is its real or effective one, or CAP_SYS_NICE in its user namespace."""
    what = "affinity"
    if not owners:
        return Access(what, None, "whose it is cannot be told")
    if own.uid in owners:
        return Access(what, can=True, reason="same user")
    capable = own.has(CAP_SYS_NICE)
    if not capable:
        reason = f"belongs to uid {owners[0]}, and CAP_SYS_NICE is not in effect"
        return Access(what, False if capable is not None else None, reason)
    if own.in_initial_user_namespace or (user_namespace is not None and user_namespace == own.user_namespace):
        return Access(what, can=True, reason="CAP_SYS_NICE")
    return Access(what, None, "our CAP_SYS_NICE holds in our own user namespace, which may not be that of the process")


def _dumpable(root: HostRoot, pid: int, owners: list[int]) -> bool | None:
    """Files of a process belong to root where it is not dumpable (proc_pid(5)); of a process of root that tells nothing."""
    if len(owners) < 2 or owners[1] == 0:
        return None
    try:
        return os.stat(os.path.join(root.path, f"proc/{pid}/stat")).st_uid == owners[1]
    except OSError:
        return None
