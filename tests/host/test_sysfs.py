from __future__ import annotations

from pathlib import Path

from numascope.cpuset import CpuSet
from numascope.host import sysfs
from numascope.host.root import HostRoot


def write(root: Path, files: dict[str, str]) -> HostRoot:
    for name, text in files.items():
        path = root / "sys/devices/system" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return HostRoot(str(root))


def test_new_and_old_names_of_topology_files_say_the_same(tmp_path: Path) -> None:
    new = write(tmp_path / "new", {"cpu/cpu1/topology/core_cpus": "3\n", "cpu/cpu1/topology/package_cpus": "f\n"})
    old = write(tmp_path / "old", {"cpu/cpu1/topology/thread_siblings": "3", "cpu/cpu1/topology/core_siblings": "f"})
    lists = write(
        tmp_path / "lists", {"cpu/cpu1/topology/core_cpus_list": "0-1\n", "cpu/cpu1/topology/core_siblings_list": "0-3"}
    )
    for root in (new, old, lists):
        (cpu,) = sysfs.read_cpus(root, None)
        assert (cpu.places["core"].cpus, cpu.places["package"].cpus) == (CpuSet.parse("0-1"), CpuSet.parse("0-3"))
        assert cpu.online is None


def test_an_offline_cpu_is_known_by_its_own_file_where_there_is_no_list(tmp_path: Path) -> None:
    root = write(tmp_path, {"cpu/cpu0/topology/core_id": "0", "cpu/cpu1/online": "0\n", "cpu/cpu2/online": "1\n"})
    assert [cpu.online for cpu in sysfs.read_cpus(root, None)] == [None, False, True]
    assert [cpu.online for cpu in sysfs.read_cpus(root, CpuSet.parse("1"))] == [False, True, False]


def test_names_that_only_look_like_cpus_are_none(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {"cpu/cpu10/online": "1", "cpu/cpu2/online": "1", "cpu/cpufreq/x": "", "cpu/cpu99999/online": "1"},
    )
    assert [cpu.number for cpu in sysfs.read_cpus(root, None)] == [2, 10]


def test_a_list_that_is_absent_is_unknown_and_one_that_is_empty_is_the_empty_set(tmp_path: Path) -> None:
    lists = sysfs.read_cpu_lists(write(tmp_path, {"cpu/isolated": "\n", "cpu/possible": "0-3\n"}))
    assert (lists.isolated, lists.possible, lists.present, lists.online) == (CpuSet(), CpuSet.parse("0-3"), None, None)


def test_a_node_is_read_from_its_list_else_its_mask_else_its_links(tmp_path: Path) -> None:
    root = write(
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


def test_a_cache_of_unknown_type_or_level_is_left_out(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "cpu/cpu0/cache/index0/level": "1",
            "cpu/cpu0/cache/index0/type": "Data",
            "cpu/cpu0/cache/index0/size": "32K",
            "cpu/cpu0/cache/index0/shared_cpu_map": "1",
            "cpu/cpu0/cache/index1/level": "2",
            "cpu/cpu0/cache/index2/type": "Unified",
        },
    )
    (cpu,) = sysfs.read_cpus(root, None)
    assert cpu.caches == (sysfs.CacheRecord(1, "Data", 32, CpuSet.parse("0")),)


def test_the_two_pmus_of_a_hybrid_processor_name_its_kinds(tmp_path: Path) -> None:
    for pmu, cpus in (("cpu_core", "0-11\n"), ("cpu_atom", "12-19\n")):
        (tmp_path / "sys/devices" / pmu).mkdir(parents=True)
        (tmp_path / "sys/devices" / pmu / "cpus").write_text(cpus)
    assert sysfs.read_kind_lists(HostRoot(str(tmp_path))) == {"P": CpuSet.span(0, 11), "E": CpuSet.span(12, 19)}
