"""Which CPUs and memory nodes a process may use by its cpuset, in cgroup v1, v2, both at once, and the old /dev/cpuset."""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.host import parse
from numascope.host.root import HostRoot

_FILES: Final = {
    "v2": (("cpuset.cpus.effective",), ("cpuset.mems.effective",)),
    "v1": (("cpuset.effective_cpus", "cpuset.cpus"), ("cpuset.effective_mems", "cpuset.mems")),
    "noprefix": (("effective_cpus", "cpus"), ("effective_mems", "mems")),
}
"""The files of CPUs and of nodes in a cpuset directory, the best first, by the kind of its mount."""

_USUAL_MOUNTS: Final = (
    ("v1", "/sys/fs/cgroup/cpuset"),
    ("v1", "/dev/cpuset"),
    ("noprefix", "/dev/cpuset"),
    ("v2", "/sys/fs/cgroup"),
    ("v2", "/sys/fs/cgroup/unified"),
)


class CpusetLimits(NamedTuple):
    """What a cpuset allows; None where no file says so, `source` names the file that gave the CPUs (else the nodes)."""

    cpus: CpuSet | None
    mems: CpuSet | None
    source: str | None


NO_LIMITS: Final = CpusetLimits(None, None, None)


class _Mount(NamedTuple):
    """A mounted hierarchy that can hold cpusets: the part of it that is mounted, and where."""

    kind: str
    root: str
    point: str


def cpuset_of(root: HostRoot, pid: int | None) -> CpusetLimits:
    """The cpuset of a process, or of whoever reads where `pid` is None (in a copied root: of who copied it)."""
    who = "self" if pid is None else str(pid)
    places = _places(root, who)
    if not places:
        return NO_LIMITS
    mounts = _mounts(root)
    for is_v2, path in places:
        for mount in mounts:
            if is_v2 is None or is_v2 == (mount.kind == "v2"):
                limits = _walk_up(root, mount, path)
                if limits != NO_LIMITS:
                    return limits
    return NO_LIMITS


def limits_of_reader(root: HostRoot) -> CpusetLimits:
    """What this process may use on the live machine (sched_getaffinity(2), /proc/self/status), else what the copied root's cpuset says."""
    if not root.is_live:
        return cpuset_of(root, None)
    raw = root.read_if_there("proc/self/status") or b""
    lines = [line for line in raw.splitlines() if line.startswith(b"Mems_allowed_list:")]
    mems = parse.id_list(lines[0].partition(b":")[2]) if lines else None
    return CpusetLimits(CpuSet.of(os.sched_getaffinity(0)), mems, "sched_getaffinity")


def _places(root: HostRoot, who: str) -> list[tuple[bool | None, str]]:
    """(is v2, path in the hierarchy) of each hierarchy that may hold the process's cpuset; v1 outranks v2 where both are mounted."""
    old, unified = [], []
    for line in _text(root.read_if_there(f"proc/{who}/cgroup")).splitlines():
        number, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if not colon or not path.startswith("/"):
            continue
        if "cpuset" in controllers.split(","):
            old.append((False, path))
        elif number == "0" and not controllers:
            unified.append((True, path))
    if old or unified:
        return [*old, *unified]
    path = _text(root.read_if_there(f"proc/{who}/cpuset")).strip()
    return [(None, path)] if path.startswith("/") else []


def _mounts(root: HostRoot) -> list[_Mount]:
    """The mounted hierarchies, from mountinfo, else from mounts, else the usual places."""
    found = [_from_mountinfo(line) for line in _lines(root, "proc/self/mountinfo")]
    if not any(found):
        lines = _lines(root, "proc/self/mounts") or _lines(root, "proc/mounts")
        found = [_from_mounts(line) for line in lines]
    mounts = [mount for mount in found if mount is not None]
    return mounts or [_Mount(kind, "/", point) for kind, point in _USUAL_MOUNTS]


def _from_mountinfo(line: bytes) -> _Mount | None:
    """One line of /proc/PID/mountinfo (Documentation/filesystems/proc.rst §3.5)."""
    before, dash, after = line.partition(b" - ")
    left, right = before.split(), after.split()
    if not dash or len(left) < 5 or len(right) < 3:
        return None
    kind = _kind(right[0], right[2])
    return _Mount(kind, _path(left[3]), _path(left[4])) if kind else None


def _from_mounts(line: bytes) -> _Mount | None:
    """One line of /proc/mounts, which does not say which part of a hierarchy is mounted."""
    fields = line.split()
    if len(fields) < 4:
        return None
    kind = _kind(fields[2], fields[3])
    return _Mount(kind, "/", _path(fields[1])) if kind else None


def _kind(filesystem: bytes, options: bytes) -> str | None:
    if filesystem == b"cgroup2":
        return "v2"
    if filesystem == b"cpuset":
        return "noprefix"
    listed = options.split(b",")
    if filesystem != b"cgroup" or b"cpuset" not in listed:
        return None
    return "noprefix" if b"noprefix" in listed else "v1"


def _walk_up(root: HostRoot, mount: _Mount, path: str) -> CpusetLimits:
    """The nearest directory from the process's own up to the mount that has content: a v2 child may lack the controller."""
    parts = [part for part in path.split("/") if part]
    mounted = [part for part in mount.root.split("/") if part]
    if ".." in parts or parts[: len(mounted)] != mounted:
        return NO_LIMITS
    parts = parts[len(mounted) :]
    cpu_files, node_files = _FILES[mount.kind]
    while True:
        directory = "/".join([mount.point.rstrip("/"), *parts])
        cpus, cpu_file = _first_set(root, directory, cpu_files)
        mems, node_file = _first_set(root, directory, node_files)
        if cpus is not None or mems is not None:
            return CpusetLimits(cpus, mems, cpu_file or node_file)
        if not parts:
            return NO_LIMITS
        parts.pop()


def _first_set(root: HostRoot, directory: str, files: tuple[str, ...]) -> tuple[CpuSet | None, str | None]:
    for name in files:
        raw = root.read_if_there(f"{directory}/{name}")
        found = None if raw is None else parse.id_list(raw)
        if found:
            return found, f"{directory}/{name}"
    return None, None


def _lines(root: HostRoot, path: str) -> list[bytes]:
    return (root.read_if_there(path) or b"").split(b"\0", 1)[0].splitlines()


def _text(raw: bytes | None) -> str:
    return "" if raw is None else os.fsdecode(raw.split(b"\0", 1)[0])


def _path(field: bytes) -> str:
    return os.fsdecode(parse.unescaped(field))
