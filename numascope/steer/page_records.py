"""The lines of a journal that speak of pages: where ranges of them lay and were to go, and what became of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Final, Literal, NamedTuple

import msgspec

from numascope.observe.windows import Ranges
from numascope.steer.fields import Natural, Pid, Text, Ticks

MOST_RANGES_TEXT: Final = 1 << 18
_USER_END: Final = 1 << 57
"""No address of a process is higher (five levels of page tables)."""

_Node = Annotated[int, msgspec.Meta(ge=0, lt=1 << 16)]
_PageKib = Annotated[int, msgspec.Meta(ge=4, le=1 << 24)]
_RangesText = Annotated[
    str,
    msgspec.Meta(
        max_length=MOST_RANGES_TEXT, pattern=r"^(?:[0-9a-f]{1,15}:[0-9a-f]{1,12}(?:,[0-9a-f]{1,12}:[0-9a-f]{1,12})*)?\Z"
    ),
]
"""`START:COUNT,GAP:COUNT,…` in hexadecimal: the first address, then counts of pages, and of the pages left out between."""


class Pages(msgspec.Struct, frozen=True, tag="pages", tag_field="line"):
    """Written and synced before the pages of these ranges are moved: all lie on node `before` and are to go to `after`."""

    pid: Pid
    starttime: Ticks
    """Of the process."""
    start_stack: Natural
    """Which program of the process: each exec draws a new stack. 0 where that is not known."""
    comm: Text
    rank: Text
    number: Natural
    """Counts these lines within an entry."""
    before: _Node
    after: _Node
    page_kib: _PageKib
    ranges: _RangesText


class PagesDone(msgspec.Struct, frozen=True, tag="pages-result", tag_field="line"):
    """What became of the ranges of that number, in pages of theirs; `kept` are those that we did not move."""

    pid: Pid
    starttime: Ticks
    number: Natural
    counts: dict[Text, Natural]
    huge: Natural
    kept: _RangesText


class PagesBack(msgspec.Struct, frozen=True, tag="pages-back", tag_field="line"):
    """In a revert: what became of all pages that its entry moved of this process, in pages of the machine."""

    pid: Pid
    starttime: Ticks
    result: Literal["done", "no-room", "interrupted", "gone", "raced", "refused"]
    counts: dict[Text, Natural]
    why: Text = ""


class Range(NamedTuple):
    """Pages side by side: the first one's address, and how many."""

    start: int
    pages: int


def ranges_text(ranges: Iterable[Range], page_bytes: int) -> str:
    """Ranges by rising address, as the journal keeps them."""
    parts: list[str] = []
    end = 0
    for start, pages in ranges:
        parts.append(f"{start:x}:{pages:x}" if not parts else f"{(start - end) // page_bytes:x}:{pages:x}")
        end = start + pages * page_bytes
    return ",".join(parts)


def parse_ranges(text: str, page_bytes: int) -> tuple[Range, ...]:
    """The ranges that the journal kept; what lies where no process has addresses is left out."""
    return tuple(_ranges(text, page_bytes))


def _ranges(text: str, page_bytes: int) -> Iterator[Range]:
    end = 0
    for number, part in enumerate(text.split(",") if text else ()):
        first, _, count = part.partition(":")
        start = end + int(first, 16) * page_bytes if number else int(first, 16)
        pages = int(count, 16)
        end = start + pages * page_bytes
        if end > _USER_END:
            return
        if pages:
            yield Range(start, pages)


def without(ranges: Iterable[Range], kept: Iterable[Range], page_bytes: int) -> tuple[Range, ...]:
    """The ranges but for those that were kept; both are of pages of that size, on its boundaries."""
    left = _numbers(ranges, page_bytes).without(_numbers(kept, page_bytes))
    return tuple(Range(first * page_bytes, end - first) for first, end in left.pairs)


def _numbers(ranges: Iterable[Range], page_bytes: int) -> Ranges:
    return Ranges((one.start // page_bytes, one.start // page_bytes + one.pages) for one in ranges)


def addresses_of(ranges: Iterable[Range], page_bytes: int) -> list[int]:
    """The address of each page."""
    found: list[int] = []
    for start, pages in ranges:
        found.extend(range(start, start + pages * page_bytes, page_bytes))
    return found


def joined(addresses: Iterable[int], page_bytes: int) -> tuple[Range, ...]:
    """Rising addresses of pages as ranges."""
    found: list[Range] = []
    for address in addresses:
        if found and found[-1].start + found[-1].pages * page_bytes == address:
            found[-1] = Range(found[-1].start, found[-1].pages + 1)
        else:
            found.append(Range(address, 1))
    return tuple(found)
