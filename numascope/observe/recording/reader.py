"""A recording read back, frame by frame, as far as it is whole."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Final, NamedTuple, Self

import msgspec

from numascope.errors import InputError
from numascope.host.text import safe_text
from numascope.observe.recording.decode import FrameDecoder
from numascope.observe.recording.format import (
    HEAD_BYTES,
    MAGIC,
    MAGIC_START,
    DamagedError,
    Head,
    Header,
    Kind,
    decode_header,
    parse_head,
    printable,
    unpack_payload,
)
from numascope.observe.recording.frames import Frame

_NOT_ONE: Final = "is no recording: give a file that numascope record wrote"
_MALFORMED: Final = (ValueError, IndexError, OverflowError, RecursionError, msgspec.MsgspecError)
"""What decoding raises at bytes that are no frame; DamagedError among it."""


class _Block(NamedTuple):
    head: Head
    at: int
    """Where its payload begins."""


class Recording:
    """An open recording; `path` is safe to print, `lost` says after the frames what of them could not be read, else "".

    Frames are read as they are asked for: memory does not grow with the file.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = safe_text(path)
        self.lost = ""
        self._descriptor = descriptor
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InputError(self.path, _NOT_ONE)
        self._magic()
        self.header, self._first_at = self._header()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the file back; again does nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def frames(self) -> Iterator[Frame]:
        """The frames from the first on, up to the last whole one; then `lost` is set."""
        decoder = FrameDecoder()
        machine: bytes | None = None
        has_machine = False
        count, at = 0, self._first_at
        self.lost = ""
        while True:
            try:
                block = self._block(at)
                payload = unpack_payload(block.head, self._read(block.head.packed_bytes, block.at))
                if block.head.kind is Kind.MACHINE:
                    machine, has_machine = payload, True
                elif block.head.kind is Kind.END:
                    self._check_end(block)
                    return
                else:
                    if not has_machine:
                        raise DamagedError("it stands before any machine")
                    sample, strangers = decoder.key(payload) if block.head.kind is Kind.KEY else decoder.delta(payload)
                    yield Frame(sample, strangers, machine)
                    machine = None
                    count += 1
            except _EndlessError:
                self.lost = f"has no end: it was cut off, or is still being written, after frame {count}"
                return
            except _MALFORMED as error:
                self.lost = f"is damaged after frame {count}: {safe_text(str(error))[:200]}"
                return
            except OSError as error:
                self.lost = f"cannot be read after frame {count}: {error.strerror}"
                return
            at = block.at + block.head.packed_bytes

    def count_frames(self) -> int:
        """How many frames there are by the heads of the blocks; none is unpacked, so that damage within one is not seen."""
        count, at = 0, self._first_at
        try:
            while (block := self._block(at)).head.kind is not Kind.END:
                count += block.head.kind in (Kind.KEY, Kind.DELTA)
                at = block.at + block.head.packed_bytes
        except (DamagedError, OSError):
            pass
        return count

    def _magic(self) -> None:
        start = self._read_or_say(len(MAGIC), 0)
        if start == MAGIC:
            return
        line, newline, _ = self._read_or_say(len(MAGIC_START) + 12, 0).partition(b"\n")
        version = line.removeprefix(MAGIC_START)
        if newline and line.startswith(MAGIC_START) and version.isdigit() and not version.startswith(b"0"):
            raise InputError(
                self.path,
                f"is a recording of version {version.decode()}, which this numascope cannot read: use a newer one",
            )
        raise InputError(self.path, _NOT_ONE)

    def _header(self) -> tuple[Header, int]:
        try:
            block = self._block(len(MAGIC))
            if block.head.kind is not Kind.HEADER:
                raise DamagedError("it is another block")
            header = decode_header(unpack_payload(block.head, self._read(block.head.packed_bytes, block.at)))
        except _EndlessError:
            raise InputError(self.path, "is cut off within its header: nothing in it can be read") from None
        except _MALFORMED as error:
            why = safe_text(str(error))[:200]
            raise InputError(self.path, f"its header is damaged ({why}): nothing in it can be read") from None
        except OSError as error:
            raise InputError(self.path, f"cannot be read: {error.strerror}") from error
        return _printable(header), block.at + block.head.packed_bytes

    def _block(self, at: int) -> _Block:
        """The block that begins there, which is whole; _EndlessError where the file ends before it does, DamagedError."""
        raw = self._read(HEAD_BYTES, at)
        if len(raw) < HEAD_BYTES:
            raise _EndlessError
        block = _Block(parse_head(raw), at + HEAD_BYTES)
        if block.at + block.head.packed_bytes > os.fstat(self._descriptor).st_size:
            raise _EndlessError
        return block

    def _check_end(self, end: _Block) -> None:
        if self._read(1, end.at + end.head.packed_bytes):
            raise DamagedError("something follows its end")

    def _read(self, size: int, at: int) -> bytes:
        """So many bytes from there, fewer only at the end of the file."""
        data = os.pread(self._descriptor, size, at)
        while len(data) < size and (more := os.pread(self._descriptor, size - len(data), at + len(data))):
            data += more
        return data

    def _read_or_say(self, size: int, at: int) -> bytes:
        try:
            return self._read(size, at)
        except OSError as error:
            raise InputError(self.path, f"cannot be read: {error.strerror}") from error


class _EndlessError(DamagedError):
    """The file ends before a block does."""


def open_recording(path: str) -> Recording:
    """Opens a recording and reads its header; InputError, in which the reason stands."""
    shown = safe_text(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except FileNotFoundError:
        raise InputError(shown, "there is no such file: give a file that numascope record wrote") from None
    except PermissionError:
        raise InputError(shown, "not readable by this user: copy it, or run as its owner") from None
    except ValueError:
        raise InputError(shown, "no path has a zero byte in it: give a file that numascope record wrote") from None
    except OSError as error:
        raise InputError(shown, f"cannot be read: {error.strerror}") from error
    try:
        return Recording(path, descriptor)
    except BaseException:
        os.close(descriptor)
        raise


def _printable(header: Header) -> Header:
    """Its texts as they may be shown."""
    return msgspec.structs.replace(
        header,
        numascope=printable(header.numascope),
        plan_name=None if header.plan_name is None else printable(header.plan_name),
        plan_source=printable(header.plan_source),
    )
