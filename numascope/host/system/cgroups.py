"""Where the cgroups of a process lie, in v1, v2, both at once, and the old /dev/cpuset; and which CPUs and nodes its cpuset allows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple

from numascope.cpuset import CpuSet
from numascope.host import parse
from numascope.host.root import HostRoot

Kind = Literal["v1", "v2", "noprefix"]
"""Of a mounted hierarchy; `noprefix` is a cpuset whose files have no `cpuset.` before their names."""

_FILES: Final[dict[Kind, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "v2": (("cpuset.cpus.effective",), ("cpuset.mems.effective",)),
    "v1": (("cpuset.effective_cpus", "cpuset.cpus"), ("cpuset.effective_mems", "cpuset.mems")),
    "noprefix": (("effective_cpus", "cpus"), ("effective_mems", "mems")),
}
"""The files of CPUs and of nodes in a cpuset directory, the best first, by the kind of its mount."""

_OLD_CPUSETS: Final[tuple[tuple[Kind, str], ...]] = (("v1", "/dev/cpuset"), ("noprefix", "/dev/cpuset"))
_UNIFIED: Final[tuple[tuple[Kind, str], ...]] = (("v2", "/sys/fs/cgroup"), ("v2", "/sys/fs/cgroup/unified"))


class CpusetLimits(NamedTuple):
    """What a cpuset allows; None where no file says so, `source` names the file that gave the CPUs (else the nodes)."""

    cpus: CpuSet | None
    mems: CpuSet | None
    source: str | None


NO_LIMITS: Final = CpusetLimits(None, None, None)


class Mount(NamedTuple):
    """A mounted hierarchy: the part of it that is mounted (`root`), and where (`point`)."""

    kind: Kind
    root: str
    point: str


class Place(NamedTuple):
    """Where /proc/PID/cgroup says that a process is in a hierarchy; `is_v2` None: it does not say in which."""

    is_v2: bool | None
    path: str


class Directory(NamedTuple):
    """A cgroup as this system shows it: the steps (`below`) from a mount point down to it."""

    kind: Kind
    point: str
    below: tuple[str, ...]

    def upward(self) -> Iterator[str]:
        """Its own path, and those of all above it, up to the mount point."""
        for steps in range(len(self.below), -1, -1):
            yield "/".join([self.point.rstrip("/"), *self.below[:steps]])


def cpuset_of(root: HostRoot, pid: int | str | None) -> CpusetLimits:
    """The cpuset of a process, or of whoever reads where `pid` is None (in a copied root: of who copied it)."""
    who = "self" if pid is None else str(pid)
    places = places_of(root, who, "cpuset") or _place_by_cpuset(root, who)
    if not places:
        return NO_LIMITS
    mounts = mounts_of(root, "cpuset")
    found = (_nearest(root, directory) for place in places for directory in directories(mounts, place))
    return next((limits for limits in found if limits != NO_LIMITS), NO_LIMITS)


def limits_of_reader(root: HostRoot) -> CpusetLimits:
    """What this process may use on the live machine (sched_getaffinity(2), /proc/self/status), else what the copied root's cpuset says."""
    if not root.is_live:
        return cpuset_of(root, None)
    raw = root.read_if_there("proc/self/status") or b""
    lines = [line for line in raw.splitlines() if line.startswith(b"Mems_allowed_list:")]
    mems = parse.id_list(lines[0].partition(b":")[2]) if lines else None
    return CpusetLimits(CpuSet.of(os.sched_getaffinity(0)), mems, "sched_getaffinity")


def places_of(root: HostRoot, who: str, controller: str) -> list[Place]:
    """The hierarchies that may hold the process's cgroup of a controller (cgroups(7)); v1 outranks v2 where both are mounted."""
    old, unified = [], []
    for line in _text(root.read_if_there(f"proc/{who}/cgroup")).splitlines():
        number, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if not colon or not path.startswith("/"):
            continue
        if controller in controllers.split(","):
            old.append(Place(is_v2=False, path=path))
        elif number == "0" and not controllers:
            unified.append(Place(is_v2=True, path=path))
    return [*old, *unified]


def _place_by_cpuset(root: HostRoot, who: str) -> list[Place]:
    """What /proc/PID/cpuset says, where /proc/PID/cgroup says nothing."""
    path = _text(root.read_if_there(f"proc/{who}/cpuset")).strip()
    return [Place(None, path)] if path.startswith("/") else []


def mounts_of(root: HostRoot, controller: str) -> list[Mount]:
    """The mounted hierarchies that may have a controller, from mountinfo, else from mounts, else the usual places."""
    mounts = _told(_from_mountinfo(line, controller) for line in _lines(root, "proc/self/mountinfo"))
    if not mounts:
        lines = _lines(root, "proc/self/mounts") or _lines(root, "proc/mounts")
        mounts = _told(_from_mounts(line, controller) for line in lines)
    if mounts:
        return mounts
    usual: list[tuple[Kind, str]] = [("v1", f"/sys/fs/cgroup/{controller}")]
    if controller == "cpuset":
        usual += _OLD_CPUSETS
    return [Mount(kind, "/", point) for kind, point in [*usual, *_UNIFIED]]


def _told(mounts: Iterable[Mount | None]) -> list[Mount]:
    return [mount for mount in mounts if mount is not None]


def _from_mountinfo(line: bytes, controller: str) -> Mount | None:
    """One line of /proc/PID/mountinfo (Documentation/filesystems/proc.rst §3.5)."""
    before, _, after = line.partition(b" - ")
    if not after.startswith((b"cgroup", b"cpuset")):  # a host of many containers has thousands of other mounts
        return None
    left, right = before.split(), after.split()
    if len(left) < 5 or len(right) < 3:
        return None
    kind = _kind(right[0], right[2], controller)
    return Mount(kind, _path(left[3]), _path(left[4])) if kind else None


def _from_mounts(line: bytes, controller: str) -> Mount | None:
    """One line of /proc/mounts, which does not say which part of a hierarchy is mounted."""
    fields = line.split()
    if len(fields) < 4:
        return None
    kind = _kind(fields[2], fields[3], controller)
    return Mount(kind, "/", _path(fields[1])) if kind else None


def _kind(filesystem: bytes, options: bytes, controller: str) -> Kind | None:
    if filesystem == b"cgroup2":
        return "v2"
    if filesystem == b"cpuset":
        return "noprefix" if controller == "cpuset" else None
    listed = options.split(b",")
    if filesystem != b"cgroup" or controller.encode() not in listed:
        return None
    return "noprefix" if b"noprefix" in listed else "v1"


def directories(mounts: Iterable[Mount], place: Place) -> Iterator[Directory]:
    """The directories under which a place can be seen: none where what is mounted is another part of its hierarchy."""
    parts = tuple(part for part in place.path.split("/") if part)
    for mount in mounts:
        mounted = tuple(part for part in mount.root.split("/") if part)
        is_its_kind = place.is_v2 is None or place.is_v2 == (mount.kind == "v2")
        if is_its_kind and ".." not in parts and parts[: len(mounted)] == mounted:
            yield Directory(mount.kind, mount.point, parts[len(mounted) :])


def _nearest(root: HostRoot, directory: Directory) -> CpusetLimits:
    """Of the nearest directory from the process's own upward that has content: a v2 child may lack the controller."""
    cpu_files, node_files = _FILES[directory.kind]
    for path in directory.upward():
        cpus, cpu_file = _first_set(root, path, cpu_files)
        mems, node_file = _first_set(root, path, node_files)
        if cpus is not None or mems is not None:
            return CpusetLimits(cpus, mems, cpu_file or node_file)
    return NO_LIMITS


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
