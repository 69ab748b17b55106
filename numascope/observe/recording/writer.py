"""Samples to a file: each frame is on its way to the disk, whole, before the next one is taken."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Self

import msgspec

from numascope.errors import InputError
from numascope.host.text import safe_text
from numascope.observe.recording import wire
from numascope.observe.recording.format import (
    MAGIC,
    MOST_PLAN_BYTES,
    DamagedError,
    Header,
    Kind,
    encode_header,
    pack_block,
)
from numascope.observe.recording.frames import encode_delta, encode_key
from numascope.observe.recording.redact import Redactor, without_folders
from numascope.observe.sample import Sample
from numascope.observe.strangers import Stranger

_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


class Recorder:
    """Writes a new recording, for its owner alone (mode 0600); InputError where it cannot, and what was written stays readable.

    With `redact`, what may be secret in command lines, environments and paths is left out. Every `keyframe_every` frames one
    stands for itself.
    """

    def __init__(self, path: str, header: Header, *, redact: bool = True, keyframe_every: int = 60) -> None:
        self._path = path
        self._redactor = Redactor() if redact else None
        self._keyframe_every = keyframe_every
        self._before: tuple[Sample, tuple[Stranger, ...]] | None = None
        self._since_key = 0
        self._key_bytes = 0
        self._has_machine = False
        self.bytes_written = 0
        """Size of the file."""
        self.frames = 0
        """How many frames were written."""
        if header.plan is not None and len(header.plan) > MOST_PLAN_BYTES:
            raise InputError(safe_text(path), f"cannot keep a plan of over {MOST_PLAN_BYTES >> 20} MiB")
        self._descriptor: int | None = _create(path)
        try:
            self._append(MAGIC)
            self._block(Kind.HEADER, encode_header(_header(header, redact=redact)))
        except BaseException:
            self._close()
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def machine(self, capture: bytes) -> None:
        """Keeps the machine, a capture archive, on which the frames from here on were taken; InputError."""
        self._block(Kind.MACHINE, capture)
        self._has_machine = True

    def write(self, sample: Sample, strangers: Sequence[Stranger]) -> None:
        """Appends a frame; InputError, after which frames may still be written once the cause is gone."""
        if not self._has_machine:
            raise ValueError("a recording begins with its machine: call machine() first")
        if self._redactor is not None:
            redactor = self._redactor
            sample = replace(
                sample, processes=redactor.processes(sample.processes), cgroups=redactor.cgroups(sample.cgroups)
            )
        now = (sample, tuple(strangers))
        if len(sample.threads.keys) > wire.MOST_THREADS or len(sample.processes) > wire.MOST_PROCESSES:
            raise InputError(
                safe_text(self._path),
                f"cannot keep over {wire.MOST_THREADS} threads or {wire.MOST_PROCESSES} processes: give fewer PIDs",
            )
        delta = None
        if self._before is not None and self._since_key < self._keyframe_every:
            delta = encode_delta(*now, *self._before)
        # How large a keyframe would be is told by the last one: to pack one for each delta costs more than it saves.
        if delta is not None and len(block := self._pack(Kind.DELTA, delta)) <= self._key_bytes:
            self._append(block)
            self._since_key += 1
        else:
            block = self._pack(Kind.KEY, self._key(*now))
            self._append(block)
            self._key_bytes = len(block)
            self._since_key = 1
        self._before = now
        self.frames += 1

    def close(self) -> None:
        """Writes the end and gives the file back; InputError where the end could not be written. Again does nothing."""
        if self._descriptor is None:
            return
        try:
            self._block(Kind.END, b"")
        finally:
            self._close()

    def _key(self, sample: Sample, strangers: tuple[Stranger, ...]) -> bytes:
        try:
            return encode_key(sample, strangers)
        except OverflowError:
            raise InputError(safe_text(self._path), "cannot keep a counter of more than 64 bits") from None

    def _block(self, kind: Kind, payload: bytes) -> None:
        self._append(self._pack(kind, payload))

    def _pack(self, kind: Kind, payload: bytes) -> bytes:
        try:
            return pack_block(kind, payload)
        except DamagedError as error:
            what = "the capture of the machine" if kind is Kind.MACHINE else "what was seen at once"
            raise InputError(safe_text(self._path), f"cannot keep all of it: {what} {error}") from None

    def _append(self, data: bytes) -> None:
        """All of these bytes or none; what of them a full disk took is cut off again."""
        if self._descriptor is None:
            raise ValueError("the recording is closed")
        try:
            written = os.write(self._descriptor, data)
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self.bytes_written)
            problem = f"cannot be written: {error.strerror}"
            if self.frames:
                problem = f"cannot be written any further: {error.strerror}; the frames before can be read"
            raise InputError(safe_text(self._path), problem) from error
        self.bytes_written += len(data)

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _create(path: str) -> int:
    shown = safe_text(path)
    try:
        return os.open(path, _FLAGS, 0o600)
    except FileExistsError:
        raise InputError(shown, "is there already: give another name with -o FILE") from None
    except ValueError:
        raise InputError(shown, "no path has a zero byte in it: give another name with -o FILE") from None
    except OSError as error:
        raise InputError(shown, f"cannot be written: {error.strerror}") from error


def _header(header: Header, *, redact: bool) -> Header:
    if not redact:
        return msgspec.structs.replace(header, redacted=False)
    return msgspec.structs.replace(
        header,
        redacted=True,
        plan_name=None if header.plan_name is None else without_folders(header.plan_name),
        plan_source=without_folders(header.plan_source),
    )
