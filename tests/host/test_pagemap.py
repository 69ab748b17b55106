"""Which pages are in memory, and on which node: asked of this process, whose pages are known."""

from __future__ import annotations

import ast
import contextlib
import ctypes
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import program

import numascope.host.page_nodes
from numascope.host.page_nodes import PageNodes
from numascope.host.pagemap import PAGE_BYTES, WINDOW_BYTES, PageMap, Run
from numascope.host.root import AbsentError, HostRoot
from numascope.host.system.lists import numbers_of

pytestmark = pytest.mark.live

ROOT = HostRoot()
PAGES = 3 * WINDOW_BYTES // PAGE_BYTES
TOUCHED = {0, 1, 2, 7, 511, 512, 700, PAGES - 1}
MADV_NOHUGEPAGE = 15


@pytest.fixture
def memory() -> Iterator[int]:
    """The address of three windows of memory, of which a few pages were touched."""
    with mmap.mmap(-1, 4 * WINDOW_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as area:
        area.madvise(MADV_NOHUGEPAGE)
        view = ctypes.c_char.from_buffer(area)
        start = -(-ctypes.addressof(view) // WINDOW_BYTES) * WINDOW_BYTES
        for page in TOUCHED:
            ctypes.memset(start + page * PAGE_BYTES, 1, 1)
        yield start
        del view


@pytest.fixture
def page_map() -> Iterator[PageMap]:
    one = PageMap(ROOT, os.getpid())
    yield one
    one.close()


def pages_of(runs: list[Run], start: int) -> set[int]:
    return {page for first, end in runs for page in range((first - start) // PAGE_BYTES, (end - start) // PAGE_BYTES)}


@pytest.mark.parametrize("can_skip", [True, False])
def test_exactly_the_touched_pages_are_in_memory(memory: int, page_map: PageMap, can_skip: bool) -> None:
    if can_skip and not page_map.can_skip:
        pytest.skip("PAGEMAP_SCAN came with Linux 6.7")
    page_map.can_skip = can_skip
    windows = [page_map.runs(memory + at * WINDOW_BYTES, memory + (at + 1) * WINDOW_BYTES) for at in range(3)]
    assert {page for runs in windows for page in pages_of(runs, memory)} == TOUCHED


def test_a_scan_stops_once_it_has_enough(memory: int, page_map: PageMap) -> None:
    if not page_map.can_skip:
        pytest.skip("PAGEMAP_SCAN came with Linux 6.7")
    found = page_map.scan(memory, memory + 3 * WINDOW_BYTES, 4)
    assert pages_of(found.runs, memory) == {0, 1, 2, 7}
    assert memory + 8 * PAGE_BYTES <= found.until <= memory + 511 * PAGE_BYTES


def test_looking_touches_nothing(memory: int, page_map: PageMap) -> None:
    def touched() -> int:
        starts = range(memory, memory + 3 * WINDOW_BYTES, WINDOW_BYTES)
        return sum(len(pages_of(page_map.runs(start, start + WINDOW_BYTES), memory)) for start in starts)

    for can_skip in (page_map.can_skip, False):
        page_map.can_skip = can_skip
        assert touched() == len(TOUCHED)
        PageNodes(os.getpid()).ask([memory + page * PAGE_BYTES for page in range(PAGES)])
        assert touched() == len(TOUCHED)


def test_only_pages_in_memory_have_a_node_and_they_keep_it(memory: int) -> None:
    nodes = PageNodes(os.getpid()).ask([memory + page * PAGE_BYTES for page in range(PAGES)])
    assert {page for page, node in enumerate(nodes) if node >= 0} == TOUCHED
    assert {node for node in nodes if node >= 0} <= set(numbers_of(ROOT, "sys/devices/system/node", "node"))
    assert PageNodes(os.getpid()).ask([]) == []


def test_a_process_that_is_gone_is_absent() -> None:
    with program("ready(); sleep()") as child:
        kept = PageMap(ROOT, child.pid)
    with contextlib.suppress(AbsentError):  # PAGEMAP_SCAN says so, a read of the file has nothing to give
        assert kept.runs(0x400000, 0x400000 + WINDOW_BYTES) == []
    kept.close()
    with pytest.raises(AbsentError):
        PageMap(ROOT, child.pid)
    with pytest.raises(AbsentError):
        PageNodes(child.pid).ask([0x400000])


def test_nodes_are_only_asked_for_never_given() -> None:
    """The fourth argument of move_pages(2), with which it would move pages, is one null pointer in the only call that there is."""
    tree = ast.parse(Path(numascope.host.page_nodes.__file__).read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "self._call"]
    assert [ast.unparse(call.args[4]) for call in calls] == ["_NOWHERE"]
    assert numascope.host.page_nodes._NOWHERE.value is None
