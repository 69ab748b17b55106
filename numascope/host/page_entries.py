"""Which pages of a window are in memory, and which of these this process alone maps, from the entries of `pagemap`."""

from __future__ import annotations

import array
import errno
import os
from collections.abc import Iterator, Sequence
from typing import Final

from numascope.host.pagemap import PAGE_BYTES, PageMap
from numascope.host.root import as_host_error

ABSENT: Final = 0
SHARED: Final = 1
ALONE: Final = 2

_ENTRY_BYTES: Final = 8
_PRESENT: Final = 0x80
_EXCLUSIVE: Final = 0x01
_FRAME: Final = (1 << 55) - 1
_MOST_AT_ONCE: Final = 1 << 9
_WHAT: Final = bytes(ABSENT if not byte & _PRESENT else ALONE if byte & _EXCLUSIVE else SHARED for byte in range(256))
"""The highest byte of an entry: bit 63 in memory, bit 56 mapped by this process alone (Documentation/admin-guide/mm/pagemap.rst)."""


class PageEntries(PageMap):
    """The kept `pagemap` of a process, whose entries also tell what other processes map too."""

    def states(self, start: int, end: int) -> bytes:
        """ABSENT, SHARED or ALONE for each page between two addresses; empty once the process is gone. DeniedError."""
        size, place = ((at // PAGE_BYTES) * _ENTRY_BYTES for at in (end - start, start))
        try:
            raw = os.pread(self._file, size, place)
        except OSError as error:
            if error.errno == errno.EFAULT:  # beyond the end of what a process can address
                return b""
            raise as_host_error(error, self._path) from error
        return raw[_ENTRY_BYTES - 1 :: _ENTRY_BYTES].translate(_WHAT)

    def states_of(self, addresses: Sequence[int]) -> bytes:
        """ABSENT, SHARED or ALONE for the page at each address. AbsentError, DeniedError."""
        return bytes(_WHAT[entry >> 56] for entry in self._entries(addresses))

    def frames(self, addresses: Sequence[int]) -> list[int]:
        """As PageMap tells them, with one read for pages side by side."""
        return [entry & _FRAME if entry >> 63 else 0 for entry in self._entries(addresses)]

    def _entries(self, addresses: Sequence[int]) -> Iterator[int]:
        for first, count in _side_by_side(addresses):
            try:
                raw = os.pread(self._file, count * _ENTRY_BYTES, first // PAGE_BYTES * _ENTRY_BYTES)
            except OSError as error:
                if error.errno != errno.EFAULT:  # beyond the end of what a process can address
                    raise as_host_error(error, self._path) from error
                raw = b""
            yield from array.array("Q", raw.ljust(count * _ENTRY_BYTES, b"\0"))


def _side_by_side(addresses: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first of pages that follow each other, and how many they are."""
    first, count = -1, 0
    for address in addresses:
        if count and count < _MOST_AT_ONCE and address == first + count * PAGE_BYTES:
            count += 1
            continue
        if count:
            yield first, count
        first, count = address, 1
    if count:
        yield first, count
