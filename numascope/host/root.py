"""Reading files below one root: this machine's "/" or a directory that holds a copy of another's /sys and /proc."""

from __future__ import annotations

import errno
import os
import stat
from typing import Final, NamedTuple

from numascope.errors import InputError
from numascope.host.confined import open_below

MOST_BYTES: Final = 8 << 20
"""No file that numascope reads as a whole is larger: `/proc/interrupts` of the largest machines stays below."""

_PIECE: Final = 1 << 16
_GONE: Final = frozenset({errno.ENOENT, errno.ESRCH, errno.ENOTDIR, errno.ENODEV, errno.ENXIO})


class AbsentError(OSError):
    """The file is not there, or what it speaks of went away while it was read."""


class DeniedError(OSError):
    """The file is there, but this user or this kernel gives nothing out of it."""


def as_host_error(error: OSError, path: str) -> OSError:
    """Sorts an OSError into absent and denied, the two things that a reader has to tell apart."""
    kind = AbsentError if error.errno in _GONE else DeniedError
    return kind(error.errno, error.strerror, path)


class _Folder(NamedTuple):
    """An open directory of a copied root: all names in it, and those of regular files."""

    path: str
    descriptor: int
    names: frozenset[str]
    files: frozenset[str]


class HostRoot:
    """Relative, confined reads below a root; links inside a copied root are resolved by us and never lead out of it."""

    def __init__(self, path: str = "/") -> None:
        self.path = path
        self.is_live = path == "/"
        try:
            self._directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise InputError(path, f"cannot be read as a root directory: {error.strerror}") from error
        self._folder: _Folder | None = None

    def close(self) -> None:
        """Gives the descriptors back."""
        self._leave_folder()
        os.close(self._directory)

    def read(self, path: str, limit: int = MOST_BYTES) -> bytes:
        """The file's bytes, at most `limit`; AbsentError, DeniedError."""
        try:
            descriptor = self._open(path)
        except OSError as error:
            raise as_host_error(error, path) from error
        try:
            first = os.read(descriptor, min(limit, _PIECE))
            if len(first) < _PIECE and not self.is_live:
                return (
                    first  # a regular file gives less than was asked for at its end only; /proc's files do so anywhere
                )
            parts, left = [first], limit - len(first)
            while left > 0 and parts[-1]:
                parts.append(os.read(descriptor, min(left, _PIECE)))
                left -= len(parts[-1])
        except OSError as error:
            raise as_host_error(error, path) from error
        finally:
            os.close(descriptor)
        return b"".join(parts)

    def read_as(self, path: str, uid: int | None, limit: int) -> bytes:
        """The bytes of a regular file of at most `limit` that this user may read, and so may `uid`; links stay inside the root."""
        descriptor = open_below(self._directory, path, directory=False)
        try:
            state = os.fstat(descriptor)
            owned = uid is not None and state.st_uid == uid and bool(state.st_mode & stat.S_IRUSR)
            if not (owned or state.st_mode & stat.S_IROTH or uid in (0, os.geteuid())):
                raise DeniedError(errno.EACCES, "the process's own user may not read it", path)
            if state.st_size > limit:
                raise DeniedError(errno.EFBIG, f"is over {limit >> 20} MiB", path)
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(limit)
        finally:
            os.close(descriptor)

    def read_if_there(self, path: str, limit: int = MOST_BYTES) -> bytes | None:
        """The file's bytes, or None where it is absent or denied."""
        try:
            return self.read(path, limit)
        except (AbsentError, DeniedError):
            return None

    def names(self, path: str) -> list[str]:
        """The names in a directory, sorted; empty where it is absent or denied."""
        try:
            if not self.is_live:
                return sorted(self._folder_of(path.strip("/")).names)
            descriptor = self._open(path, directory=True)
        except OSError:
            return []
        try:
            return sorted(os.listdir(descriptor))
        except OSError:
            return []
        finally:
            os.close(descriptor)

    def link(self, path: str) -> str | None:
        """Where a symbolic link points, as it is written; None where there is none."""
        parent, _, name = path.strip("/").rpartition("/")
        try:
            descriptor = self._open(parent, directory=True)
        except OSError:
            return None
        try:
            return os.readlink(name, dir_fd=descriptor)
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def _open(self, path: str, *, directory: bool = False) -> int:
        if self.is_live:
            flags = os.O_RDONLY | os.O_CLOEXEC | (os.O_DIRECTORY if directory else os.O_NONBLOCK | os.O_NOCTTY)
            return os.open(path.lstrip("/") or ".", flags, dir_fd=self._directory)
        parent, _, name = path.strip("/").rpartition("/")
        if directory or not name:
            return open_below(self._directory, path, directory=directory)
        folder = self._folder_of(parent)
        if name in folder.files:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            return os.open(name, flags, dir_fd=folder.descriptor)
        if name not in folder.names and name not in (".", ".."):
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        return open_below(self._directory, path, directory=False)

    def _folder_of(self, path: str) -> _Folder:
        """A directory of a copied root, kept for the files beside the one that is asked for."""
        if self._folder is None or self._folder.path != path:
            descriptor = open_below(self._directory, path, directory=True)
            self._leave_folder()
            with os.scandir(descriptor) as entries:
                is_file = {entry.name: entry.is_file(follow_symlinks=False) for entry in entries}
            files = frozenset(name for name, is_regular in is_file.items() if is_regular)
            self._folder = _Folder(path, descriptor, frozenset(is_file), files)
        return self._folder

    def _leave_folder(self) -> None:
        if self._folder is not None:
            os.close(self._folder.descriptor)
            self._folder = None
