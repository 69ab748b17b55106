from __future__ import annotations

from pathlib import Path

import pytest

from numascope.cpuset import CpuSet
from numascope.host.devices import DeviceRecord, address_order, kind_of, read_accelerators
from numascope.host.root import HostRoot

TWO_NODES = {0: CpuSet.span(0, 3), 1: CpuSet.span(4, 7)}


def add(root: Path, address: str, above: str = "pci0000:00", **files: str) -> None:
    """A device as the kernel lays it out: a directory below its bridges, and a link from the bus."""
    directory = root / "sys/devices" / above / address
    directory.mkdir(parents=True)
    values = {"class": "0x120000", "vendor": "0x19e5", "device": "0xd801", "numa_node": "-1", **files}
    for name, text in values.items():
        (directory / name).write_text(f"{text}\n")
    bus = root / "sys/bus/pci/devices"
    bus.mkdir(parents=True, exist_ok=True)
    (bus / address).symlink_to(f"../../../devices/{above}/{address}")


def only(root: Path, nodes: dict[int, CpuSet]) -> DeviceRecord:
    (device,) = read_accelerators(HostRoot(str(root)), nodes)
    return device


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


def test_devices_are_in_the_order_of_their_addresses_also_with_long_domains(tmp_path: Path) -> None:
    addresses = ["10000:01:00.0", "0000:c2:00.0", "0000:01:00.0", "ffff:00:00.0"]
    for address in addresses:
        add(tmp_path, address)
    found = [device.address for device in read_accelerators(HostRoot(str(tmp_path)), TWO_NODES)]
    assert found == ["0000:01:00.0", "0000:c2:00.0", "ffff:00:00.0", "10000:01:00.0"]
    assert address_order("10000:01:00.0") > address_order("ffff:00:00.0")


@pytest.mark.parametrize(
    ("class_code", "vendor", "device", "kind"),
    [
        (0x030200, 0x10DE, 0x2330, "gpu"),
        (0x038000, 0x1002, 0x740F, "gpu"),
        (0x120000, 0x19E5, 0xD802, "npu"),
        (0x120000, 0x1DA3, 0x1020, "npu"),
        (0x0B4000, 0x8086, 0x225C, "accelerator"),
        (0x030000, 0x19E5, 0x1711, None),
        (0x030000, 0x1A03, 0x2000, None),
        (0x030000, 0x102B, 0x0536, None),
        (0x030000, 0x1AF4, 0x1050, None),
        (0x020000, 0x15B3, 0x1017, None),
    ],
)
def test_display_chips_of_management_controllers_and_hypervisors_are_no_accelerators(
    class_code: int, vendor: int, device: int, kind: str | None
) -> None:
    assert kind_of(class_code, vendor, device) == kind


def test_a_device_whose_files_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    add(tmp_path, "0000:c1:00.0", vendor="garbage")
    assert read_accelerators(HostRoot(str(tmp_path)), TWO_NODES) == ()
