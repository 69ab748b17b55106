from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from captures import expected
from pci_trees import add, add_copy

from numascope.cpuset import CpuSet
from numascope.host.pci.devices import DeviceRecord, kind_of, read_devices
from numascope.host.root import HostRoot
from numascope.host.system.lists import read_nodes

TWO_NODES = {0: CpuSet.span(0, 3), 1: CpuSet.span(4, 7)}

WITH_PCI = [name for name, entry in expected().items() if entry["facts"].get("pci_accelerators")]
BOARD_DISPLAYS = {"102b", "1a03", "1013", "1af4"}


class CountingRoot(HostRoot):
    """Counts what is opened below the root, by the last part of its path."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.opened: list[str] = []

    def _open(self, path: str, *, directory: bool = False) -> int:
        self.opened.append(path)
        return super()._open(path, directory=directory)


def read(root: Path, nodes: dict[int, CpuSet], *, io: bool = False) -> tuple[DeviceRecord, ...]:
    return read_devices(HostRoot(str(root)), nodes, io=io)


def only(root: Path, nodes: dict[int, CpuSet]) -> DeviceRecord:
    (device,) = read(root, nodes)
    return device


def said(device: DeviceRecord) -> list[tuple[str, str, int | None]]:
    return [(claim.source, claim.value, claim.node) for claim in device.claims]


def test_a_device_is_near_the_node_of_its_own_file(tmp_path: Path) -> None:
    add(tmp_path, "0000:c1:00.0", numa_node="1", local_cpulist="4-7")
    device = only(tmp_path, TWO_NODES)
    assert (device.node, device.node_source, device.local_cpus) == (1, "numa_node", CpuSet.span(4, 7))
    assert (device.kind, device.vendor) == ("npu", "Huawei")


def test_on_a_machine_of_one_node_it_is_near_that(tmp_path: Path) -> None:
    add(tmp_path, "0000:c1:00.0")
    device = only(tmp_path, {0: CpuSet.span(0, 7)})
    assert (device.node, device.node_source) == (0, "only node")


def test_cpus_of_exactly_one_node_name_it(tmp_path: Path) -> None:
    add(tmp_path, "0000:c1:00.0", local_cpulist="4-7,100")
    device = only(tmp_path, TWO_NODES)
    assert (device.node, device.node_source) == (1, "local_cpulist")


def test_a_mask_stands_in_for_a_list_that_is_absent_or_garbage(tmp_path: Path) -> None:
    add(tmp_path, "0000:c1:00.0", local_cpus="f0")
    add(tmp_path, "0000:c2:00.0", local_cpus="f0", local_cpulist="what?")
    assert [(device.node, device.node_source) for device in read(tmp_path, TWO_NODES)] == [(1, "local_cpus")] * 2


def test_the_nearest_bridge_that_knows_its_node_speaks_for_it(tmp_path: Path) -> None:
    add(tmp_path, "0000:81:00.0", "pci0000:80/0000:80:01.0", local_cpulist="0-7")
    (tmp_path / "sys/devices/pci0000:80/0000:80:01.0/numa_node").write_text("1\n")
    device = only(tmp_path, TWO_NODES)
    assert (device.node, device.node_source) == (1, "numa_node of 0000:80:01.0")


@pytest.mark.parametrize("files", [{}, {"local_cpulist": "0-7"}, {"local_cpulist": "0-5"}, {"numa_node": "9"}])
def test_otherwise_its_node_is_unknown(tmp_path: Path, files: dict[str, str]) -> None:
    add(tmp_path, "0000:c1:00.0", **files)
    device = only(tmp_path, TWO_NODES)
    assert (device.node, device.node_source) == (None, None)


def test_every_source_is_kept_with_its_words_the_most_trusted_first(tmp_path: Path) -> None:
    above = "pci0000:80/0000:80:01.0/0000:81:00.0"
    add(tmp_path, "0000:82:00.0", above, local_cpulist="0-7")
    for bridge, node in (("0000:80:01.0", "1"), ("0000:80:01.0/0000:81:00.0", "-1")):
        (tmp_path / f"sys/devices/pci0000:80/{bridge}/numa_node").write_text(f"{node}\n")
    device = only(tmp_path, TWO_NODES)
    assert said(device) == [
        ("numa_node", "-1", None),
        ("local_cpulist", "0-7", None),
        ("numa_node of 0000:81:00.0", "-1", None),
        ("numa_node of 0000:80:01.0", "1", 1),
    ]
    assert [claim.path for claim in device.claims] == [
        "/sys/bus/pci/devices/0000:82:00.0/numa_node",
        "/sys/bus/pci/devices/0000:82:00.0/local_cpulist",
        "/sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0/numa_node",
        "/sys/devices/pci0000:80/0000:80:01.0/numa_node",
    ]


def test_a_value_of_a_hostile_file_is_made_safe_and_short(tmp_path: Path) -> None:
    add(tmp_path, "0000:c1:00.0", numa_node="\x1b[31m" + "x" * 5000)
    ((_, value, node),) = said(only(tmp_path, TWO_NODES))
    assert (value[:8], len(value), node) == (r"\x1b[31m", 120, None)


def test_the_path_is_where_the_link_of_the_bus_points(tmp_path: Path) -> None:
    add(tmp_path, "0000:81:00.0", "platform/soc/pci0000:80/0000:80:01.0")
    assert only(tmp_path, TWO_NODES).path == ("pci0000:80", "0000:80:01.0", "0000:81:00.0")


def test_a_copy_without_links_has_no_path(tmp_path: Path) -> None:
    add_copy(tmp_path, "0000:c1:00.0", numa_node="1")
    device = only(tmp_path, TWO_NODES)
    assert (device.path, device.node) == ((), 1)


@pytest.mark.parametrize("above", ["pci0000:00/odd", "virtual", "0000:c0:00.0"])
def test_a_link_that_does_not_go_through_bridges_gives_no_path(tmp_path: Path, above: str) -> None:
    add(tmp_path, "0000:c1:00.0", above, numa_node="1")
    device = only(tmp_path, TWO_NODES)
    assert (device.path, device.node) == ((), 1)


def test_devices_are_in_the_order_of_their_addresses_also_with_long_domains(tmp_path: Path) -> None:
    addresses = ["10000:01:00.0", "0000:c2:00.0", "0000:01:00.0", "ffff:00:00.0"]
    for address in addresses:
        add(tmp_path, address)
    found = [device.address for device in read(tmp_path, TWO_NODES)]
    assert found == ["0000:01:00.0", "0000:c2:00.0", "ffff:00:00.0", "10000:01:00.0"]


@pytest.mark.parametrize(
    ("class_code", "vendor", "device", "kind"),
    [
        (0x030200, 0x10DE, 0x2330, "gpu"),
        (0x030000, 0x10DE, 0x2684, "gpu"),
        (0x038000, 0x1002, 0x740F, "gpu"),
        (0x120000, 0x1002, 0x74A1, "gpu"),
        (0x120000, 0x19E5, 0xD802, "npu"),
        (0x120000, 0x1DA3, 0x1020, "npu"),
        (0x120000, 0xCABC, 0x0590, "npu"),
        (0x0B4000, 0x8086, 0x225C, "accelerator"),
        (0x0B4000, 0x1BCF, 0x001C, "accelerator"),
        (0x0B4000, 0x8086, 0x4940, None),
        (0x030000, 0x19E5, 0x1711, None),
        (0x030000, 0x1A03, 0x2000, None),
        (0x030000, 0x102B, 0x0536, None),
        (0x030000, 0x1AF4, 0x1050, None),
        (0x030000, 0x80EE, 0xBEEF, None),
        (0x020000, 0x15B3, 0x1017, "nic"),
        (0x020700, 0x15B3, 0x1021, "nic"),
        (0x010802, 0x144D, 0xA80A, "nvme"),
        (0x010601, 0x8086, 0xA182, None),
        (0x060400, 0x8086, 0x352A, None),
    ],
)
def test_a_kind_is_of_class_and_vendor_and_what_only_draws_or_ciphers_is_none(
    class_code: int, vendor: int, device: int, kind: str | None
) -> None:
    assert kind_of(class_code, vendor, device) == kind


def test_a_device_whose_files_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    add(tmp_path, "0000:c1:00.0", vendor="garbage")
    assert read(tmp_path, TWO_NODES) == ()


def test_nics_and_drives_come_on_request_and_after_accelerators_which_keep_their_numbers(tmp_path: Path) -> None:
    add(tmp_path, "0000:01:00.0", **{"class": "0x010802", "vendor": "0x144d"})
    add(tmp_path, "0000:02:00.0", **{"class": "0x020000", "vendor": "0x15b3"})
    add(tmp_path, "0000:c1:00.0")
    assert [device.kind for device in read(tmp_path, TWO_NODES)] == ["npu"]
    assert [device.kind for device in read(tmp_path, TWO_NODES, io=True)] == ["npu", "nic", "nvme"]


def test_what_is_lent_out_is_counted_at_its_lender_and_not_listed(tmp_path: Path) -> None:
    add(tmp_path, "0000:3b:00.0", **{"class": "0x020000"})
    for number in range(3):
        address = f"0000:3b:01.{number}"
        add(tmp_path, address, **{"class": "0x020000"})
        (tmp_path / f"sys/bus/pci/devices/{address}/physfn").symlink_to("../0000:3b:00.0")
    (device,) = read(tmp_path, TWO_NODES, io=True)
    assert (device.address, device.virtual_functions) == ("0000:3b:00.0", 3)


def test_a_nic_is_called_by_its_rdma_device_and_interfaces_and_a_drive_by_its_controller(tmp_path: Path) -> None:
    add(tmp_path, "0000:3b:00.0", **{"class": "0x020000"})
    add(tmp_path, "0000:5e:00.0", **{"class": "0x010802"})
    for name in ("3b:00.0/net/ens1f0", "3b:00.0/infiniband/mlx5_0", "5e:00.0/nvme/nvme0"):
        (tmp_path / "sys/bus/pci/devices" / f"0000:{name}").mkdir(parents=True)
    assert [device.name for device in read(tmp_path, TWO_NODES, io=True)] == ["mlx5_0, ens1f0", "nvme0"]


def test_of_a_device_that_is_left_out_only_its_class_is_read(tmp_path: Path) -> None:
    for number in range(200):
        add(tmp_path, f"0000:{number:02x}:00.0", **{"class": "0x088000"})
    add(tmp_path, "0000:f0:00.0", "pci0000:e0/0000:e0:01.0", numa_node="1")
    root = CountingRoot(str(tmp_path))
    read_devices(root, TWO_NODES, io=False)
    assert len([path for path in root.opened if path.endswith("/class")]) == 201
    assert len(root.opened) <= 201 + 10


def test_a_bridge_is_read_once_for_all_devices_below_it(tmp_path: Path) -> None:
    for function in range(8):
        add(tmp_path, f"0000:f0:00.{function}", "pci0000:e0/0000:e0:01.0")
    (tmp_path / "sys/devices/pci0000:e0/0000:e0:01.0/numa_node").write_text("1\n")
    root = CountingRoot(str(tmp_path))
    assert {device.node for device in read_devices(root, TWO_NODES, io=False)} == {1}
    assert len([path for path in root.opened if path.endswith("0000:e0:01.0/numa_node")]) == 1


@pytest.mark.parametrize("name", WITH_PCI or ["the store is absent"])
def test_accelerators_of_captures_are_those_that_hwloc_finds_without_display_chips(
    name: str, stored_root: Callable[[str], Path]
) -> None:
    root = stored_root(name)
    nodes = {node.number: node.cpus or CpuSet() for node in read_nodes(HostRoot(str(root)))}
    wanted = {
        one["busid"]: one["numa_node_file"]
        for one in expected()[name]["facts"]["pci_accelerators"]
        if one["vendor"] not in BOARD_DISPLAYS
    }
    found = read(root, nodes)
    assert [device.address for device in found] == sorted(wanted)
    for device in found:
        own = wanted[device.address]
        assert device.node == (own if own >= 0 else 0 if len(nodes) == 1 else None)
        assert device.path[-1] == device.address


def test_the_fabric_of_a_real_server_is_a_nic_of_node_1(stored_root: Callable[[str], Path]) -> None:
    nodes = {0: CpuSet.span(0, 7), 1: CpuSet.span(8, 15)}
    found = {device.address: device for device in read(stored_root("hwloc-32em64t-mic-dax"), nodes, io=True)}
    nic = found["0000:82:00.0"]
    assert (nic.kind, nic.name, nic.node) == ("nic", "mlx4_0, ib0", 1)
    assert nic.path == ("pci0000:80", "0000:80:02.2", "0000:82:00.0")
