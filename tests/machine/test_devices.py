from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from linked_machines import device
from pci_trees import add

from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.machine.objects import Claim, Machine
from numascope.machine.quirks import devices_that_disagree


def built(root: Path, *, io: bool = False) -> Machine:
    (root / "sys/devices/system/cpu/cpu0").mkdir(parents=True)
    for node in range(2):
        directory = root / f"sys/devices/system/node/node{node}"
        directory.mkdir(parents=True)
        (directory / "cpulist").write_text("0\n" if node == 0 else "\n")
    return build_machine(HostRoot(str(root)), io=io)


def test_a_device_of_the_machine_carries_its_claims_and_its_path(tmp_path: Path) -> None:
    add(tmp_path, "0000:c1:00.0", "pci0000:c0/0000:c0:01.0", numa_node="1")
    (found,) = built(tmp_path).devices
    assert found.claims == (Claim("numa_node", "/sys/bus/pci/devices/0000:c1:00.0/numa_node", "1", 1),)
    assert (found.node, found.path) == (1, ("pci0000:c0", "0000:c0:01.0", "0000:c1:00.0"))


def test_nics_are_of_the_machine_only_on_request(stored_root: Callable[[str], Path]) -> None:
    root = HostRoot(str(stored_root("openshift-worker1")))
    assert build_machine(root).devices == ()
    kinds = [one.kind for one in build_machine(root, io=True).devices]
    assert kinds == [*["nic"] * 6, "nvme"]


def test_virtual_functions_are_left_out_and_said(tmp_path: Path) -> None:
    for function in range(3):
        add(tmp_path, f"0000:c1:00.{function}", numa_node="1")
    for function in (1, 2):
        (tmp_path / f"sys/bus/pci/devices/0000:c1:00.{function}/physfn").symlink_to("../0000:c1:00.0")
    machine = built(tmp_path)
    assert [one.address for one in machine.devices] == ["0000:c1:00.0"]
    assert "virtual functions are not listed: 2 of 0000:c1:00.0" in machine.notes


def test_sources_that_name_two_nodes_are_a_note_with_their_paths(tmp_path: Path) -> None:
    add(tmp_path, "0000:c1:00.0", "pci0000:c0/0000:c0:01.0", numa_node="1")
    (tmp_path / "sys/devices/pci0000:c0/0000:c0:01.0/numa_node").write_text("0\n")
    assert (
        "sources disagree on the node of 0000:c1:00.0 (1 in /sys/bus/pci/devices/0000:c1:00.0/numa_node, "
        "0 in /sys/devices/pci0000:c0/0000:c0:01.0/numa_node): taken as node 1"
    ) in built(tmp_path).notes


def test_sources_that_do_not_know_contradict_none() -> None:
    one = device("0000:0a:00.0", 1, ())._replace(
        claims=(Claim("numa_node", "/a", "-1", None), Claim("kfd", "/b", "1", 1))
    )
    assert devices_that_disagree([one]) is None


def test_devices_below_one_root_port_are_near_one_node_and_not_below_one_host_bridge() -> None:
    one = device("0000:05:00.0", 0, ("pci0000:00", "0000:00:09.0", "0000:05:00.0"))
    other = device("0000:05:00.1", 1, ("pci0000:00", "0000:00:09.0", "0000:05:00.1"))
    assert devices_that_disagree([one, other]) == (
        "sources disagree on the node of what is below 0000:00:09.0 "
        "(node 0 of 0000:05:00.0 by numa_node, node 1 of 0000:05:00.1 by numa_node): kept as told"
    )
    assert devices_that_disagree([one, other._replace(path=("pci0000:00", "0000:00:0a.0", "0000:05:00.1"))]) is None
    assert devices_that_disagree([one, other._replace(node=None)]) is None


def test_a_real_card_whose_ports_say_they_are_near_two_nodes(stored_root: Callable[[str], Path]) -> None:
    machine = build_machine(HostRoot(str(stored_root("ghw-2socket-24"))), io=True)
    (note,) = [one for one in machine.notes if "disagree" in one]
    assert note.startswith("sources disagree on the node of what is below 0000:00:09.0 (node ")
    assert {one.node for one in machine.devices if one.address.startswith("0000:05:")} == {0, 1}


def test_the_node_that_stands_for_a_machine_without_nodes_overrides_no_source(tmp_path: Path) -> None:
    (tmp_path / "sys/devices/system/cpu/cpu0").mkdir(parents=True)
    add(tmp_path, "0000:c1:00.0", numa_node="1")
    add(tmp_path, "0000:c2:00.0", numa_node="-1")
    machine = build_machine(HostRoot(str(tmp_path)))
    assert [(one.node, one.node_source) for one in machine.devices] == [(None, None), (0, "only node")]
    assert [claim.node for claim in machine.devices[0].claims] == [1]
    assert not any("sources disagree" in note for note in machine.notes)
