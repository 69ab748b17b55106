"""Accelerators on the PCI bus, on request NICs and NVMe drives, and the NUMA node that each is near."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.host import parse
from numascope.host.pci.address import PCI_DIRECTORY, address_order, is_address, place_of
from numascope.host.pci.kfd import NO_KFD, Kfd, node_claim, read_kfd
from numascope.host.pci.names import AMD, NVIDIA, name_of
from numascope.host.pci.nodes import NodeClaim, NodeFiles, chosen, own_memory, read_local_cpus
from numascope.host.root import HostRoot
from numascope.host.system.lists import read_value

_NETWORK: Final = 0x02
_DISPLAY: Final = 0x03
_PROCESSING: Final = 0x12
_NVME: Final = 0x0108
_VGA: Final = 0x0300
_COPROCESSOR: Final = 0x0B40
"""Base classes and classes of the PCI Code and ID Assignment Specification, as in include/linux/pci_ids.h."""

_NOT_FOR_COMPUTING: Final = frozenset({
    (0x19E5, 0x1711), (0x1234, 0x1111), (0x1AF4, 0x1050), (0x15AD, 0x0405), (0x1B36, 0x0100),
    (0x8086, 0x0435), (0x8086, 0x37C8), (0x8086, 0x19E2), (0x8086, 0x6F54), (0x8086, 0x4940), (0x8086, 0x4942),
    (0x8086, 0x4944), (0x8086, 0x4946), (0x8086, 0x4948),
})  # fmt: skip
"""Display chips hibmc, QEMU, virtio, VMware, QXL; Intel QuickAssist, a coprocessor for ciphers (qat_common/adf_accel_devices.h)."""

_NOT_FOR_COMPUTING_VENDORS: Final = frozenset({0x102B, 0x1A03, 0x1013, 0x1414})
"""Display chips of management controllers and hypervisors: Matrox, ASPEED, Cirrus, Hyper-V."""

_VGA_FOR_COMPUTING: Final = frozenset({0x1002, 0x10DE, 0x8086, 0x1ED5})
"""Who sells GPUs that compute and call themselves VGA controllers; of others such a device only draws."""

_GPU_VENDORS: Final = frozenset({0x1002, 0x10DE})
"""Whose processing accelerators (class 12, such as an MI300) are GPUs all the same."""

VENDORS: Final = {
    0x1002: "AMD", 0x1022: "AMD", 0x10DE: "NVIDIA", 0x10EE: "Xilinx", 0x1AC1: "Google", 0x1BCF: "NEC",
    0xCABC: "Cambricon", 0x1D0F: "Amazon", 0x1DA3: "Habana", 0x1E52: "Tenstorrent", 0x1ED5: "Moore Threads",
    0x1EC8: "Enflame", 0x19E5: "Huawei", 0x8086: "Intel", 0x1ED2: "FuriosaAI", 0x1EFF: "Rebellions",
    0x1D94: "Hygon", 0x1D95: "Graphcore", 0x15B3: "Mellanox", 0x14E4: "Broadcom", 0x1077: "QLogic", 0x1425: "Chelsio",
    0x17DB: "Cray", 0x1DD8: "Pensando", 0x1AF4: "Red Hat", 0x15AD: "VMware", 0x1414: "Microsoft", 0x10EC: "Realtek",
    0x144D: "Samsung", 0x1344: "Micron", 0x1E0F: "Kioxia", 0x15B7: "SanDisk", 0x1C5C: "SK hynix", 0x025E: "Solidigm",
}  # fmt: skip

_ORDER: Final = {"nic": 1, "nvme": 2}


class DeviceRecord(NamedTuple):
    """One device; `node` None is unknown, `node_source` names what spoke, `claims` are all sources, the most trusted first."""

    address: str
    class_code: int
    kind: str
    vendor_id: int
    device_id: int
    vendor: str | None
    name: str | None
    node: int | None
    node_source: str | None
    local_cpus: CpuSet | None
    claims: tuple[NodeClaim, ...]
    path: tuple[str, ...]
    virtual_functions: int = 0
    """How many functions of it are lent out (SR-IOV); they are not devices of their own."""


def read_devices(root: HostRoot, nodes: Mapping[int, CpuSet], *, io: bool) -> tuple[DeviceRecord, ...]:
    """Accelerators, and with `io` NICs and NVMe drives after them, each sort by PCI address; `nodes` are each node's online CPUs.

    Accelerators come first so that their numbers are the same with and without `io`. A virtual function (SR-IOV) is left
    out and counted at the physical function that it belongs to: it sits at the same place on the same link, and a host that
    lends out a NIC or a GPU to guests has hundreds. In a guest, where it is the whole device, it has no `physfn` and stays.
    Of a device that is left out only its `class` is read.
    """
    files = NodeFiles(root, nodes)
    kfd: Kfd | None = None
    virtual: Counter[str] = Counter()
    found: list[DeviceRecord] = []
    for address in sorted(filter(is_address, root.names(PCI_DIRECTORY)), key=address_order):
        directory = f"{PCI_DIRECTORY}/{address}"
        class_code = _number(root, f"{directory}/class")
        if class_code is None or not _is_wanted(class_code, io=io):
            continue
        lender = root.link(f"{directory}/physfn")
        if lender is not None:
            virtual[lender.rpartition("/")[2]] += 1
            continue
        vendor_id, device_id = _number(root, f"{directory}/vendor"), _number(root, f"{directory}/device")
        if vendor_id is None or device_id is None:
            continue
        kind = kind_of(class_code, vendor_id, device_id)
        if kind is None:
            continue
        if kfd is None and vendor_id == AMD:
            kfd = read_kfd(root)
        found.append(_read_device(root, address, (class_code, vendor_id, device_id), kind, nodes, files, kfd or NO_KFD))
    found.sort(key=lambda device: _ORDER.get(device.kind, 0))
    return tuple(
        device._replace(virtual_functions=virtual[device.address]) if device.address in virtual else device
        for device in found
    )


def kind_of(class_code: int, vendor_id: int, device_id: int) -> str | None:
    """`gpu`, `npu`, `accelerator`, `nic` or `nvme`; None for what is none of them, of 24-bit PCI class code."""
    base, both = class_code >> 16, class_code >> 8
    if base == _NETWORK or both == _NVME:
        return "nic" if base == _NETWORK else "nvme"
    if (vendor_id, device_id) in _NOT_FOR_COMPUTING or (base == _DISPLAY and vendor_id in _NOT_FOR_COMPUTING_VENDORS):
        return None
    if base == _PROCESSING:
        return "gpu" if vendor_id in _GPU_VENDORS else "npu"
    if base == _DISPLAY:
        return "gpu" if both != _VGA or vendor_id in _VGA_FOR_COMPUTING else None
    return "accelerator" if both == _COPROCESSOR else None


def _is_wanted(class_code: int, *, io: bool) -> bool:
    base, both = class_code >> 16, class_code >> 8
    if base in (_DISPLAY, _PROCESSING) or both == _COPROCESSOR:
        return True
    return io and (base == _NETWORK or both == _NVME)


def _read_device(
    root: HostRoot,
    address: str,
    ids: tuple[int, int, int],
    kind: str,
    nodes: Mapping[int, CpuSet],
    files: NodeFiles,
    kfd: Kfd,
) -> DeviceRecord:
    class_code, vendor_id, device_id = ids
    place = place_of(root, address)
    local = read_local_cpus(root, address)
    claims = files.claims(address, place, local)
    if vendor_id == AMD:
        own = next((claim.node for claim in claims if claim.source == "numa_node"), None)
        claims += node_claim(kfd, address, nodes, own)
    if vendor_id == NVIDIA and kind == "gpu":
        claims += own_memory(root, address)
    claims += files.only_node(claims)
    node, source = chosen(claims, nodes)
    return DeviceRecord(
        address,
        class_code,
        kind,
        vendor_id,
        device_id,
        VENDORS.get(vendor_id),
        name_of(root, address, kind, vendor_id, kfd),
        node,
        source,
        None if local is None else local.cpus,
        tuple(claims),
        place.path,
    )


def _number(root: HostRoot, path: str) -> int | None:
    return read_value(root, path, parse.hexadecimal)
