"""Opening a path below a directory that nobody vouches for: links are resolved inside it, and only regular files are opened."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from typing import Final

_MOST_LINKS: Final = 40
_NR_OPENAT2: Final = 437
"""The number of openat2(2) on every architecture (include/uapi/asm-generic/unistd.h)."""
_RESOLVE_NO_MAGICLINKS: Final = 0x02
_RESOLVE_IN_ROOT: Final = 0x10
_NOT_HERE: Final = frozenset({errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.EAGAIN, errno.ELOOP, errno.EXDEV})
"""Errors after which the walk by hand tells: a kernel before 5.6, a filter, a rename meanwhile, too many links."""


class _OpenHow(ctypes.Structure):
    """`struct open_how` of include/uapi/linux/openat2.h."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_syscall = ctypes.CDLL(None, use_errno=True).syscall
_how = _OpenHow(os.O_PATH | os.O_CLOEXEC, 0, _RESOLVE_IN_ROOT | _RESOLVE_NO_MAGICLINKS)


def open_below(root: int, path: str, *, directory: bool) -> int:
    """A readable descriptor of a regular file, or of a directory, below the descriptor `root`; OSError."""
    found = _find(root, path)
    try:
        return _reopen(found, directory=directory)
    finally:
        os.close(found)


def _find(root: int, path: str) -> int:
    """An O_PATH descriptor of what a path names when `root` is the root of all paths."""
    name = os.fsencode(path.lstrip("/") or ".")
    if b"\0" in name:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    found: int = _syscall(_NR_OPENAT2, root, name, ctypes.byref(_how), ctypes.c_size_t(ctypes.sizeof(_how)))
    if found >= 0:
        return found
    code = ctypes.get_errno()
    if code in _NOT_HERE:
        return walk_below(root, path)
    raise OSError(code, os.strerror(code))


def walk_below(root: int, path: str) -> int:
    """The same component by component, for kernels without openat2."""
    todo = [part for part in reversed(path.split("/")) if part not in ("", ".")]
    stack = [os.dup(root)]
    links = 0
    try:
        while todo:
            name = todo.pop()
            if name == "..":
                if len(stack) > 1:
                    os.close(stack.pop())
                continue
            step = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=stack[-1])
            stack.append(step)
            mode = os.fstat(step).st_mode
            if stat.S_ISLNK(mode):
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                pointed = os.readlink("", dir_fd=step)
                os.close(stack.pop())
                if pointed.startswith("/"):
                    while len(stack) > 1:
                        os.close(stack.pop())
                todo.extend(part for part in reversed(pointed.split("/")) if part not in ("", "."))
            elif todo and not stat.S_ISDIR(mode):
                raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        return stack.pop()
    finally:
        for descriptor in stack:
            os.close(descriptor)


def _reopen(path_descriptor: int, *, directory: bool) -> int:
    """Turns an O_PATH descriptor of a directory or a regular file into a readable one; anything else could block, or do something."""
    if directory:
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=path_descriptor)
    if not stat.S_ISREG(os.fstat(path_descriptor).st_mode):
        raise OSError(errno.EACCES, "not a regular file")
    return os.open(f"/proc/self/fd/{path_descriptor}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
