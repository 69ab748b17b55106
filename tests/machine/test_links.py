from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest
from linked_machines import device, machine_of

from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.machine.links import MOST_DEVICES, Link, linked_devices, links_of, links_that_disagree, pcie_type

SWITCH = ("pci0000:3a", "0000:3a:00.0", "0000:3b:00.0")


@pytest.mark.parametrize(
    ("mine", "theirs", "nodes", "type_"),
    [
        ((*SWITCH, "0000:3c:04.0", "0000:3d:00.0"), (*SWITCH, "0000:3c:08.0", "0000:3e:00.0"), (0, 0), "PIX"),
        ((*SWITCH, "0000:3c:04.0", "0000:3d:00.0"), (*SWITCH, "0000:3c:04.0", "0000:3d:00.1"), (0, 0), "PIX"),
        (
            (*SWITCH, "0000:3c:04.0", "0000:3d:00.0", "0000:3f:01.0", "0000:40:00.0"),
            (*SWITCH, "0000:3c:08.0", "0000:3e:00.0"),
            (0, 0),
            "PXB",
        ),
        (
            ("pci0000:3a", "0000:3a:00.0", "0000:3b:00.0"),
            ("pci0000:3a", "0000:3a:02.0", "0000:3c:00.0"),
            (0, 0),
            "PHB",
        ),
        (("pci0000:00", "0000:00:02.0"), ("pci0000:00", "0000:00:03.0"), (None, None), "PHB"),
        (("pci0000:3a", "0000:3a:00.0"), ("pci0000:5d", "0000:5d:00.0"), (0, 0), "NODE"),
        (("pci0000:3a", "0000:3a:00.0"), ("pci0000:85", "0000:85:00.0"), (0, 1), "SYS"),
        (("pci0000:3a", "0000:3a:00.0"), ("pci0000:85", "0000:85:00.0"), (0, None), None),
        ((), ("pci0000:85", "0000:85:00.0"), (0, 1), None),
        (
            ("pci0000:00", "0000:00:0e.0", "pci10000:e0", "10000:e0:06.0", "10000:e1:00.0"),
            ("pci0000:00", "0000:00:0e.0", "pci10000:e0", "10000:e0:07.0", "10000:e2:00.0"),
            (0, 0),
            "PHB",
        ),
    ],
)
def test_the_nearest_thing_that_both_are_below_names_the_link(
    mine: tuple[str, ...], theirs: tuple[str, ...], nodes: tuple[int | None, int | None], type_: str | None
) -> None:
    one, other = device("0000:3d:00.0", nodes[0], mine), device("0000:3e:00.0", nodes[1], theirs)
    assert pcie_type(one, other) == pcie_type(other, one) == type_


def two() -> tuple[str, str, tuple[Link, ...]]:
    a, b = "0000:3d:00.0", "0000:3e:00.0"
    return a, b, (Link(a, b, "PXB", "nvidia-smi topo -m"), Link(b, a, "NV18", "nvml"))


def test_a_fabric_comes_before_the_pcie_path_and_that_before_a_told_one() -> None:
    a, b, told = two()
    machine = machine_of(device(a, 0, (*SWITCH, "0000:3c:04.0", a)), device(b, 0, (*SWITCH, "0000:3c:08.0", b)))
    assert links_of(machine) == (Link(a, b, "PIX", "sysfs"),)
    assert links_of(machine, told[:1]) == (Link(a, b, "PIX", "sysfs"),)
    assert links_of(machine, told) == (Link(a, b, "NV18", "nvml"),)


def test_a_told_path_counts_where_sysfs_knows_none() -> None:
    a, b, told = two()
    machine = machine_of(device(a, 0, ()), device(b, 0, ()))
    assert links_of(machine) == (Link(a, b, None, "sysfs"),)
    assert links_of(machine, told[:1]) == told[:1]
    assert links_of(machine, [Link(a, b, None, "nvml")]) == (Link(a, b, None, "sysfs"),)


def test_a_told_path_that_contradicts_sysfs_is_a_note() -> None:
    a, b, told = two()
    machine = machine_of(device(a, 0, (*SWITCH, "0000:3c:04.0", a)), device(b, 0, (*SWITCH, "0000:3c:08.0", b)))
    assert links_that_disagree(machine, told) == (
        "sources disagree on the path between 0000:3d:00.0–0000:3e:00.0 (PIX by sysfs, PXB by nvidia-smi topo -m): "
        "taken as sysfs has it"
    )
    assert links_that_disagree(machine, told[1:]) is None


def test_drives_are_not_in_the_matrix_and_numbers_stay_those_of_the_machine() -> None:
    npu, nic = device("0000:01:00.0", 0, ()), device("0000:02:00.0", 0, ())._replace(kind="nic")
    machine = machine_of(npu, device("0000:03:00.0", 0, ())._replace(kind="nvme"), nic)
    assert [(number, one.kind) for number, one in linked_devices(machine)] == [(0, "gpu"), (2, "nic")]
    assert [(link.a, link.b) for link in links_of(machine)] == [("0000:01:00.0", "0000:02:00.0")]


def test_the_matrix_is_bounded() -> None:
    machine = machine_of(*(device(f"{number:04x}:01:00.0", 0, ()) for number in range(300)))
    assert len(links_of(machine)) == MOST_DEVICES * (MOST_DEVICES - 1) // 2


def read(stored_root: Callable[[str], Path], name: str) -> dict[frozenset[str], str | None]:
    links = links_of(build_machine(HostRoot(str(stored_root(name))), io=True))
    return {frozenset((link.a[5:], link.b[5:])): link.type for link in links}


def test_ports_of_one_card_cards_of_one_socket_and_of_two_of_a_real_server(stored_root: Callable[[str], Path]) -> None:
    found = read(stored_root, "openshift-worker2")
    assert found[frozenset(("19:00.0", "19:00.1"))] == "PIX"
    assert found[frozenset(("19:00.0", "1a:00.0"))] == "PHB"
    assert found[frozenset(("19:00.0", "86:00.0"))] == "SYS"
    found = read(stored_root, "openshift-worker1")
    assert found[frozenset(("01:00.0", "19:00.0"))] == "NODE"
    assert found[frozenset(("86:00.0", "86:00.1"))] == "PIX"


def test_a_coprocessor_is_a_host_bridge_away_from_the_nic_of_its_node(stored_root: Callable[[str], Path]) -> None:
    found = read(stored_root, "hwloc-32em64t-mic-dax")
    assert (found[frozenset(("83:00.0", "82:00.0"))], found[frozenset(("83:00.0", "02:00.0"))]) == ("PHB", "SYS")


def test_where_the_nodes_are_not_known_one_host_bridge_is_still_seen(stored_root: Callable[[str], Path]) -> None:
    found = read(stored_root, "hwloc-40intel64-pcilocality")
    assert found[frozenset(("02:00.0", "02:00.1"))] == "PIX"
    assert found[frozenset(("02:00.0", "03:00.0"))] == "PHB"
    assert len(found) == len(list(combinations(range(4), 2)))
