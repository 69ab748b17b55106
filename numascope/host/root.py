"""Reading files below one root: this machine's "/" or a directory that holds a copy of another's /sys and /proc."""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

from numascope.errors import InputError
from numascope.host.confined import open_below

MOST_BYTES: Final = 8 << 20
"""No file that numascope reads as a whole is larger, `/proc/interrupts` aside, whose reader has a limit of its own."""

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


def _rest(descriptor: int, limit: int) -> bytes:
    """What is still to be read of a file."""
    parts: list[bytes] = []
    while limit > 0 and (part := os.read(descriptor, min(limit, _PIECE))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


class HostRoot:
    """Relative, confined reads below a root; links inside a copied root are resolved by us and never lead out of it."""

    def __init__(self, path: str = "/") -> None:
        self.path = path
        self.is_live = path == "/"
        try:
            self._directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise InputError(path, f"cannot be read as a root directory: {error.strerror}") from error

    def close(self) -> None:
        """Gives the descriptor of the root back."""
        os.close(self._directory)

    def read(self, path: str, limit: int = MOST_BYTES) -> bytes:
        """The file's bytes, at most `limit`; AbsentError, DeniedError."""
        try:
            descriptor = self._open(path)
            try:
                first = os.read(descriptor, min(limit, _PIECE))
                # Less than was asked for is all of a regular file; files of /proc give a part anywhere.
                return (
                    first if len(first) < _PIECE and not self.is_live else first + _rest(descriptor, limit - len(first))
                )
            finally:
                os.close(descriptor)
        except OSError as error:
            raise as_host_error(error, path) from error

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
        return open_below(self._directory, path, directory=directory)
