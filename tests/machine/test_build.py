from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from captures import expected

from numascope.cpuset import CpuSet
from numascope.errors import InputError
from numascope.host.root import MOST_BYTES, HostRoot
from numascope.machine.build import build_machine
from numascope.machine.objects import Machine

NAMES = sorted(expected()) or ["the store is absent"]

_BUILT: dict[str, Machine] = {}


@pytest.fixture
def built(request: pytest.FixtureRequest, stored_root: Callable[[str], Path]) -> tuple[str, Machine]:
    """A capture's name and the machine that numascope reads from it."""
    name: str = request.param
    if name not in _BUILT:
        root = HostRoot(str(stored_root(name)))
        _BUILT[name] = build_machine(root)
        root.close()
    return name, _BUILT[name]


def every_capture() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("built", NAMES, indirect=True)


def facts_of(name: str) -> dict[str, Any]:
    facts: dict[str, Any] = expected()[name]["facts"]
    return facts


@every_capture()
def test_each_package_has_a_number_of_its_own(built: tuple[str, Machine]) -> None:
    _, machine = built
    assert len({package.id for package in machine.packages}) == len(machine.packages)


@every_capture()
def test_dies_are_levels_of_their_own_only_where_a_package_has_several(built: tuple[str, Machine]) -> None:
    name, machine = built
    if "dies" not in facts_of(name):
        assert len(machine.dies) <= len(machine.packages)


@every_capture()
def test_no_memory_is_told_where_no_file_tells_it(built: tuple[str, Machine]) -> None:
    name, machine = built
    if "numa_memory_kib" not in facts_of(name):
        assert all(node.memory_kib is None for node in machine.nodes)


@every_capture()
def test_without_a_cpuset_that_narrows_them_all_cpus_are_allowed(built: tuple[str, Machine]) -> None:
    name, machine = built
    if "allowed_cpus" not in facts_of(name) and machine.cpus.allowed is not None:
        assert machine.cpus.allowed == machine.cpus.online


@every_capture()
def test_every_set_holds_online_cpus_only(built: tuple[str, Machine]) -> None:
    _, machine = built
    groups = (machine.packages, machine.dies, machine.clusters, machine.nodes, machine.caches, machine.cores)
    assert all(one.cpus <= machine.cpus.online for objects in groups for one in objects)
    assert machine.cpus.online <= machine.cpus.present <= machine.cpus.possible


@every_capture()
def test_no_cpu_is_in_two_packages_or_two_cores(built: tuple[str, Machine]) -> None:
    _, machine = built
    for objects in (machine.packages, machine.cores):
        assert sum(len(one.cpus) for one in objects) == len(CpuSet.of(cpu for one in objects for cpu in one.cpus))


@pytest.mark.parametrize("built", ["hwloc-8em64t-buggynuma"], indirect=True)
def test_cpus_that_all_nodes_list_are_of_no_node(built: tuple[str, Machine]) -> None:
    _, machine = built
    assert not machine.node_of
    assert any("contradictory" in note for note in machine.notes)
    assert all(core.node is None for core in machine.cores)


@pytest.mark.parametrize("built", ["lscpu-sparc64", "misc-ia64-56cpu", "lscpu-arm-A510-A710-A715-X3"], indirect=True)
def test_a_machine_without_node_directories_has_one_implicit_node(built: tuple[str, Machine]) -> None:
    _, machine = built
    assert [(node.id, node.cpus) for node in machine.nodes] == [(0, machine.cpus.online)]
    assert any("no NUMA nodes" in note for note in machine.notes)


@pytest.mark.parametrize("built", ["iree-ryzen7950x"], indirect=True)
def test_a_cluster_numbered_65535_is_no_cluster(built: tuple[str, Machine]) -> None:
    _, machine = built
    assert machine.clusters == ()


@pytest.mark.parametrize("built", ["hwloc-memorysidecaches"], indirect=True)
def test_memory_side_caches_belong_to_their_node(built: tuple[str, Machine]) -> None:
    _, machine = built
    found = [cache for cache in machine.caches if cache.memory_side]
    assert [(cache.size_kib, cache.cpus) for cache in found] == [(96 << 20, node.cpus) for node in machine.nodes]


@pytest.mark.parametrize(
    ("built", "arch"),
    [
        ("hwloc-96em64t-4n", "x86_64"),
        ("lscpu-arm-A510-A710-A715-X3", "aarch64"),
        ("lscpu-ppc64-POWER7-64cpu", None),
        ("nri-sysfs:sysfs/server", None),
    ],
    indirect=["built"],
)
def test_the_architecture_of_a_capture_is_never_guessed(built: tuple[str, Machine], arch: str | None) -> None:
    _, machine = built
    assert machine.arch == arch


def test_a_directory_without_cpus_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no cpuN directory"):
        build_machine(HostRoot(str(tmp_path)))


class CountingRoot(HostRoot):
    """Remembers each path that is read."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.paths: list[str] = []

    def read(self, path: str, limit: int = MOST_BYTES) -> bytes:
        """Counts, then reads."""
        self.paths.append(path.lstrip("/"))
        return super().read(path, limit)


def test_no_file_is_read_twice_and_a_cpu_costs_a_bounded_number_of_files(
    stored_root: Callable[[str], Path],
) -> None:
    root = CountingRoot(str(stored_root("lscpu-ia64-512cpus")))
    machine = build_machine(root)
    assert len(machine.cpus.online) == 512
    assert len(root.paths) == len(set(root.paths))
    assert len(root.paths) < 8 * 512


def test_cpus_without_a_tick_are_known(tmp_path: Path) -> None:
    """Where there are none, kernels write `(null)`."""
    cpus = tmp_path / "sys/devices/system/cpu"
    for number in range(4):
        (cpus / f"cpu{number}/topology").mkdir(parents=True)
    (cpus / "online").write_text("0-3\n")
    (cpus / "nohz_full").write_text("2-3\n")

    assert str(build_machine(HostRoot(str(tmp_path))).cpus.nohz_full) == "2-3"

    (cpus / "nohz_full").write_text("  (null)\n")

    assert not build_machine(HostRoot(str(tmp_path))).cpus.nohz_full
