"""The entries of single pages say the same as those of a window, and their frames are those that a PageMap tells."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterator

import pytest

from numascope.host.page_entries import ABSENT, ALONE, SHARED, PageEntries
from numascope.host.pagemap import PAGE_BYTES, PageMap
from numascope.host.root import HostRoot

pytestmark = pytest.mark.live
PAGES = 1_400
MADV_NOHUGEPAGE = 15


@pytest.fixture
def start() -> Iterator[int]:
    """The first of many pages: of three, the first was written, the second only read, and the third never touched."""
    with mmap.mmap(-1, PAGES * PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as kept:
        kept.madvise(MADV_NOHUGEPAGE)
        view = ctypes.c_char.from_buffer(kept)
        for page in range(0, PAGES, 3):
            kept[page * PAGE_BYTES] = 1
        assert sum(kept[page * PAGE_BYTES] for page in range(1, PAGES, 3)) == 0
        yield ctypes.addressof(view)
        del view


@pytest.fixture
def entries() -> Iterator[PageEntries]:
    kept = PageEntries(HostRoot(), os.getpid())
    yield kept
    kept.close()


def test_the_state_of_each_page_is_that_of_the_window(start: int, entries: PageEntries) -> None:
    addresses = [start + page * PAGE_BYTES for page in range(PAGES)]
    states = entries.states(start, start + PAGES * PAGE_BYTES)
    assert entries.states_of(addresses) == states
    assert entries.states_of(addresses[::-7]) == states[::-7]
    assert states[:3] == bytes([ALONE, SHARED, ABSENT])


def test_frames_are_those_that_single_reads_give(start: int, entries: PageEntries) -> None:
    addresses = [start + page * PAGE_BYTES for page in (*range(600), 900, 901, 700)]
    assert entries.frames(addresses) == PageMap.frames(entries, addresses)


def test_beyond_all_addresses_nothing_is_in_memory(entries: PageEntries) -> None:
    assert entries.states_of([0, (1 << 63) - PAGE_BYTES]) == bytes([ABSENT, ABSENT])
    assert entries.frames([(1 << 63) - PAGE_BYTES]) == [0]
    assert entries.frames([]) == []
