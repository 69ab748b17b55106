"""Each CPU's place and caches, and that what its siblings have told is not read again."""

from __future__ import annotations

from pathlib import Path

from roots import CountingRoot, system_root

from numascope.cpuset import CpuSet
from numascope.host.system.cpus import CacheRecord, read_cpus


def machine(folder: Path, cpus: int, threads: int) -> CountingRoot:
    """So many CPUs in one package with one L3, so many of them to a core with an L1."""
    files: dict[str, str] = {}
    every = f"{(1 << cpus) - 1:x}"
    for cpu in range(cpus):
        core = f"{((1 << threads) - 1) << cpu // threads * threads:x}"
        files |= {
            f"cpu/cpu{cpu}/topology/core_id": str(cpu // threads),
            f"cpu/cpu{cpu}/topology/physical_package_id": "0",
            f"cpu/cpu{cpu}/topology/core_cpus": core,
            f"cpu/cpu{cpu}/topology/package_cpus": every,
        }
        for index, level, kind, sharers in ((0, 1, "Data", core), (3, 3, "Unified", every)):
            files |= {
                f"cpu/cpu{cpu}/cache/index{index}/level": str(level),
                f"cpu/cpu{cpu}/cache/index{index}/type": kind,
                f"cpu/cpu{cpu}/cache/index{index}/size": "32K",
                f"cpu/cpu{cpu}/cache/index{index}/shared_cpu_map": sharers,
            }
    system_root(folder, files)
    return CountingRoot(str(folder))


def test_new_and_old_names_of_topology_files_say_the_same(tmp_path: Path) -> None:
    new = system_root(tmp_path / "new", {"cpu/cpu1/topology/core_cpus": "3\n", "cpu/cpu1/topology/package_cpus": "f\n"})
    old = system_root(
        tmp_path / "old", {"cpu/cpu1/topology/thread_siblings": "3", "cpu/cpu1/topology/core_siblings": "f"}
    )
    lists = system_root(
        tmp_path / "lists", {"cpu/cpu1/topology/core_cpus_list": "0-1\n", "cpu/cpu1/topology/core_siblings_list": "0-3"}
    )
    for root in (new, old, lists):
        (cpu,) = read_cpus(root, None)
        assert (cpu.places["core"].cpus, cpu.places["package"].cpus) == (CpuSet.parse("0-1"), CpuSet.parse("0-3"))
        assert cpu.online is None


def test_an_offline_cpu_is_known_by_its_own_file_where_there_is_no_list(tmp_path: Path) -> None:
    root = system_root(tmp_path, {"cpu/cpu0/topology/core_id": "0", "cpu/cpu1/online": "0\n", "cpu/cpu2/online": "1\n"})
    assert [cpu.online for cpu in read_cpus(root, None)] == [None, False, True]
    assert [cpu.online for cpu in read_cpus(root, CpuSet.parse("1"))] == [False, True, False]


def test_names_that_only_look_like_cpus_are_none(tmp_path: Path) -> None:
    root = system_root(
        tmp_path,
        {"cpu/cpu10/online": "1", "cpu/cpu2/online": "1", "cpu/cpufreq/x": "", "cpu/cpu99999/online": "1"},
    )
    assert [cpu.number for cpu in read_cpus(root, None)] == [2, 10]


def test_a_cache_of_unknown_type_or_level_is_left_out(tmp_path: Path) -> None:
    root = system_root(
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
    (cpu,) = read_cpus(root, None)
    assert cpu.caches == (CacheRecord(1, "Data", 32, CpuSet.parse("0")),)


def test_a_shared_cache_and_a_package_are_read_once_and_a_core_by_each_of_its_threads(tmp_path: Path) -> None:
    root = machine(tmp_path, 16, 2)
    records = read_cpus(root, CpuSet.span(0, 15))
    assert sum(path.endswith("index3/shared_cpu_map") for path in root.seen) == 1
    assert sum(path.endswith("index0/shared_cpu_map") for path in root.seen) == 8
    assert sum(path.endswith("package_cpus") for path in root.seen) == 1
    assert sum(path.endswith("core_cpus") for path in root.seen) == 16
    assert {str(one.places["package"].cpus) for one in records} == {"0-15"}
    assert [len(one.caches) for one in records] == [2, 0, *([1, 0] * 7)]
    assert len(root.seen) == len(set(root.seen)), "no file is read twice"


def test_a_cpu_that_gives_its_package_another_number_is_asked_for_its_own_set(tmp_path: Path) -> None:
    machine(tmp_path, 4, 1)
    changed = {"cpu/cpu2/topology/physical_package_id": "1", "cpu/cpu2/topology/package_cpus": "4"}
    records = read_cpus(system_root(tmp_path, changed), CpuSet.span(0, 3))
    assert [str(one.places["package"].cpus) for one in records] == ["0-3", "0-3", "2", "0-3"]


def test_threads_that_disagree_on_their_core_are_both_heard(tmp_path: Path) -> None:
    machine(tmp_path, 4, 2)
    records = read_cpus(system_root(tmp_path, {"cpu/cpu1/topology/core_cpus": "2"}), CpuSet.span(0, 3))
    assert [str(one.places["core"].cpus) for one in records] == ["0-1", "1", "2-3", "2-3"]
