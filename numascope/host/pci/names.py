"""What drivers call a device; a name is never looked up or guessed from its PCI ids."""

from __future__ import annotations

from typing import Final

from numascope.host import parse
from numascope.host.pci.address import PCI_DIRECTORY
from numascope.host.pci.kfd import Kfd
from numascope.host.root import HostRoot
from numascope.host.system.memory import NVIDIA_GPUS
from numascope.host.text import safe_text

AMD: Final = 0x1002
NVIDIA: Final = 0x10DE

_LONGEST: Final = 80
_MOST_INTERFACES: Final = 8
_FOLDERS: Final = {"nic": ("infiniband", "net"), "nvme": ("nvme",)}
"""Where below a device the kernel lists what it is used as: RDMA devices before network interfaces, NVMe controllers."""


def name_of(root: HostRoot, address: str, kind: str, vendor_id: int, kfd: Kfd) -> str | None:
    """The driver's name of it: NVIDIA's `Model`, amdgpu's `product_name` or KFD's `name`; of a NIC or NVMe drive its interfaces.

    Several interfaces of one device are joined with `, `. The Ascend driver gives no name in files: None.
    """
    if kind in _FOLDERS:
        listed = (root.names(f"{PCI_DIRECTORY}/{address}/{folder}") for folder in _FOLDERS[kind])
        names = [safe_text(name) for folder in listed for name in folder]
        return ", ".join(names[:_MOST_INTERFACES]) or None
    if vendor_id == NVIDIA:
        return _nvidia_model(root, address)
    if vendor_id == AMD:
        raw = root.read_if_there(f"{PCI_DIRECTORY}/{address}/product_name", 4096)
        name = None if raw is None else parse.text(raw)[:_LONGEST]
        gpu = kfd.gpus.get(address)
        # Kernels of 2022 call every newer GPU by how they found it.
        from_kfd = gpu.name if gpu is not None and gpu.name != "ip discovery" else None
        return name or from_kfd
    return None


def _nvidia_model(root: HostRoot, address: str) -> str | None:
    """`Model:` of /proc/driver/nvidia/gpus/ADDRESS/information; the driver writes Unknown where it has none."""
    raw = root.read_if_there(f"{NVIDIA_GPUS}/{address}/information", 4096)
    for line in (raw or b"").split(b"\0", 1)[0].splitlines():
        key, _, value = line.partition(b":")
        if key.strip() == b"Model":
            name = parse.text(value.replace(b"\t", b" "))[:_LONGEST]
            return name if name and name != "Unknown" else None
    return None
