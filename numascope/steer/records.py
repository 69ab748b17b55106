"""The lines of a journal file, typed: every field is checked on reading, since a record is data and never instructions."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal, NamedTuple

import msgspec

from numascope.cpuset import CpuSet
from numascope.host.text import safe_text
from numascope.review.change import Outcome
from numascope.steer.fields import Mask, Natural, Pid, Seconds, Text, Ticks
from numascope.steer.page_records import Pages, PagesBack, PagesDone

SCHEMA: Final = "numascope.journal/1"

Kind = Literal["apply", "revert", "hold", "move"]
"""`move` is an apply that moved pages; all others are about masks, but for the revert of one."""


class Header(msgspec.Struct, frozen=True, tag="header", tag_field="line"):
    """The first line: who wrote this entry, when, in which boot and namespaces, and by which plan."""

    schema: Literal["numascope.journal/1"]
    id: Natural
    kind: Kind
    wall_s: Seconds
    began_ticks: Ticks
    """Clock ticks since boot when the first undo record was written; the first change was at least one tick later."""
    host: Text
    uid: Natural
    boot_id: Text
    pid_namespace: Natural
    time_namespace: Natural
    plan: Text | None = None
    plan_sha256: Text | None = None
    title: Text = ""
    """The job, as screens name it."""
    reverts: Natural | None = None
    """The entry whose changes this one takes back."""


class Intent(msgspec.Struct, frozen=True, tag="intent", tag_field="line"):
    """Written and synced before a thread's mask is set: what it is now and what it will be."""

    pid: Pid
    tid: Pid
    starttime: Ticks
    process_starttime: Ticks
    comm: Text
    label: Text
    rank: Text
    role: Text
    before: Mask
    """`Cpus_allowed` of `status`, offline CPUs among it, in hexadecimal."""
    before_was_cpuset: bool
    after: Mask


class Done(msgspec.Struct, frozen=True, tag="result", tag_field="line"):
    """What became of it; `read_back` is the mask that the thread had then, null where it could not be read."""

    pid: Pid
    tid: Pid
    starttime: Ticks
    result: Outcome
    read_back: Mask | None = None
    why: Text = ""


Record = Header | Intent | Done | Pages | PagesDone | PagesBack

_DECODER: Final = msgspec.json.Decoder(Record)
_ENCODER: Final = msgspec.json.Encoder()


class Damage(NamedTuple):
    """A line that cannot be used, and why; its place as `path:line`."""

    place: str
    problem: str

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}"


def hex_mask(cpus: CpuSet) -> str:
    """A set as the journal keeps it."""
    return f"{cpus.bits:x}"


@lru_cache(maxsize=1 << 10)
def from_hex(mask: str) -> CpuSet:
    """A set that the journal kept."""
    return CpuSet(int(mask, 16))


def printable(text: str) -> str:
    """A text of a record as it may be shown: it was made safe before it was written, unless somebody else wrote it."""
    return text if text.isprintable() else safe_text(text)


def encode(records: list[Record]) -> bytes:
    """The lines of these records."""
    return b"".join(_ENCODER.encode(one) + b"\n" for one in records)


def decode(data: bytes, path: str) -> tuple[list[Record], list[Damage]]:
    """The records of a file and what in it cannot be used; a last line without its end was never finished and is left out."""
    records: list[Record] = []
    damages: list[Damage] = []
    lines = data.split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        try:
            record = _DECODER.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            damages.append(Damage(f"{path}:{number}", safe_text(str(error))[:200]))
            continue
        if isinstance(record, Header) != (number == 1):
            damages.append(Damage(f"{path}:{number}", "a header belongs in line 1 and nowhere else"))
            continue
        records.append(record)
    return records, damages
