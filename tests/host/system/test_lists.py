from __future__ import annotations

from pathlib import Path

from roots import system_root

from numascope.cpuset import CpuSet
from numascope.host.root import HostRoot
from numascope.host.system import lists as sysfs


def test_a_list_that_is_absent_is_unknown_and_one_that_is_empty_is_the_empty_set(tmp_path: Path) -> None:
    lists = sysfs.read_cpu_lists(system_root(tmp_path, {"cpu/isolated": "\n", "cpu/possible": "0-3\n"}))
    assert (lists.isolated, lists.possible, lists.present, lists.online) == (CpuSet(), CpuSet.parse("0-3"), None, None)


def test_a_node_is_read_from_its_list_else_its_mask_else_its_links(tmp_path: Path) -> None:
    root = system_root(
        tmp_path,
        {
            "node/node0/cpulist": "0-1\n",
            "node/node0/meminfo": "Node 0 MemTotal: 8 kB\nNode 0 MemFree: 4 kB\n",
            "node/node0/distance": "10 21 21 21\n",
            "node/node2/cpumap": "0000,0000000c",
            "node/node5/cpu4/uevent": "",
            "node/node9/cpulist": "\n",
        },
    )
    nodes = sysfs.read_nodes(root)
    assert [(node.number, str(node.cpus)) for node in nodes] == [(0, "0-1"), (2, "2-3"), (5, "4"), (9, "")]
    assert (nodes[0].memory, nodes[0].distances) == ((8, 4), (10, 21, 21, 21))
    assert nodes[1].memory == (None, None)


def test_the_two_pmus_of_a_hybrid_processor_name_its_kinds(tmp_path: Path) -> None:
    for pmu, cpus in (("cpu_core", "0-11\n"), ("cpu_atom", "12-19\n")):
        (tmp_path / "sys/devices" / pmu).mkdir(parents=True)
        (tmp_path / "sys/devices" / pmu / "cpus").write_text(cpus)
    assert sysfs.read_kind_lists(HostRoot(str(tmp_path))) == {"P": CpuSet.span(0, 11), "E": CpuSet.span(12, 19)}
