"""Another machine's /sys and /proc out of an archive, held in memory: nothing is unpacked to disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from itertools import islice
from typing import Final, TypeAlias

from numascope.errors import InputError
from numascope.host.archive.inflate import Inflated
from numascope.host.archive.tar import Member, read_members
from numascope.host.root import MOST_BYTES, DeniedError, HostRoot, as_host_error
from numascope.host.system.lists import CPU_DIRECTORY
from numascope.host.text import safe_text

_MOST_MEMORY_BYTES: Final = 256 << 20
"""For all that is kept: a whole copy of the /sys and /proc of 2,048 CPUs needs some 130 MiB."""

_DIRECTORY_BYTES: Final = 300
_FILE_BYTES: Final = 130
"""What a directory and a file or link cost in memory besides their name and contents."""

_MOST_ELSEWHERE_BYTES: Final = 1 << 16
"""Outside sys/ and proc/ only small files count: cpusets are mounted anywhere, logs are large."""

_MOST_DEPTH: Final = 64
_MOST_NAME: Final = 255
_MOST_PATH: Final = 4096
"""A name and a path of Linux (NAME_MAX, PATH_MAX); the deepest path of /sys has some 20 names, an archive adds a few."""

_MOST_LINKS: Final = 40
"""As many links as the kernel follows in one path (path_resolution(7))."""

_MOST_QUOTED: Final = 40
_MOST_LISTED: Final = 12
_MOST_MACHINES: Final = 1000

_Directory: TypeAlias = "dict[str, _Node]"
_Node: TypeAlias = "_Directory | bytes | str"
"""A directory, a file's bytes, or where a symbolic link points."""


class ArchiveRoot(HostRoot):
    """A machine's files in memory, read as HostRoot reads a directory: links are resolved inside it, and never lead out."""

    def __init__(self, path: str, top: _Directory) -> None:
        # There is no directory to open: HostRoot's own beginning is not wanted.
        self.path = path
        self.is_live = False
        self._top = top

    def close(self) -> None:
        """Lets the files go."""
        self._top = {}

    def read(self, path: str, limit: int = MOST_BYTES) -> bytes:
        """The file's bytes, at most `limit`; AbsentError, DeniedError."""
        try:
            node = self._find(path)
        except OSError as error:
            raise as_host_error(error, path) from error
        if not isinstance(node, bytes):
            raise DeniedError(errno.EACCES, "not a regular file", path)
        return node[:limit]

    def read_as(self, path: str, uid: int | None, limit: int) -> bytes:
        """DeniedError always: whom a file in an archive belonged to gives nobody a right to it."""
        del uid, limit
        raise DeniedError(errno.EACCES, "an archive has no users", path)

    def names(self, path: str) -> list[str]:
        """The names in a directory, sorted; empty where it is absent."""
        try:
            node = self._find(path)
        except OSError:
            return []
        return sorted(node) if isinstance(node, dict) else []

    def link(self, path: str) -> str | None:
        """Where a symbolic link points, as it is written; None where there is none."""
        parent, _, name = path.strip("/").rpartition("/")
        try:
            directory = self._find(parent)
        except OSError:
            return None
        node = directory.get(name) if isinstance(directory, dict) else None
        return node if isinstance(node, str) else None

    def _find(self, path: str) -> _Directory | bytes:
        """The directory or file at the end of a path and of the links on it; OSError."""
        todo = path.split("/")[::-1]
        stack = [self._top]
        links = 0
        while todo:
            name = todo.pop()
            if name in ("", "."):
                continue
            if name == "..":
                if len(stack) > 1:
                    stack.pop()
                continue
            node = stack[-1].get(name)
            if isinstance(node, dict):
                stack.append(node)
            elif isinstance(node, str):
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                if node.startswith("/"):
                    del stack[1:]
                todo += node.split("/")[::-1]
            elif node is None:
                raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
            elif any(name not in ("", ".") for name in todo):
                raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            else:
                return node
        return stack[-1]


def open_archive(path: str, inside: str | None = None) -> ArchiveRoot:
    """The machine in a tar archive, packed by gzip, bzip2, xz or not at all; `inside` names its directory where there are several.

    The machine is the directory that has `sys/devices/system/cpu` with a CPU below it, wherever it lies in the archive. Of
    `inside`, any run of whole names in its path is enough. InputError where the file is no such archive, is damaged or hostile,
    holds no machine, or more than one.
    """
    stream = Inflated(path)
    tree = _Tree(stream)
    try:
        for member in read_members(stream, _is_wanted):
            tree.add(member)
    finally:
        stream.close()
    machines = dict(islice(_machines(tree.top, ()), _MOST_MACHINES))
    if not machines:
        raise stream.refuse("holds no machine: no directory sys/devices/system/cpu with a CPU in it, at any depth")
    chosen = list(machines) if inside is None else [one for one in machines if _lies_in(one, inside)]
    if len(chosen) == 1:
        name = "/".join(chosen[0])
        source = stream.path if len(machines) == 1 else f"{stream.path}:{safe_text(name)}"
        return ArchiveRoot(source, machines[chosen[0]])
    if not chosen:
        raise stream.refuse(f"holds no machine in {_tail(inside or '')}: it has {_listed(list(machines))}")
    raise stream.refuse(f"holds several machines: choose one with --inside DIR, out of {_listed(chosen)}")


def open_packed(data: bytes, name: str) -> ArchiveRoot:
    """The machine in an archive that another file holds; `name` is that file's, as errors and `source` tell it."""
    descriptor = os.memfd_create("numascope-capture", os.MFD_CLOEXEC)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(data)
        root = open_archive(f"/proc/self/fd/{descriptor}")
    except InputError as error:
        raise InputError(name, f"its copy of the machine {error.problem}") from error
    finally:
        os.close(descriptor)
    root.path = name
    return root


class _Tree:
    """All that is kept of an archive, bounded in number and size."""

    def __init__(self, stream: Inflated) -> None:
        self.top: _Directory = {}
        self._stream = stream
        self._memory_bytes = 0
        self._last: tuple[str, _Directory | None] = ("", self.top)

    def add(self, member: Member) -> None:
        """Puts a member in its place; a name that leads out, or through a file or link, has none, and a directory is never replaced."""
        if member.kind == "directory":
            self._directory(member.name)
            return
        parent, _, name = member.name.rpartition("/")
        directory = self._directory(parent)
        if directory is None or name in ("", ".", "..") or len(name) > _MOST_NAME:
            return
        node: bytes | str | None = member.data
        if member.kind != "file":
            node = member.target if member.kind == "symlink" else self._hard_linked(member.target)
        if node is None or len(member.target) > _MOST_PATH or isinstance(directory.get(name), dict):
            return
        self._charge(_FILE_BYTES + len(name) + len(member.data) + len(member.target))
        directory[name] = node

    def _directory(self, path: str) -> _Directory | None:
        """The directory of that path, made where it is missing; members of one directory mostly follow each other."""
        if path == self._last[0]:
            return self._last[1]
        found = self._walk(path, make=True)
        self._last = path, found
        return found

    def _walk(self, path: str, *, make: bool) -> _Directory | None:
        parts = path.split("/")
        if ".." in parts or len(path) > _MOST_PATH or len(parts) > _MOST_DEPTH:
            return None
        here = self.top
        for part in parts:
            if part in ("", "."):
                continue
            below = here.get(part)
            if below is None and make and len(part) <= _MOST_NAME:
                self._charge(_DIRECTORY_BYTES + len(part))
                below = here[part] = {}
            if not isinstance(below, dict):
                return None
            here = below
        return here

    def _hard_linked(self, target: str) -> bytes | None:
        """The bytes of the member that a hard link names, if it came before."""
        parent, _, name = target.rpartition("/")
        directory = self._walk(parent, make=False)
        node = None if directory is None else directory.get(name)
        return node if isinstance(node, bytes) else None

    def _charge(self, size_bytes: int) -> None:
        self._memory_bytes += size_bytes
        if self._memory_bytes > _MOST_MEMORY_BYTES:
            most = f"{_MOST_MEMORY_BYTES >> 20} MiB of memory"
            raise self._stream.refuse(f"holds more than fits into {most}: pack only sys/ and proc/ of that machine")


def _is_wanted(name: str, size: int) -> bool:
    """By where it lies and how large it is: whatever is read of /sys and /proc is read in one piece."""
    if size <= _MOST_ELSEWHERE_BYTES:
        return True
    return size <= MOST_BYTES and ("/proc/" in (rooted := f"/{name}") or "/sys/" in rooted)


def _machines(here: _Directory, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], _Directory]]:
    """The directories that hold the CPUs of a machine, by their path; what lies below one is part of it."""
    cpus: _Node | None = here
    for name in CPU_DIRECTORY.split("/"):
        cpus = cpus.get(name) if isinstance(cpus, dict) else None
    if isinstance(cpus, dict) and any(name[:3] == "cpu" and name[3:].isdecimal() for name in cpus):
        yield path, here
        return
    for name, below in here.items():
        if isinstance(below, dict):
            yield from _machines(below, (*path, name))


def _lies_in(path: tuple[str, ...], inside: str) -> bool:
    """Whether a path is meant: by any run of its names, as they are or as errors spell them."""
    wanted = tuple(part for part in inside.split("/") if part not in ("", "."))
    spelled = tuple(map(safe_text, path))
    runs = range(len(path) - len(wanted) + 1)
    return any(wanted in (names[at : at + len(wanted)] for names in (path, spelled)) for at in runs)


def _listed(machines: list[tuple[str, ...]]) -> str:
    names = ", ".join(_tail("/".join(path) or ".") for path in machines[:_MOST_LISTED])
    return names if len(machines) <= _MOST_LISTED else f"{names}, and more"


def _tail(name: str) -> str:
    """The end of a name, which tells more than its beginning."""
    safe = safe_text(name)
    return safe if len(safe) <= _MOST_QUOTED else f"…{safe[-_MOST_QUOTED:]}"
