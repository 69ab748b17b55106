"""The members of a tar archive, one after the other, out of a stream (pax of POSIX.1-2008, and what GNU tar writes).

Python's `tarfile` does not read here: it takes time quadratic in the length of a pax header, keeps every header that it has
seen, and takes several times as long for each.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple

from numascope.host.archive.inflate import Inflated

MOST_MEMBERS: Final = 1 << 20
"""A whole copy of the /sys and /proc of 2,048 CPUs has some 600,000 files and directories."""

_BLOCK: Final = 512
_MOST_HEADER_BYTES: Final = 1 << 16
"""Of a pax header or a long name: the longest path of a kernel has 4,096 bytes; beside two of them stand times and labels."""

_OCTAL = re.compile(rb"[ \0]*([0-7]*)[ \0]*")
_RECORD = re.compile(rb"([0-9]{1,6}) ([^=]{1,255})=")

Kind = Literal["file", "directory", "symlink", "hardlink"]

_KINDS: Final[dict[int, Kind]] = {
    ord("0"): "file", 0: "file", ord("7"): "file", ord("1"): "hardlink", ord("2"): "symlink", ord("5"): "directory",
}  # fmt: skip
_WITHOUT_DATA: Final = b"123456"
"""Links, devices, directories, fifos: whatever size their header names, no bytes follow it."""


class Member(NamedTuple):
    """A file with its bytes, a directory, or a link with its target; names as they are written, undecodable bytes as surrogates."""

    name: str
    kind: Kind
    target: str
    data: bytes


class _Extension(NamedTuple):
    """What headers in front of a member say of it; None: its own header holds."""

    name: bytes | None = None
    target: bytes | None = None
    size: int | None = None
    is_sparse: bool = False


_NO_EXTENSION: Final = _Extension()


def read_members(stream: Inflated, is_wanted: Callable[[str, int], bool]) -> Iterator[Member]:
    """Every directory and link, and the files that are wanted by their name and size; devices, fifos and sparse files are passed over.

    InputError where the stream is no tar archive, is damaged or cut off, or has more than MOST_MEMBERS.
    """
    extension = _NO_EXTENSION
    for count in range(MOST_MEMBERS):
        block = stream.read(_BLOCK)
        if not any(block):
            _check_end(stream, block, is_first=not count)
            return
        size = _checked_size(stream, block, is_first=not count)
        kind = block[156]
        if kind in b"xgLK":
            extension = _extended(extension, kind, _read_header(stream, size))
            continue
        if kind in b"S":
            _pass_sparse_map(stream, block)
        size = 0 if kind in _WITHOUT_DATA else size if extension.size is None else extension.size
        member = None if extension.is_sparse else _member(block, kind, extension)
        extension = _NO_EXTENSION
        if member is not None and member.kind == "file" and is_wanted(member.name, size):
            yield member._replace(data=_read(stream, size))
            continue
        if not stream.skip(-(-size // _BLOCK) * _BLOCK):
            raise stream.refuse(_CUT_OFF)
        if member is not None and member.kind != "file":
            yield member
    raise stream.refuse(f"has more than {MOST_MEMBERS:,} members: pack only sys/ and proc/ of that machine")


_CUT_OFF: Final = "is cut off in the middle of a file: copy it again"


def _check_end(stream: Inflated, block: bytes, *, is_first: bool) -> None:
    """InputError where an archive ends before its end, which POSIX marks by two blocks of zeros; one is enough."""
    if is_first:
        raise stream.refuse("holds nothing: it is no tar archive, or an empty one")
    if len(block) < _BLOCK:
        raise stream.refuse("is cut off: the zeros that end a tar archive are missing; copy it again")


def _checked_size(stream: Inflated, block: bytes, *, is_first: bool) -> int:
    """The size in a header whose checksum is right."""
    told, size = _number(block[148:156]), _number(block[124:136])
    # The low half of Adler-32 is 1 + the sum of the bytes, modulo 65521; the checksum counts its own field as blanks.
    added = (zlib.adler32(block) & 0xFFFF) - 1 - sum(block[148:156]) + 8 * ord(" ")
    if len(block) == _BLOCK and told is not None and size is not None and (added - told) % 65521 == 0:
        return size
    if is_first:
        raise stream.refuse("is no tar archive, packed by gzip, bzip2 or xz or not at all")
    raise stream.refuse("is damaged or cut off: a header of its tar archive makes no sense; copy it again")


def _number(field: bytes) -> int | None:
    """An octal number, or with the top bit set a binary one, as GNU tar writes what is too large."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    digits = _OCTAL.fullmatch(field)
    return None if digits is None else int(digits[1] or b"0", 8)


def _read(stream: Inflated, size: int) -> bytes:
    padded = -(-size // _BLOCK) * _BLOCK
    data = stream.read(padded)
    if len(data) < padded:
        raise stream.refuse(_CUT_OFF)
    return data[:size]


def _read_header(stream: Inflated, size: int) -> bytes:
    if size > _MOST_HEADER_BYTES:
        raise stream.refuse(f"holds a header of {size:,} bytes, where {_MOST_HEADER_BYTES:,} are read: it is damaged")
    return _read(stream, size)


def _pass_sparse_map(stream: Inflated, block: bytes) -> None:
    """The map of an old GNU sparse file goes on in further blocks, each of which says whether one more follows."""
    is_more = block[482]
    while is_more:
        block = _read(stream, _BLOCK)
        is_more = block[504]


def _extended(extension: _Extension, kind: int, data: bytes) -> _Extension:
    if kind == ord("g"):
        return extension
    if kind != ord("x"):
        text = data.split(b"\0", 1)[0]
        return extension._replace(name=text) if kind == ord("L") else extension._replace(target=text)
    for key, value in _records(data):
        if key == b"path":
            extension = extension._replace(name=value)
        elif key == b"linkpath":
            extension = extension._replace(target=value)
        elif key == b"size" and value.isdigit() and len(value) < 20:
            extension = extension._replace(size=int(value))
        elif key.startswith(b"GNU.sparse."):
            extension = extension._replace(is_sparse=True)
    return extension


def _records(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """`LENGTH KEY=VALUE` with a newline, LENGTH counting all of it; what follows a broken one is not read."""
    at = 0
    while (found := _RECORD.match(data, at)) is not None:
        end = at + int(found[1])
        if not found.end() < end <= len(data):
            return
        yield found[2], data[found.end() : end - 1]
        at = end


def _member(block: bytes, kind: int, extension: _Extension) -> Member | None:
    """The member, a file without its bytes yet; None where it is neither file nor directory nor link, or has no proper name."""
    sort = _KINDS.get(kind)
    name, target = extension.name, extension.target
    if name is None:
        name = block[:100].split(b"\0", 1)[0]
        if block[257:263] == b"ustar\0" and block[345]:
            name = block[345:500].split(b"\0", 1)[0] + b"/" + name
    if sort is None or not name or b"\0" in name:
        return None
    if name.endswith(b"/") and sort == "file":
        sort = "directory"
    if sort in {"file", "directory"}:
        target = b""
    elif target is None:
        target = block[157:257].split(b"\0", 1)[0]
    return Member(_decoded(name.rstrip(b"/")), sort, _decoded(target), b"")


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
