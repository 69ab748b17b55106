"""Every page of a process listed, against what the process has touched and what the kernel counts."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from memory_programs import PLACING
from processes import program
from roots import root_of

from numascope.cpuset import CpuSet
from numascope.host.root import AbsentError, HostRoot
from numascope.observe.memory_look import walk
from numascope.steer.page_room import Rooms
from numascope.steer.pages import PageLister, PageRun, survey_pages

pytestmark = pytest.mark.live

ROOT = HostRoot()
HOLD = "\nready(); time.sleep(100_000)"


def listed(pid: int, *, skip: bool = True) -> list[PageRun]:
    lister = PageLister(ROOT, pid)
    try:
        if not skip:
            lister._entries.can_skip = False
        return list(lister.runs())
    finally:
        lister.close()


def base_pages(runs: list[PageRun]) -> int:
    return sum(one.base_pages for one in runs)


@pytest.mark.parametrize("skip", [True, False], ids=["PAGEMAP_SCAN", "pagemap"])
def test_as_many_pages_are_listed_as_the_kernel_counts(skip: bool) -> None:
    with program(PLACING + "touch(mapped(40 * MIB), 40 * MIB)" + HOLD) as child:
        runs = listed(child.pid, skip=skip)
        counted = walk(ROOT, child.pid).total.resident_kib
    assert counted is not None
    assert base_pages(runs) * 4 == pytest.approx(counted, rel=0.05)
    assert all(one.start < other.start for one, other in pairwise(runs))


@pytest.mark.parametrize("skip", [True, False], ids=["PAGEMAP_SCAN", "pagemap"])
def test_thin_memory_of_a_large_reservation_is_found(skip: bool) -> None:
    code = """
thin = mapped(4 * GIB, PRIVATE | ANONYMOUS | NORESERVE)
libc.madvise(ctypes.c_void_p(thin), ctypes.c_size_t(4 * GIB), 15)
for at in range(0, 4 * GIB, 32 * MIB): touch(thin + at, 1)
print(hex(thin), file=sys.stderr, flush=True)
"""
    with program(PLACING + code + HOLD) as child:
        runs = [one for one in listed(child.pid, skip=skip) if one.pages == 1]
    steps = [other.start - one.start for one, other in pairwise(runs)]
    assert steps.count(32 << 20) >= 127


def test_pages_of_a_parent_and_its_child_are_no_ones_alone() -> None:
    code = "place(20 * MIB, [0])\nif os.fork() == 0: time.sleep(100_000)\n"
    with program(PLACING + code + HOLD) as child:
        runs = listed(child.pid)
    assert base_pages([one for one in runs if not one.is_alone]) >= 20 * 256


def test_a_survey_says_what_is_on_the_wanted_nodes_and_what_would_move() -> None:
    with program(PLACING + "place(20 * MIB, [0])" + HOLD) as child:
        lister = PageLister(ROOT, child.pid)
        here, away = (survey_pages(lister, CpuSet.of([node])) for node in (0, 63))
        lister.close()
    assert here.pages_to_move == sum(here.shared.values()) == 0
    assert away.pages_to_move >= 20 * 256
    assert away.pages == away.pages_to_move + sum(away.shared.values())


def test_a_process_that_is_gone_has_no_pages() -> None:
    with program(HOLD) as child:
        pid = child.pid
    with pytest.raises(AbsentError):
        PageLister(ROOT, pid)


def test_clean_page_cache_is_room_only_where_it_may_be_pushed_out(tmp_path: Path) -> None:
    files = {
        "sys/devices/system/node/node0/meminfo": (
            "Node 0 MemTotal: 9000 kB\nNode 0 MemFree: 500 kB\nNode 0 Active(file): 4000 kB\n"
            "Node 0 Inactive(file): 2000 kB\nNode 0 Dirty: 1000 kB\nNode 0 FilePages: 6000 kB\n"
        ),
        "proc/zoneinfo": "Node 0, zone Normal\n  pages free 125\n        high 25\n        managed 2250\n        protection: (0, 0)\n",
    }
    root = root_of(tmp_path, files)
    kept, pushed = Rooms(root), Rooms(root, push_out=True)
    kept.refresh()
    pushed.refresh()
    assert kept.kib(CpuSet.of([0])) == {0: 400}
    assert pushed.kib(CpuSet.of([0])) == {0: 5_400}


def test_room_is_counted_down_and_a_closed_node_has_none() -> None:
    rooms = Rooms(ROOT)
    rooms.refresh()
    nodes = CpuSet.of([0])
    node, had = rooms.roomiest(nodes, 4096)
    rooms.take(node, 4096, 100)
    assert had > 100
    assert rooms.of(node, 4096) == had - 100
    rooms.close(node, 4096)
    assert rooms.of(node, 4096) == 0
    assert rooms.of(63, 4096) == 0
