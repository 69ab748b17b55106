"""Pages that the kernel does not tell of are found by their frames; the page of zeros and what is not in memory stay untold."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from numascope.host.hidden_pages import HiddenPages
from numascope.host.page_nodes import PageNodes
from numascope.host.pagemap import PAGE_BYTES, PageMap
from numascope.host.root import HostRoot

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(os.geteuid() != 0, reason="frames are told to root only"),
    pytest.mark.skipif(not Path("/sys/devices/system/memory").exists(), reason="this kernel has no memory blocks"),
]
ROOT = HostRoot()
WRITTEN, READ, UNTOUCHED = range(8), range(8, 16), range(16, 24)
MADV_NOHUGEPAGE = 15


class Silent(PageNodes):
    """Answers for every page as Linux 6.1 does for those that NUMA balancing watches."""

    def ask(self, addresses: Sequence[int]) -> list[int]:
        """-EFAULT."""
        return [-14] * len(addresses)


@pytest.fixture
def memory() -> Iterator[list[int]]:
    """The addresses of pages of which some were written, some only read, and some never touched."""
    with mmap.mmap(-1, 24 * PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as kept:
        kept.madvise(MADV_NOHUGEPAGE)
        view = ctypes.c_char.from_buffer(kept)
        start = ctypes.addressof(view)
        for page in WRITTEN:
            kept[page * PAGE_BYTES] = 1
        assert sum(kept[page * PAGE_BYTES] for page in READ) == 0
        yield [start + page * PAGE_BYTES for page in range(24)]
        del view


@pytest.fixture
def page_map() -> Iterator[PageMap]:
    kept = PageMap(ROOT, os.getpid())
    yield kept
    kept.close()


def test_pages_that_were_written_are_found_on_the_node_that_the_kernel_would_have_told(
    memory: list[int], page_map: PageMap
) -> None:
    told = PageNodes(os.getpid()).ask(memory)
    found = HiddenPages(ROOT, page_map, Silent(os.getpid())).ask(memory)

    assert [found[page] for page in WRITTEN] == [told[page] for page in WRITTEN]
    assert min(found[page] for page in WRITTEN) >= 0


def test_the_page_of_zeros_and_what_is_not_in_memory_are_on_no_node(memory: list[int], page_map: PageMap) -> None:
    found = HiddenPages(ROOT, page_map, Silent(os.getpid())).ask(memory)
    assert {found[page] for page in (*READ, *UNTOUCHED)} == {-14}


def test_a_page_that_was_told_is_left_as_it_was(memory: list[int], page_map: PageMap, tmp_path: Path) -> None:
    told = PageNodes(os.getpid())
    written = memory[: len(WRITTEN)]
    assert HiddenPages(HostRoot(str(tmp_path)), page_map, told).ask(written) == told.ask(written)


def test_without_memory_blocks_nothing_is_found(memory: list[int], page_map: PageMap, tmp_path: Path) -> None:
    found = HiddenPages(HostRoot(str(tmp_path)), page_map, Silent(os.getpid())).ask(memory)
    assert set(found) == {-14}


def test_a_node_is_that_of_the_memory_block(memory: list[int], page_map: PageMap, tmp_path: Path) -> None:
    blocks = tmp_path / "sys/devices/system/memory"
    blocks.mkdir(parents=True)
    (blocks / "block_size_bytes").write_text("8000000\n")
    for block in range(4096):
        (tmp_path / f"sys/devices/system/node/node5/memory{block}").mkdir(parents=True)
    found = HiddenPages(HostRoot(str(tmp_path)), page_map, Silent(os.getpid())).ask(memory)
    assert {found[page] for page in WRITTEN} == {5}
