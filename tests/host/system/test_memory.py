"""Huge pages, HMAT figures, memory tiers, kinds of memory and offline nodes, from files as kernels write them."""

from __future__ import annotations

from pathlib import Path

from roots import system_root

from numascope.cpuset import CpuSet
from numascope.host.root import HostRoot
from numascope.host.system import memory as node_memory
from numascope.host.system.memory import AccessRecord, HugePageRecord


def test_pools_that_hold_huge_pages_are_told_by_size(tmp_path: Path) -> None:
    pools = {"hugepages-1048576kB": (0, 0), "hugepages-2048kB": (512, 3), "hugepages-16777216kB": (2, 2)}
    files = {}
    for name, (total, free) in pools.items():
        files[f"node/node1/hugepages/{name}/nr_hugepages"] = f"{total}\n"
        files[f"node/node1/hugepages/{name}/free_hugepages"] = f"{free}\n"
    root = system_root(tmp_path, {**files, "node/node1/hugepages/hugepages-xkB/nr_hugepages": "7"})
    assert node_memory.read_huge_pages(root, 1) == (HugePageRecord(2048, 512, 3), HugePageRecord(16_777_216, 2, 2))
    assert node_memory.read_huge_pages(root, 0) == ()


def test_access_is_told_by_class_with_its_initiators_and_a_figure_of_0_is_unknown(tmp_path: Path) -> None:
    root = system_root(
        tmp_path,
        {
            "node/node2/access0/initiators/node0/uevent": "",
            "node/node2/access0/initiators/node1/uevent": "",
            "node/node2/access0/initiators/read_latency": "90\n",
            "node/node2/access0/initiators/write_latency": "0\n",
            "node/node2/access0/initiators/read_bandwidth": "131072\n",
            "node/node2/access1/initiators/node0/uevent": "",
            "node/node2/access5/targets/node9/uevent": "",
        },
    )
    assert node_memory.read_access(root, 2) == (
        AccessRecord(0, CpuSet.parse("0-1"), 90, None, 131_072, None),
        AccessRecord(1, CpuSet.parse("0"), None, None, None, None),
    )


def test_tiers_and_offline_nodes_come_from_their_lists(tmp_path: Path) -> None:
    root = system_root(tmp_path, {"node/possible": "0-7\n", "node/online": "0-1,4\n"})
    for name, nodes in (("memory_tier4", "0-1\n"), ("memory_tier961", "4\n"), ("other", "9\n")):
        directory = tmp_path / "sys/devices/virtual/memory_tiering" / name
        directory.mkdir(parents=True)
        (directory / "nodelist").write_text(nodes)
    assert node_memory.read_tiers(root) == {4: CpuSet.parse("0-1"), 961: CpuSet.parse("4")}
    assert node_memory.read_offline_nodes(root) == CpuSet.parse("2-3,5-7")
    assert node_memory.read_offline_nodes(system_root(tmp_path / "none", {"node/online": "0"})) == CpuSet()


def test_memory_that_a_driver_added_is_of_its_kind(tmp_path: Path) -> None:
    devices = tmp_path / "sys/bus/dax/devices"
    devices.mkdir(parents=True)
    for name, target, node in (
        ("dax0.0", "platform/ACPI0012:00/ndbus0/region0/dax0.0/dax0.0", "2"),
        ("dax1.0", "platform/ACPI0017:00/root0/decoder0.0/region1/dax_region1/dax1.0", "3"),
        ("dax2.0", "platform/hmem.0/dax2.0", "4"),
        ("dax3.0", "platform/unheard-of/dax3.0", "5"),
        ("dax4.0", "platform/hmem.1/dax4.0", "-1"),
    ):
        directory = tmp_path / "sys/devices" / target
        directory.mkdir(parents=True)
        (directory / "target_node").write_text(f"{node}\n")
        (devices / name).symlink_to(f"../../../devices/{target}")
    gpu = tmp_path / "proc/driver/nvidia/gpus/0000:0f:00.0"
    gpu.mkdir(parents=True)
    (gpu / "numa_status").write_text("Node: 16\nStatus: online\n")
    root = HostRoot(str(tmp_path))
    assert node_memory.read_node_kinds(root) == {2: "PMEM", 3: "CXL", 4: "SPM", 16: "GPU"}
