"""The file format of a recording.

A recording is the line `numascope recording 1`, then blocks, one after the other. A block is nine bytes in big-endian order
(kind: 1 byte; length of what follows: 4 bytes; CRC-32 over kind, length and what follows: 4 bytes) and its payload, packed
with zlib (RFC 1950, RFC 1952 for the CRC). Each block is written with one call, so that whatever stops the writer leaves
whole blocks and at most one torn one behind them.

The first block is the header, once. A machine block (a capture archive, unread here) stands before the first frame and
before each frame that was taken on a machine that had changed. A keyframe stands for itself, a delta for what changed
since the frame before it. The end block, where there is one, says that the recording was closed and nothing is missing.
Payloads of header, frames and end are MessagePack arrays and maps of fixed types.
"""

from __future__ import annotations

import struct
import zlib
from enum import IntEnum
from typing import Annotated, Final, Literal, NamedTuple

import msgspec

from numascope.host.text import safe_text

MAGIC_START: Final = b"numascope recording "
VERSION: Final = 1
MAGIC: Final = MAGIC_START + b"%d\n" % VERSION

MOST_PLAN_BYTES: Final = 4 << 20
MOST_MACHINE_BYTES: Final = 8 << 20
_HEAD: Final = struct.Struct(">BI")
_CRC: Final = struct.Struct(">I")
HEAD_BYTES: Final = _HEAD.size + _CRC.size


class Kind(IntEnum):
    """What a block holds."""

    HEADER = 1
    MACHINE = 2
    KEY = 3
    DELTA = 4
    END = 5


MOST_BYTES: Final = {
    Kind.HEADER: MOST_PLAN_BYTES + (1 << 20),
    Kind.MACHINE: MOST_MACHINE_BYTES,
    Kind.KEY: 32 << 20,
    Kind.DELTA: 32 << 20,
    Kind.END: 64,
}
"""The most bytes that the payload of each kind has before it is packed; a frame of 262,144 threads has about 15 MiB."""

_Seconds = Annotated[float, msgspec.Meta(ge=0, lt=1e12)]
_Text = Annotated[str, msgspec.Meta(max_length=4096)]
_Pid = Annotated[int, msgspec.Meta(ge=0, le=1 << 22)]
_Device = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
_Wanted = Annotated[list[tuple[_Pid, _Device | None, bool]], msgspec.Meta(max_length=1 << 16)]
_Number = Annotated[str, msgspec.Meta(max_length=64)]
_Many = msgspec.Meta(max_length=4096)
_Rows = Annotated[list[tuple[_Text, _Number]], _Many]
_Order = tuple[Annotated[list[_Number | None], _Many], _Text, bool]
_Plan = Annotated[bytes, msgspec.Meta(max_length=MOST_PLAN_BYTES)]


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a recording says of itself; on which host it was made is not kept."""

    numascope: _Text
    """Version of the numascope that wrote it."""
    wall_s: _Seconds
    """Wall-clock time at which it was begun."""
    interval_s: _Seconds
    window_s: _Seconds
    pending_for_s: _Seconds
    wanted: _Wanted
    """Whom the user gave: pid, its device where he named one, whether it is the scheduler."""
    plan_name: _Text | None = None
    plan: _Plan | None = None
    plan_dialect: _Number | None = None
    """What the plan was read as; None: by its content, as in recordings of earlier versions."""
    """The plan's bytes, unread."""
    plan_source: _Text = ""
    redacted: bool = True
    schema: Literal["numascope.recording/1"] = "numascope.recording/1"
    roles: Annotated[dict[_Number, _Rows], _Many] = {}
    """The user's own names of threads: section → start of a name, its role."""
    device_files: Annotated[dict[_Number, _Number], _Many] = {}
    device_orders: Annotated[dict[_Number, _Order], _Many] = {}
    """Which PCI device has which number, with the fields of `DeviceNumbers`."""


class DamagedError(ValueError):
    """A block that is whole and yet no block of a recording; the text says what is wrong."""


class Head(NamedTuple):
    """The fixed part of a block; `packed_bytes` follow it."""

    kind: Kind
    packed_bytes: int
    crc: int


def pack_block(kind: Kind, payload: bytes) -> bytes:
    """A whole block; DamagedError where no reader would take one that large."""
    if len(payload) > MOST_BYTES[kind]:
        raise DamagedError(f"is over {MOST_BYTES[kind] >> 20} MiB")
    packed = zlib.compress(payload)
    head = _HEAD.pack(kind, len(packed))
    return head + _CRC.pack(zlib.crc32(packed, zlib.crc32(head))) + packed


def parse_head(raw: bytes) -> Head:
    """Reads the fixed part of a block; DamagedError."""
    number, packed_bytes = _HEAD.unpack_from(raw)
    try:
        kind = Kind(number)
    except ValueError:
        raise DamagedError(f"there is no kind of block {number}") from None
    # What cannot be packed grows by 5 bytes in 16 KiB (RFC 1951, stored blocks).
    if packed_bytes > MOST_BYTES[kind] + MOST_BYTES[kind] // 1024 + 64:
        raise DamagedError(f"a block of {packed_bytes} bytes is too large")
    return Head(kind, packed_bytes, *_CRC.unpack_from(raw, _HEAD.size))


def unpack_payload(head: Head, packed: bytes) -> bytes:
    """The payload of a block; DamagedError, and never more memory than a payload of its kind may have."""
    if zlib.crc32(packed, zlib.crc32(_HEAD.pack(head.kind, head.packed_bytes))) != head.crc:
        raise DamagedError("its checksum is wrong")
    inflater = zlib.decompressobj()
    try:
        payload = inflater.decompress(packed, MOST_BYTES[head.kind] + 1)
    except zlib.error:
        raise DamagedError("it cannot be unpacked") from None
    if len(payload) > MOST_BYTES[head.kind] or not inflater.eof or inflater.unused_data:
        raise DamagedError("it is not what one block unpacks to")
    return payload


_HEADER_DECODER: Final = msgspec.msgpack.Decoder(Header)


def encode_header(header: Header) -> bytes:
    """The payload of the header block."""
    return msgspec.msgpack.encode(header)


def decode_header(payload: bytes) -> Header:
    """Reads the payload of the header block; msgspec.MsgspecError, ValueError."""
    return _HEADER_DECODER.decode(payload)


def printable(text: str) -> str:
    """A text of a recording as it may be shown: it was made safe before it was written, unless somebody else wrote it."""
    return text if text.isprintable() else safe_text(text)
