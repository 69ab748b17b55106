"""Where journals lie: a directory per boot that is ours alone, reached without following links, and its lock."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from typing import Final

from numascope.errors import InputError, UsageError
from numascope.host.here import Here, read_here
from numascope.host.root import HostRoot
from numascope.host.text import safe_text

_OF_ROOT: Final = "/var/lib"
_NAME: Final = "numascope"
_OPEN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ENTRY: Final = re.compile(r"([0-9]{4,18})\.jsonl")
_BOOT_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
LOCKED: Final = "another numascope is changing threads: wait for it, or end it"
_MOST_BYTES: Final = 64 << 20
WAIT_S: Final = 30.0
_AGAIN_S: Final = 0.02


def state_path(here: Here, environ: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """The directory that others made and we trust, and the parts below it that are ours to make.

    `NUMASCOPE_STATE` names that directory for anybody; else it is /var/lib for root, `XDG_STATE_HOME` or ~/.local/state for a user.
    """
    for name in ("NUMASCOPE_STATE", "XDG_STATE_HOME"):
        given = environ.get(name, "")
        if given and (name == "NUMASCOPE_STATE" or here.uid):
            if not os.path.isabs(given):
                raise UsageError(f"{name}={safe_text(given)}: a state directory is given as an absolute path")
            return given, (_NAME,)
    if here.uid == 0:
        return _OF_ROOT, (_NAME,)
    home = environ.get("HOME", "")
    if not os.path.isabs(home):
        raise UsageError("HOME is not set: no place for the undo records, give one in XDG_STATE_HOME")
    return home, (".local", "state", _NAME)


class Store:
    """The journals of one user on one machine: those of this boot to write and read, those of others to list."""

    def __init__(self, here: Here, environ: Mapping[str, str], *, create: bool) -> None:
        base, parts = state_path(here, environ)
        self.here = here
        self.path = os.path.join(base, *parts)
        if not _BOOT_ID.fullmatch(here.boot_id):
            raise InputError(self.path, f"the kernel's boot id {here.boot_id!r} is no name for a directory")
        self._all = -1
        self._own = -1
        try:
            self._all = self._descend(base, parts, create=create)
            self._own = self._step(self._all, here.boot_id, self.path, create=create)
            self._check(self._own, os.path.join(self.path, here.boot_id))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Gives the descriptors back."""
        for descriptor in (self._all, self._own):
            if descriptor >= 0:
                os.close(descriptor)
        self._all = self._own = -1

    # Getting there

    def _descend(self, base: str, parts: tuple[str, ...], *, create: bool) -> int:
        try:
            descriptor = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            if not create and error.errno == errno.ENOENT:
                raise NoJournalError(base) from error
            raise _refusal(base, error) from error
        path = base
        for part in parts:
            try:
                below = self._step(descriptor, part, path, create=create)
            finally:
                os.close(descriptor)
            descriptor, path = below, os.path.join(path, part)
        try:
            self._check(descriptor, path)
        except InputError:
            os.close(descriptor)
            raise
        return descriptor

    def _step(self, above: int, name: str, path: str, *, create: bool) -> int:
        """Opens one directory below another, which is made where it is missing."""
        full = os.path.join(path, name)
        try:
            with contextlib.suppress(FileNotFoundError):
                return os.open(name, _OPEN, dir_fd=above)
            if not create:
                raise NoJournalError(full)
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=above)
                os.fsync(above)
            return os.open(name, _OPEN, dir_fd=above)
        except OSError as error:
            raise _refusal(full, error) from error

    def _check(self, descriptor: int, path: str) -> None:
        state = os.fstat(descriptor)
        if state.st_uid != self.here.uid:
            raise InputError(
                safe_text(path),
                f"belongs to uid {state.st_uid}, not to us (uid {self.here.uid}): undo records there are not ours to trust; "
                "nothing is changed",
            )
        if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise InputError(
                safe_text(path),
                f"others may write to it (mode {state.st_mode & 0o777:o}): chmod 700 it; nothing is changed",
            )

    # One numascope at a time

    @contextlib.contextmanager
    def locked(self, wait_s: float = WAIT_S) -> Iterator[None]:
        """Holds the lock of this boot's journals (flock(2)), which a crash gives back; InputError after `wait_s`."""
        path = os.path.join(self.path, self.here.boot_id, "lock")
        try:
            descriptor = os.open("lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self._own)
        except OSError as error:
            raise _refusal(path, error) from error
        try:
            deadline = time.monotonic() + wait_s
            while not _take(descriptor, path):
                if time.monotonic() > deadline:
                    raise InputError(safe_text(path), LOCKED)
                time.sleep(_AGAIN_S)
            yield
        finally:
            os.close(descriptor)

    # Entries

    def ids(self) -> list[int]:
        """The entries of this boot, oldest first."""
        return _ids(self._own)

    def entry_path(self, number: int) -> str:
        """Where an entry of this boot lies, safe to print."""
        return safe_text(os.path.join(self.path, self.here.boot_id, _file_name(number)))

    def create(self) -> tuple[int, int]:
        """A new entry: its number, and a descriptor that appends to its empty file; only under the lock."""
        number = max(self.ids(), default=0) + 1
        while True:
            try:
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                return number, os.open(_file_name(number), flags, 0o600, dir_fd=self._own)
            except FileExistsError:
                number += 1
            except OSError as error:
                raise _refusal(self.entry_path(number), error) from error

    def forget(self, number: int) -> None:
        """Removes an entry under which nothing was changed."""
        with contextlib.suppress(OSError):
            os.unlink(_file_name(number), dir_fd=self._own)

    @property
    def directory(self) -> int:
        """The descriptor of this boot's directory, to be synced when an entry is made in it."""
        return self._own

    def read(self, number: int) -> bytes:
        """The bytes of an entry of this boot; InputError where it is not there, not ours or too large."""
        return self._read(self._own, _file_name(number), self.entry_path(number))

    def others(self) -> Iterator[tuple[int, bytes, str]]:
        """Number, bytes and path of the entries of other boots; what cannot be read is left out."""
        for boot in sorted(name for name in os.listdir(self._all) if _BOOT_ID.fullmatch(name)):
            if boot == self.here.boot_id:
                continue
            try:
                directory = self._step(self._all, boot, self.path, create=False)
            except (InputError, NoJournalError):
                continue
            try:
                for number in _ids(directory):
                    path = safe_text(os.path.join(self.path, boot, _file_name(number)))
                    with contextlib.suppress(InputError):
                        yield number, self._read(directory, _file_name(number), path), path
            finally:
                os.close(directory)

    def _read(self, directory: int, name: str, path: str) -> bytes:
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
        except OSError as error:
            raise _refusal(path, error, "") from error
        try:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode) or state.st_uid != self.here.uid:
                raise InputError(path, "is no file of ours: not read")
            if state.st_size > _MOST_BYTES:
                raise InputError(path, f"is over {_MOST_BYTES >> 20} MiB: not read")
            self._check(descriptor, path)
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(_MOST_BYTES)
        finally:
            os.close(descriptor)


class NoJournalError(Exception):
    """Nothing was ever written: there is no such directory, and none is to be made."""


def _take(descriptor: int, path: str) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise _refusal(path, error) from error
    return True


def _file_name(number: int) -> str:
    return f"{number:04d}.jsonl"


def _ids(directory: int) -> list[int]:
    found = (_ENTRY.fullmatch(name) for name in os.listdir(directory))
    return sorted(int(one[1]) for one in found if one is not None)


def _refusal(
    path: str, error: OSError, then: str = "; nothing is changed, since no undo record can be written"
) -> InputError:
    """What stands in the way, in one line."""
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        problem = "is a link or no directory, and links are not followed: name a directory of yours in NUMASCOPE_STATE"
    else:
        problem = (error.strerror or "cannot be used").lower()
    return InputError(safe_text(path), f"{problem}{then}")


@contextlib.contextmanager
def opened_store(root: HostRoot, environ: Mapping[str, str], *, create: bool) -> Iterator[Store | None]:
    """The journals of this user; None where there are none and none are to be made."""
    try:
        store = Store(read_here(root), environ, create=create)
    except NoJournalError:
        yield None
        return
    try:
        yield store
    finally:
        store.close()
