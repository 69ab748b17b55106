"""The bytes of a file that gzip, bzip2 or xz has packed, or nobody: piece by piece, and counted."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import zlib
from typing import Final

from numascope.errors import InputError
from numascope.host.text import safe_text

MOST_BYTES: Final = 1 << 30
"""Read out of one archive at most: a whole report of a large server is some 100 MiB, and more would take minutes to unpack."""

_MOST_DICTIONARY_BYTES: Final = 128 << 20
"""Memory for unpacking xz: its highest level, `xz -9`, asks for 65 MiB; a header may ask for 4 GiB."""

_MEMORY: Final = "Memory usage limit"
"""How the lzma module says that a header asks for more; it has no number for it."""

_TOO_GREEDY: Final = (
    f"its xz dictionary needs more than the {_MOST_DICTIONARY_BYTES >> 20} MiB of memory that are granted: "
    "pack it again with gzip, or with xz as it comes"
)

_PIECE: Final = 1 << 18
_DAMAGE: Final = (EOFError, OSError, zlib.error, lzma.LZMAError)


class Inflated:
    """Reads forward through the unpacked bytes of a regular file; how it is packed is told by its first bytes, not by its name.

    InputError where it is no regular file, is empty, damaged, cut off, or unpacks to more than MOST_BYTES.
    """

    def __init__(self, path: str) -> None:
        self.path = safe_text(path)
        self._packed = _open_regular(path, self.path)
        try:
            self._reader = _unpacker(self._packed)
        except OSError as error:
            self._packed.close()
            raise self.refuse(f"cannot be read: {error.strerror}") from error
        self._piece = b""
        self._at = 0
        self._count = 0

    def close(self) -> None:
        """Gives the file back."""
        self._packed.close()

    def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer only where the file ends."""
        end = self._at + size
        if end <= len(self._piece):
            data = self._piece[self._at : end]
            self._at = end
            return data
        parts = [self._piece[self._at :]]
        left = size - len(parts[0])
        while left > 0 and self._next_piece():
            parts.append(self._piece[:left])
            left -= len(parts[-1])
            self._at = len(parts[-1])
        return b"".join(parts)

    def skip(self, size: int) -> bool:
        """Goes `size` bytes on, without keeping them; False where the file ends before."""
        left = size - (len(self._piece) - self._at)
        if left <= 0:
            self._at += size
            return True
        if self._reader is not self._packed and self._count + left > MOST_BYTES:
            raise self._too_large()  # before all of it was unpacked
        while self._next_piece():
            if left <= len(self._piece):
                self._at = left
                return True
            left -= len(self._piece)
        return False

    def refuse(self, problem: str) -> InputError:
        """The error that says what is wrong with this file."""
        return InputError(self.path, problem)

    def _next_piece(self) -> bool:
        """The piece after this one; `_at` stands at its start."""
        try:
            self._piece = self._reader.read(_PIECE)
        except _DAMAGE as error:
            if _MEMORY in str(error):
                raise self.refuse(_TOO_GREEDY) from error
            raise self.refuse(f"damaged or cut off ({safe_text(str(error))}): copy it again") from error
        self._at = 0
        self._count += len(self._piece)
        if self._count > MOST_BYTES:
            raise self._too_large()
        return bool(self._piece)

    def _too_large(self) -> InputError:
        return self.refuse(f"unpacks to more than {MOST_BYTES >> 30} GiB: pack only sys/ and proc/ of that machine")


def _open_regular(path: str, place: str) -> io.BufferedReader:
    """A fifo or a device must not block or be read for ever, so it is opened without waiting and looked at first."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise InputError(place, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    state = os.fstat(descriptor)
    problem = None
    if stat.S_ISDIR(state.st_mode):
        problem = "is a directory, not an archive: give it with --root"
    elif not stat.S_ISREG(state.st_mode):
        problem = "is not a regular file"
    elif not state.st_size:
        problem = "is empty"
    if problem is not None:
        os.close(descriptor)
        raise InputError(place, problem)
    return open(descriptor, "rb")


def _unpacker(packed: io.BufferedReader) -> io.BufferedIOBase:
    magic = packed.peek(6)
    if magic.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=packed)
    if magic.startswith(b"BZh"):
        return bz2.BZ2File(packed)
    if magic.startswith(b"\xfd7zXZ\0"):
        return io.BufferedReader(_Xz(packed), _PIECE)
    return packed


class _Xz(io.RawIOBase):
    """What lzma.LZMAFile does, with a limit to the memory that the file may ask for."""

    def __init__(self, packed: io.BufferedReader) -> None:
        self._packed = packed
        self._decompressor = _xz_decompressor()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while True:
            if self._decompressor.eof:
                rest = self._decompressor.unused_data.lstrip(b"\0") or self._packed.read(_PIECE).lstrip(b"\0")
                if not rest:
                    return 0
                self._decompressor = _xz_decompressor()
            else:
                rest = self._packed.read(_PIECE) if self._decompressor.needs_input else b""
                if not rest and self._decompressor.needs_input:
                    raise EOFError("the compressed data ends too early")
            data = self._decompressor.decompress(rest, len(buffer))
            if data:
                buffer[: len(data)] = data
                return len(data)


def _xz_decompressor() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_DICTIONARY_BYTES)
