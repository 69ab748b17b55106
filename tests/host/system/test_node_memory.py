"""A node's memory and allocations, and what the kernel is told, in a root made for it and on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from numascope.host.root import HostRoot
from numascope.host.system.node_memory import NodeMemory, read_memory_settings, read_node_memory

MEMINFO = """Node 3 MemTotal:       16738080 kB
Node 3 MemFree:        12947652 kB
Node 3 Active(file):     800000 kB
Node 3 Inactive(file):   700000 kB
Node 3 Dirty:             50000 kB
Node 3 Writeback:          1000 kB
Node 3 FilePages:       1575640 kB
Node 3 Shmem:              5640 kB
"""
NUMASTAT = "numa_hit 10\nnuma_miss 2\nnuma_foreign 3\ninterleave_hit 1\nlocal_node 9\nother_node 4\n"


def test_a_node_is_told_with_its_page_cache_and_its_allocations(tmp_path: Path) -> None:
    directory = tmp_path / "sys/devices/system/node/node3"
    directory.mkdir(parents=True)
    (directory / "meminfo").write_text(MEMINFO)
    (directory / "numastat").write_text(NUMASTAT)
    (found,) = read_node_memory(HostRoot(str(tmp_path)))
    assert found == NodeMemory(3, 16_738_080, 12_947_652, 1_570_000, 10, 2, 3, 4, 1_449_000)


def test_what_no_file_tells_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "sys/devices/system/node/node0").mkdir(parents=True)
    root = HostRoot(str(tmp_path))
    assert read_node_memory(root) == (NodeMemory(0, None, None, None, None, None, None, None),)
    assert read_memory_settings(root) == (None, None, {})


def test_settings_and_counters_of_balancing_are_read(tmp_path: Path) -> None:
    for name, text in (("vm/zone_reclaim_mode", "1\n"), ("kernel/numa_balancing", "0\n")):
        path = tmp_path / "proc/sys" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    (tmp_path / "proc/vmstat").write_text("numa_hit 5\nnuma_pte_updates 7\nnuma_pages_migrated 2\n")
    found = read_memory_settings(HostRoot(str(tmp_path)))
    assert (found.zone_reclaim_mode, found.numa_balancing) == (1, 0)
    assert found.balancing == {"numa_pte_updates": 7, "numa_pages_migrated": 2}


@pytest.mark.live
def test_nodes_of_this_machine_have_less_free_than_they_have() -> None:
    for one in read_node_memory(HostRoot()):
        if one.total_kib is not None and one.free_kib is not None:
            assert one.free_kib <= one.total_kib
