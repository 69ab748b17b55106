from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from linked_machines import device, eight_and_eight, machine_of
from smi_texts import FOUR_GPUS

from numascope.host.pci.smi import parse_smi
from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.machine.links import Link, doubts_of, links_of
from numascope.machine.objects import Claim, Machine
from numascope.machine.told import told_by_smi
from numascope.show.ink import plain
from numascope.show.topo.links import link_document, link_lines


def whole(machine: Machine, told: Sequence[Link] = (), width: int = 80) -> list[str]:
    return [plain(line) for line in link_lines(machine, links_of(machine, told), width, doubts_of(machine, told))]


def text(machine: Machine, told: Sequence[Link] = (), width: int = 80) -> list[str]:
    """The matrix and its legend, without the key of the devices."""
    lines = whole(machine, told, width)
    blanks = [at for at, line in enumerate(lines) if not line]
    return lines[: blanks[-1]] if blanks else lines


def test_each_device_has_a_row_with_its_node_and_a_column() -> None:
    one, other = device("0000:0a:00.0", 0, ("pci0000:00", "a", "x")), device("0000:1a:00.0", 1, ("pci0000:10", "y"))
    unknown = device("0000:2a:00.0", None, ())
    assert text(machine_of(one, other, unknown)) == [
        "       d0  d1  d2",
        "d0 N0   X SYS   ?",
        "d1 N1 SYS   X   ?",
        "d2 N?   ?   ?   X",
        "SYS from node to node; ? not known (by sysfs)",
    ]


def test_eight_gpus_and_eight_nics_stand_whole_in_80_columns() -> None:
    lines = text(eight_and_eight())
    assert lines[0].split() == [f"d{number}" for number in range(16)]
    assert lines[1].split() == ["d0", "N0", "X", *["NOD"] * 3, *["SYS"] * 4, "PIX", *["NOD"] * 3, *["SYS"] * 4]
    assert max(map(len, lines)) <= 80
    assert lines[-1] == ("PIX one PCIe switch or none; NOD NODE through two host bridges of one node;") or lines[
        -1
    ].endswith("(by sysfs)")


def test_where_there_is_room_the_words_are_whole() -> None:
    lines = text(eight_and_eight(), width=100)
    assert lines[1].split()[3:6] == ["NODE"] * 3


def test_a_matrix_that_is_too_wide_goes_on_in_blocks_with_every_row_in_each() -> None:
    lines = text(eight_and_eight(), width=50)
    blocks = [line.split() for line in lines if line.startswith("    ")]
    assert blocks == [[f"d{number}" for number in range(8)], [f"d{number}" for number in range(8, 16)]]
    assert len([line for line in lines if line.startswith("d15 N1")]) == 2
    assert max(map(len, lines)) <= 50


@pytest.mark.parametrize("width", [1, 10, 20, 40, 79, 80, 120])
def test_no_line_is_wider_than_asked_where_one_column_fits(width: int) -> None:
    lines = text(eight_and_eight(), width=width)
    if width >= 20:
        assert max(map(len, lines)) <= width
    assert len(lines) > 17


def test_nvlinks_of_a_given_text_come_before_the_pcie_path() -> None:
    gpus = [device(f"0000:{at}a:00.0", at // 2, (f"pci0000:{at}0", f"0000:{at}a:00.0")) for at in range(4)]
    machine = machine_of(*gpus)
    told = told_by_smi(machine, parse_smi(FOUR_GPUS.encode(), "topo.txt")).links
    assert text(machine, told) == [
        "        d0   d1   d2   d3",
        "d0 N0    X NV18 NV18 NV18",
        "d1 N0 NV18    X NV18 NV18",
        "d2 N1 NV18 NV18    X NV18",
        "d3 N1 NV18 NV18 NV18    X",
        "NV# that many NVLinks (by nvidia-smi topo -m)",
    ]


def test_the_legend_has_only_the_words_that_are_used() -> None:
    machine = machine_of(*(device(f"0000:0{at}:00.0", 0, ("pci0000:00", f"0000:0{at}:00.0")) for at in range(2)))
    assert text(machine)[-1] == "PHB through their host bridge (by sysfs)"
    fabric = [Link("0000:00:00.0", "0000:01:00.0", "HCCS_SW", "npu-smi info -t topo")]
    assert text(machine, fabric)[-1] == "HCCS_SW Huawei's fabric through a switch (by npu-smi info -t topo)"


def test_of_one_device_alone_it_says_which_and_that_a_matrix_needs_two() -> None:
    nic = device("0000:0a:00.0", 0, (), "nic", 0x15B3)._replace(vendor="Mellanox", name="mlx5_0")
    assert whole(machine_of(nic)) == [
        "one network card alone is listed here, and a matrix needs two devices:",
        "d0 nic 0000:0a:00.0 N0 Mellanox mlx5_0",
    ]
    assert whole(machine_of(device("0000:0a:00.0", 0, ())), width=40) == [
        "one accelerator alone is listed here,",
        "  and a matrix needs two devices:",
        "d0 gpu 0000:0a:00.0 N0 NVIDIA",
    ]


def test_without_devices_it_says_so_and_without_files_of_pci_that_nothing_is_known() -> None:
    assert whole(machine_of(), width=60) == ["no accelerator and no network card is listed on a PCI bus", "  here"]
    unread = machine_of()._replace(notes=("no PCI files: accelerators are unknown",))
    assert whole(unread, width=60) == [
        "accelerators, network cards and the links between them are",
        "  unknown: there is no /sys/bus/pci",
    ]


def test_a_machine_read_without_files_of_pci_is_one_whose_links_are_unknown(
    stored_root: Callable[[str], Path],
) -> None:
    lines = whole(build_machine(HostRoot(str(stored_root("misc-ia64-56cpu"))), io=True), width=100)
    assert lines == ["accelerators, network cards and the links between them are unknown: there is no /sys/bus/pci"]


def test_below_the_matrix_each_device_has_a_line_with_its_kind_address_node_and_name() -> None:
    lines = whole(eight_and_eight())
    key = lines[lines.index("", 1) + 1 :]
    assert key[0] == "d0  gpu 0000:0d:00.0 N0 NVIDIA"
    assert key[15] == "d15 nic 0000:7e:00.0 N1 NVIDIA mlx5_7, ens7f0"
    assert len(key) == 16


def test_a_long_name_of_a_device_goes_on_below_itself() -> None:
    one, other = device("0000:0a:00.0", 0, ()), device("0000:1a:00.0", None, ())
    lines = whole(machine_of(one._replace(name="GH100 [H100 SXM5 80GB]"), other), width=40)
    assert lines[-3:] == [
        "d0 gpu 0000:0a:00.0 N0 NVIDIA GH100",
        "                       [H100 SXM5 80GB]",
        "d1 gpu 0000:1a:00.0 N? NVIDIA",
    ]


def test_what_sources_disagree_on_stands_below() -> None:
    one = device("0000:0a:00.0", 1, ("pci0000:00", "0000:0a:00.0"))
    one = one._replace(claims=(Claim("numa_node", "/n", "1", 1), Claim("nvidia-smi topo -m", "t", "GPU0: 0", 0)))
    other = device("0000:1a:00.0", 0, ("pci0000:00", "0000:1a:00.0"))
    told = [Link("0000:0a:00.0", "0000:1a:00.0", "SYS", "smi")]
    notes = [line for line in whole(machine_of(one, other), told, 200) if line.startswith("- ")]
    assert notes == [
        "- sources disagree on the node of 0000:0a:00.0 (1 in /n, GPU0: 0 in t): taken as node 1",
        "- sources disagree on the path between 0000:0a:00.0–0000:1a:00.0 (PHB by sysfs, SYS by smi): taken as sysfs has it",
    ]


def test_the_legend_is_broken_at_words_in_40_columns() -> None:
    paths = [("pci0000:00", "0000:0a:00.0"), ("pci0000:10", "0000:1a:00.0"), ("pci0000:20", "0000:2a:00.0")]
    nodes = (0, 0, 1)
    machine = machine_of(*(device(path[1], node, path) for path, node in zip(paths, nodes, strict=True)))
    assert text(machine, width=40)[4:] == [
        "NODE through two host bridges of one",
        "  node; SYS from node to node (by sysfs)",
    ]


def test_devices_beyond_the_most_are_said_to_be_left_out() -> None:
    machine = machine_of(*(device(f"{number:04x}:01:00.0", 0, ()) for number in range(257)))
    assert "1 more devices are left out" in text(machine)


def test_the_document_has_both_addresses_the_type_or_null_and_what_said_it() -> None:
    links = [Link("0000:0a:00.0", "0000:1a:00.0", "PIX", "sysfs"), Link("0000:0a:00.0", "0000:2a:00.0", None, "sysfs")]
    assert link_document(links) == [
        {"a": "0000:0a:00.0", "b": "0000:1a:00.0", "type": "PIX", "source": "sysfs"},
        {"a": "0000:0a:00.0", "b": "0000:2a:00.0", "type": None, "source": "sysfs"},
    ]


def test_the_matrix_of_a_real_server(stored_root: Callable[[str], Path]) -> None:
    assert text(build_machine(HostRoot(str(stored_root("openshift-worker2"))), io=True)) == [
        "       d0  d1  d2  d3  d4  d5",
        "d0 N0   X PIX PHB PHB SYS SYS",
        "d1 N0 PIX   X PHB PHB SYS SYS",
        "d2 N0 PHB PHB   X PIX SYS SYS",
        "d3 N0 PHB PHB PIX   X SYS SYS",
        "d4 N1 SYS SYS SYS SYS   X PIX",
        "d5 N1 SYS SYS SYS SYS PIX   X",
        "PIX one PCIe switch or none; PHB through their host bridge;",
        "  SYS from node to node (by sysfs)",
    ]
