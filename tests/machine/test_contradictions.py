"""Machines whose CPUs contradict each other: what is believed, and the note with its paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.machine.objects import Machine

CPUS = "/sys/devices/system/cpu"


def tree(root: Path) -> Path:
    """Eight CPUs: cores of two, packages of four, each with an L3."""
    for cpu in range(8):
        first = cpu // 4 * 4
        write(root, f"cpu{cpu}/topology/physical_package_id", str(cpu // 4))
        write(root, f"cpu{cpu}/topology/core_siblings_list", f"{first}-{first + 3}")
        write(root, f"cpu{cpu}/topology/thread_siblings_list", f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}")
        write_cache(root, cpu, f"{first}-{first + 3}")
    write(root, "online", "0-7")
    return root


def write_cache(root: Path, cpu: int, cpus: str) -> None:
    for name, value in (("level", "3"), ("type", "Unified"), ("size", "16384K"), ("shared_cpu_list", cpus)):
        write(root, f"cpu{cpu}/cache/index3/{name}", value)


def write(root: Path, name: str, value: str) -> None:
    path = root / CPUS.lstrip("/") / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{value}\n")


def read(root: Path) -> Machine:
    return build_machine(HostRoot(str(root)))


def packages(machine: Machine) -> list[tuple[int, str]]:
    return [(package.id, str(package.cpus)) for package in machine.packages]


def third_level(machine: Machine) -> list[str]:
    return [str(cache.cpus) for cache in machine.caches]


def contradictions(machine: Machine) -> str:
    return "; ".join(note for note in machine.notes if "believed" in note)


def test_a_machine_that_agrees_with_itself_has_no_such_note(tmp_path: Path) -> None:
    machine = read(tree(tmp_path))
    assert (packages(machine), third_level(machine)) == ([(0, "0-3"), (1, "4-7")], ["0-3", "4-7"])
    assert contradictions(machine) == ""


def test_where_lists_of_packages_overlap_the_ids_are_believed(tmp_path: Path) -> None:
    write(tree(tmp_path), "cpu0/topology/core_siblings_list", "0-5")
    machine = read(tmp_path)
    assert packages(machine) == [(0, "0-3"), (1, "4-7")]
    assert contradictions(machine) == (
        f"CPUs 4-5 give another package id ({CPUS}/cpu4/topology/physical_package_id and 1 more) than CPU 0, "
        f"which lists them as of the same package ({CPUS}/cpu0/topology/core_siblings_list): the ids are believed"
    )


def test_where_one_id_differs_within_a_list_the_list_is_believed(tmp_path: Path) -> None:
    write(tree(tmp_path), "cpu1/topology/physical_package_id", "1")
    machine = read(tmp_path)
    assert packages(machine) == [(0, "0-3"), (1, "4-7")]
    assert contradictions(machine) == (
        f"CPU 1 gives another package id ({CPUS}/cpu1/topology/physical_package_id) than CPU 0, "
        f"which lists it as of the same package ({CPUS}/cpu0/topology/core_siblings_list): the list is believed"
    )


def test_where_lists_overlap_and_the_ids_agree_these_are_believed(tmp_path: Path) -> None:
    tree(tmp_path)
    write(tmp_path, "cpu0/topology/core_siblings_list", "0-1")
    machine = read(tmp_path)
    assert packages(machine) == [(0, "0-3"), (1, "4-7")]
    assert contradictions(machine) == (
        f"CPUs 0,2 disagree on who is in whose package ({CPUS}/cpu0/topology/core_siblings_list and 1 more): "
        "the ids are believed"
    )


def test_threads_of_one_core_with_two_package_ids_are_said_without_a_list_of_packages(tmp_path: Path) -> None:
    tree(tmp_path)
    for cpu in range(8):
        (tmp_path / f"{CPUS.lstrip('/')}/cpu{cpu}/topology/core_siblings_list").unlink()
    write(tmp_path, "cpu1/topology/physical_package_id", "1")
    machine = read(tmp_path)
    assert packages(machine) == [(0, "0,2-3"), (1, "1,4-7")]
    assert contradictions(machine) == (
        f"CPU 1 gives another package id ({CPUS}/cpu1/topology/physical_package_id) than CPU 0, "
        f"which lists it as of the same core ({CPUS}/cpu0/topology/thread_siblings_list): the ids are believed"
    )


def test_a_cpu_without_an_id_contradicts_nobody(tmp_path: Path) -> None:
    write(tree(tmp_path), "cpu3/topology/physical_package_id", "-1")
    machine = read(tmp_path)
    assert packages(machine) == [(0, "0-3"), (1, "4-7")]
    assert contradictions(machine) == ""


def test_a_cache_that_lies_in_another_of_its_level_is_no_cache_of_its_own(tmp_path: Path) -> None:
    write_cache(tree(tmp_path), 0, "0-1")
    machine = read(tmp_path)
    assert third_level(machine) == ["0-3", "4-7"]
    assert contradictions(machine) == (
        f"CPUs 0,2 disagree on who shares which L3 ({CPUS}/cpu0/cache/index*/shared_cpu_list and 1 more): "
        "believed is the one with the lowest CPU, of such the largest"
    )


def test_a_cpu_shares_one_cache_of_a_level_only(tmp_path: Path) -> None:
    write_cache(tree(tmp_path), 0, "0-5")
    assert third_level(read(tmp_path)) == ["0-5", "6-7"]


@pytest.mark.parametrize("not_told", ["-1", "65535", "2147483647", "4294967295"])
def test_ids_by_which_firmware_says_nothing_are_no_package_numbers(tmp_path: Path, not_told: str) -> None:
    tree(tmp_path)
    for cpu in range(4):
        write(tmp_path, f"cpu{cpu}/topology/physical_package_id", not_told)
    machine = read(tmp_path)
    assert packages(machine) == [(0, "0-3"), (1, "4-7")]
    assert (
        f"the kernel gives no usable package numbers ({CPUS}/cpu0/topology/physical_package_id and 1 more): "
        "numbered here by lowest CPU"
    ) in machine.notes


def test_the_largest_id_below_those_is_a_package_number(tmp_path: Path) -> None:
    tree(tmp_path)
    for cpu in range(4, 8):
        write(tmp_path, f"cpu{cpu}/topology/physical_package_id", "65534")
    assert packages(read(tmp_path)) == [(0, "0-3"), (65534, "4-7")]


def test_without_lists_such_ids_make_no_package(tmp_path: Path) -> None:
    tree(tmp_path)
    for cpu in range(8):
        (tmp_path / f"{CPUS.lstrip('/')}/cpu{cpu}/topology/core_siblings_list").unlink()
        write(tmp_path, f"cpu{cpu}/topology/physical_package_id", "65535")
    assert packages(read(tmp_path)) == []


@pytest.mark.parametrize(("not_told", "is_said"), [(False, True), (True, False)])
def test_firmware_counts_cores_as_packages_only_where_the_numbers_are_its_own(
    tmp_path: Path, *, not_told: bool, is_said: bool
) -> None:
    tree(tmp_path)
    for cpu in range(8):
        write(tmp_path, f"cpu{cpu}/topology/physical_package_id", "-1" if not_told else str(cpu // 2))
        write(tmp_path, f"cpu{cpu}/topology/core_siblings_list", f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}")
    node = tmp_path / "sys/devices/system/node/node0"
    node.mkdir(parents=True)
    (node / "cpulist").write_text("0-7\n")
    notes = read(tmp_path).notes
    assert any("counts cores as packages" in note for note in notes) is is_said
    assert any("no usable package numbers" in note for note in notes) is not is_said
