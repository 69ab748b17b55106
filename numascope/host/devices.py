"""Accelerators on the PCI bus, and the NUMA node that each is near, with the file that says so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from numascope.cpuset import CpuSet
from numascope.host import parse
from numascope.host.root import HostRoot

PCI_DIRECTORY: Final = "sys/bus/pci/devices"

_ADDRESS = re.compile(r"([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])")

_DISPLAY: Final = 0x03
_PROCESSING: Final = 0x12
_COPROCESSOR: Final = 0x0B40
_HUAWEI: Final = 0x19E5

_NOT_FOR_COMPUTING: Final = frozenset({
    (0x19E5, 0x1711), (0x1234, 0x1111), (0x1AF4, 0x1050), (0x15AD, 0x0405), (0x1B36, 0x0100),
})  # fmt: skip
_NOT_FOR_COMPUTING_VENDORS: Final = frozenset({0x102B, 0x1A03, 0x1013, 0x1414})
"""Display chips of management controllers and hypervisors: Matrox, ASPEED, Cirrus, Hyper-V; above hibmc, QEMU, virtio, VMware, QXL."""

VENDORS: Final = {
    0x1002: "AMD", 0x10DE: "NVIDIA", 0x10EE: "Xilinx", 0x1AC1: "Google", 0x1BCF: "NEC",
    0xCABC: "Cambricon", 0x1D0F: "Amazon", 0x1DA3: "Habana", 0x1E52: "Tenstorrent", 0x1ED5: "Moore Threads",
    0x1EC8: "Enflame", 0x19E5: "Huawei", 0x8086: "Intel", 0x1ED2: "FuriosaAI", 0x1EFF: "Rebellions",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DeviceRecord:
    """One accelerator; `node` None is unknown, `node_source` names what spoke."""

    address: str
    class_code: int
    kind: str
    vendor_id: int
    device_id: int
    vendor: str | None
    node: int | None
    node_source: str | None
    local_cpus: CpuSet | None


def read_accelerators(root: HostRoot, nodes: Mapping[int, CpuSet]) -> tuple[DeviceRecord, ...]:
    """The accelerators in the order of their PCI addresses; `nodes` are the online CPUs of each NUMA node."""
    addresses = sorted(filter(_ADDRESS.fullmatch, root.names(PCI_DIRECTORY)), key=address_order)
    found = (_read_device(root, address, nodes) for address in addresses)
    return tuple(device for device in found if device is not None)


def address_order(address: str) -> tuple[int, ...]:
    """A PCI address as numbers, for sorting; a domain may have more than four digits."""
    return tuple(int(part, 16) for part in re.split(r"[:.]", address))


def kind_of(class_code: int, vendor_id: int, device_id: int) -> str | None:
    """`gpu`, `npu` or `accelerator`; None for what does not compute, of 24-bit PCI class code."""
    base, both = class_code >> 16, class_code >> 8
    if (vendor_id, device_id) in _NOT_FOR_COMPUTING or (base == _DISPLAY and vendor_id in _NOT_FOR_COMPUTING_VENDORS):
        return None
    if base == _PROCESSING:
        return "npu"
    if base == _DISPLAY:
        return "gpu"
    return "accelerator" if both == _COPROCESSOR else None


def _read_device(root: HostRoot, address: str, nodes: Mapping[int, CpuSet]) -> DeviceRecord | None:
    directory = f"{PCI_DIRECTORY}/{address}"
    class_code = _number(root, f"{directory}/class")
    if class_code is None or not (class_code >> 16 in (_DISPLAY, _PROCESSING) or class_code >> 8 == _COPROCESSOR):
        return None
    vendor_id, device_id = _number(root, f"{directory}/vendor"), _number(root, f"{directory}/device")
    if vendor_id is None or device_id is None:
        return None
    kind = kind_of(class_code, vendor_id, device_id)
    if kind is None:
        return None
    local_cpus = _local_cpus(root, directory)
    node, source = _node(root, address, nodes, local_cpus)
    return DeviceRecord(
        address, class_code, kind, vendor_id, device_id, VENDORS.get(vendor_id), node, source, local_cpus
    )


def _node(
    root: HostRoot, address: str, nodes: Mapping[int, CpuSet], local_cpus: CpuSet | None
) -> tuple[int | None, str | None]:
    """The node that a device is near and what says so: its own file, its CPUs, a bridge above it, or that there is one node only."""
    own = _numa_node(root, f"{PCI_DIRECTORY}/{address}")
    if own is not None and own in nodes:
        return own, "numa_node"
    if len(nodes) == 1:
        return next(iter(nodes)), "only node"
    every = CpuSet(0)
    for cpus in nodes.values():
        every |= cpus
    if local_cpus and local_cpus & every < every:
        matching = [node for node, cpus in nodes.items() if cpus and cpus == local_cpus & every]
        if len(matching) == 1:
            return matching[0], "local_cpulist"
    for bridge in _bridges(root, address):
        node = _numa_node(root, bridge)
        if node is not None and node in nodes:
            return node, f"numa_node of {bridge.rpartition('/')[2]}"
    return None, None


def _bridges(root: HostRoot, address: str) -> list[str]:
    """The directories above a device in /sys/devices, the nearest first, out of where its link points."""
    link = root.link(f"{PCI_DIRECTORY}/{address}")
    parts = [part for part in (link or "").split("/") if part not in ("", ".", "..", "sys")]
    if not parts or parts[0] != "devices":
        return []
    return ["sys/" + "/".join(parts[:end]) for end in range(len(parts) - 1, 1, -1)]


def _numa_node(root: HostRoot, directory: str) -> int | None:
    raw = root.read_if_there(f"{directory}/numa_node")
    node = None if raw is None else parse.decimal(raw)
    return node if node is not None and node >= 0 else None


def _local_cpus(root: HostRoot, directory: str) -> CpuSet | None:
    raw = root.read_if_there(f"{directory}/local_cpulist")
    found = None if raw is None else parse.id_list(raw)
    if found is not None:
        return found
    raw = root.read_if_there(f"{directory}/local_cpus")
    return None if raw is None else parse.mask(raw)


def _number(root: HostRoot, path: str) -> int | None:
    raw = root.read_if_there(path)
    return None if raw is None else parse.hexadecimal(raw)
