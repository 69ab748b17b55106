from __future__ import annotations

import tarfile
from pathlib import Path

from pci_trees import add

from numascope.cpuset import CpuSet
from numascope.host.pci.devices import DeviceRecord, read_devices
from numascope.host.pci.kfd import NO_KFD, read_kfd
from numascope.host.root import HostRoot

TWO_NODES = {0: CpuSet.span(0, 63), 1: CpuSet.span(64, 127)}
BUSES = ("03", "26", "43", "63", "83", "a3", "c3", "e3")


def read(root: Path, nodes: dict[int, CpuSet]) -> tuple[DeviceRecord, ...]:
    return read_devices(HostRoot(str(root)), nodes, io=False)


def last_said(device: DeviceRecord) -> tuple[str, str, int | None]:
    claim = device.claims[-1]
    return claim.source, claim.value, claim.node


def nvidia(root: Path, address: str, **files: str) -> None:
    add(root, address, **{"class": "0x030200", "vendor": "0x10de", "device": "0x2330"})
    driver = root / f"proc/driver/nvidia/gpus/{address}"
    driver.mkdir(parents=True)
    for name, text in files.items():
        (driver / name).write_text(text)


def test_nvidias_driver_names_its_gpus(tmp_path: Path) -> None:
    nvidia(tmp_path, "0000:17:00.0", information="Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 255\n")
    nvidia(tmp_path, "0000:18:00.0", information="Model: \t\t Unknown\n")
    assert [device.name for device in read(tmp_path, TWO_NODES)] == ["NVIDIA H100 80GB HBM3", None]


def test_the_node_that_a_gpus_own_memory_is_says_nothing_of_the_near_one(tmp_path: Path) -> None:
    nvidia(tmp_path, "0009:01:00.0", numa_status="Node:      1\nStatus:    online\nAddress:   80\n")
    (device,) = read(tmp_path, TWO_NODES)
    assert device.node is None
    assert last_said(device) == ("numa_status", "node 1 is its own memory", None)


def amd_server(shared: Path, root: Path, numa_nodes: dict[str, str]) -> dict[str, DeviceRecord]:
    """The KFD files of a server with 8 MI210, and PCI directories with these `numa_node`."""
    with tarfile.open(shared / "captures/extra/kfd-mi210.tar.gz") as tar:
        for member in tar:
            file = tar.extractfile(member) if member.isreg() else None
            if file is not None:
                path = root / "sys/class/kfd/kfd/topology" / member.name.partition("/")[2]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.read())
    for bus in BUSES:
        address = f"0000:{bus}:00.0"
        ids = {"class": "0x038000", "vendor": "0x1002", "device": "0x740f"}
        add(root, address, numa_node=numa_nodes.get(bus, "-1"), **ids)
    return {device.address[5:7]: device for device in read(root, TWO_NODES)}


def test_kfd_knows_the_node_of_amds_gpus(shared: Path, tmp_path: Path) -> None:
    found = amd_server(shared, tmp_path, {"03": "0"})
    assert [bus for bus, device in found.items() if (device.node, device.node_source) == (1, "kfd")] == [*BUSES[4:]]
    assert last_said(found["03"]) == ("kfd", "node_to 0", 0)
    assert found["83"].claims[-1].path == "/sys/class/kfd/kfd/topology/nodes/8/io_links/0/properties"


def test_kfds_node_0_may_stand_for_no_node_and_proves_none_alone(shared: Path, tmp_path: Path) -> None:
    device = amd_server(shared, tmp_path, {})["26"]
    assert (device.node, last_said(device)) == (None, ("kfd", "node_to 0, which proves nothing here", None))


def test_amds_product_name_is_taken_before_kfds(shared: Path, tmp_path: Path) -> None:
    amd_server(shared, tmp_path, {})
    (tmp_path / "sys/class/kfd/kfd/topology/nodes/8/name").write_text("aldebaran\n")
    assert {device.name for device in read(tmp_path, TWO_NODES)} == {None, "aldebaran"}
    (tmp_path / "sys/bus/pci/devices/0000:83:00.0/product_name").write_text("AMD Instinct MI210\n")
    assert {device.name for device in read(tmp_path, TWO_NODES)} == {None, "AMD Instinct MI210"}


def test_where_nodes_with_cpus_are_numbered_with_gaps_kfd_proves_nothing(shared: Path, tmp_path: Path) -> None:
    amd_server(shared, tmp_path, {})
    found = read(tmp_path, {0: CpuSet.span(0, 63), 2: CpuSet.span(64, 127)})
    assert {device.node for device in found} == {None}
    assert last_said(found[-1]) == ("kfd", "node_to 1, which proves nothing here", None)


def test_kfd_lists_the_gpus_of_each_fabric(shared: Path, tmp_path: Path) -> None:
    amd_server(shared, tmp_path, {})
    kfd = read_kfd(HostRoot(str(tmp_path)))
    near, far = ([f"0000:{bus}:00.0" for bus in buses] for buses in (BUSES[:4], BUSES[4:]))
    for hive in (near, far):
        for address in hive:
            assert sorted(kfd.gpus[address].peers) == [one for one in hive if one != address]
    assert kfd.cpu_nodes == (0, 1)


def test_a_gpu_in_partitions_is_one_gpu(shared: Path, tmp_path: Path) -> None:
    amd_server(shared, tmp_path, {})
    nodes = tmp_path / "sys/class/kfd/kfd/topology/nodes"
    (nodes / "10").mkdir()
    text = (nodes / "8/properties").read_text().replace("location_id 33536", f"location_id {1 << 28 | 33536}")
    (nodes / "10/properties").write_text(text)
    assert len(read_kfd(HostRoot(str(tmp_path))).gpus) == len(BUSES)


def test_without_amds_driver_there_is_no_list(tmp_path: Path) -> None:
    assert read_kfd(HostRoot(str(tmp_path))) == NO_KFD


def test_files_of_amds_driver_that_are_damaged_tell_nothing(shared: Path, tmp_path: Path) -> None:
    amd_server(shared, tmp_path, {})
    for number, file in enumerate(sorted((tmp_path / "sys/class/kfd").rglob("properties"))):
        file.write_bytes((b"\xff\x00", b"location_id 99999999999999999999\n", b"node_to -5\n", b"")[number % 4])
    assert {device.node for device in read(tmp_path, TWO_NODES)} == {None}
