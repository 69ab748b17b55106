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
_NO_MAGICLINKS: Final = 0x02
_NO_SYMLINKS: Final = 0x04
_BENEATH: Final = 0x08
_IN_ROOT: Final = 0x10
_NOT_HERE: Final = frozenset({errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.EAGAIN, errno.ELOOP, errno.EXDEV})
"""Errors after which the walk by hand tells: a kernel before 5.6, a filter, a rename meanwhile, too many links."""


class _OpenHow(ctypes.Structure):
    """`struct open_how` of include/uapi/linux/openat2.h."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_syscall = ctypes.CDLL(None, use_errno=True).syscall
_HOW_BYTES: Final = ctypes.c_size_t(ctypes.sizeof(_OpenHow))
_AS_PATH: Final = ctypes.byref(_OpenHow(os.O_PATH | os.O_CLOEXEC, 0, _IN_ROOT | _NO_MAGICLINKS))
_AS_DIRECTORY: Final = ctypes.byref(_OpenHow(os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, 0, _IN_ROOT | _NO_MAGICLINKS))
_AS_FILE: Final = ctypes.byref(
    _OpenHow(os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0, _BENEATH | _NO_SYMLINKS)
)


def open_below(root: int, path: str, *, directory: bool) -> int:
    """A readable descriptor of a regular file, or of a directory, below the descriptor `root`; OSError."""
    raw = (path.lstrip("/") or ".").encode("utf-8", "surrogateescape")
    if b"\0" in raw:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    if directory:
        found: int = _syscall(_NR_OPENAT2, root, raw, _AS_DIRECTORY, _HOW_BYTES)
        return found if found >= 0 else _told_by_hand(root, path, directory=True)
    # Most paths hold no link. What a file is, is known before it is opened, as to open a device can do something; this
    # look may follow links out of the root, and proves nothing unless no link is on the way.
    try:
        is_regular = stat.S_ISREG(os.stat(raw, dir_fd=root, follow_symlinks=False).st_mode)
    except OSError:
        is_regular = False
    if is_regular and (found := _syscall(_NR_OPENAT2, root, raw, _AS_FILE, _HOW_BYTES)) >= 0:
        return found
    found = _syscall(_NR_OPENAT2, root, raw, _AS_PATH, _HOW_BYTES)
    if found < 0:
        return _told_by_hand(root, path, directory=False)
    return _reopened(found, directory=False)


def _told_by_hand(root: int, path: str, *, directory: bool) -> int:
    """After openat2 failed: its own error, or what the walk finds where a kernel cannot or will not."""
    code = ctypes.get_errno()
    if code not in _NOT_HERE:
        raise OSError(code, os.strerror(code))
    return _reopened(walk_below(root, path), directory=directory)


def walk_below(root: int, path: str) -> int:
    """An O_PATH descriptor of what a path names when `root` is the root of all paths, component by component."""
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


def _reopened(found: int, *, directory: bool) -> int:
    """Turns an O_PATH descriptor of a directory or a regular file into a readable one, and gives it back."""
    try:
        if directory:
            return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=found)
        if not stat.S_ISREG(os.fstat(found).st_mode):
            raise OSError(errno.EACCES, "not a regular file")
        return os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    finally:
        os.close(found)
