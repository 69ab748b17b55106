"""Which number of a device file, or of a runtime's own list, is which PCI device: as drivers say it, never by counting alone.

NVIDIA: /proc/driver/nvidia/gpus/ADDRESS/information ("Device Minor", README of the driver, "/proc interface"), which may differ
from CUDA's index. AMD: the order of /sys/class/kfd, which ROCr counts by. Ascend: its class of character devices, where a
driver hangs them below their PCI device. DRM: drivers/gpu/drm/drm_sysfs.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from numascope.host.pci.address import address_order, is_address, usual_address
from numascope.host.pci.kfd import read_kfd
from numascope.host.pci.nvml import NvmlReport
from numascope.host.root import HostRoot

_NVIDIA_GPUS: Final = "proc/driver/nvidia/gpus"
_MINOR: Final = re.compile(rb"Device Minor:\s*([0-9]{1,4})\s")
_LONGEST_FILE: Final = 1 << 14
_MOST_DEVICES: Final = 1024

_ASCEND_CLASSES: Final = ("devdrv-class", "davinci")
_LINKED: Final = (
    *((f"sys/class/{one}", re.compile(r"davinci[0-9]{1,4}")) for one in _ASCEND_CLASSES),
    ("sys/class/drm", re.compile(r"renderD[0-9]{1,4}")),
)
"""Directories of links to devices, and the names of those that are device files of accelerators."""


class Order(NamedTuple):
    """A runtime's own list of devices: their addresses by index (None: unknown), whose list that is, and whether it is the runtime's for sure."""

    addresses: tuple[str | None, ...]
    source: str
    is_sure: bool


class DeviceNumbers(NamedTuple):
    """Device file (`nvidia0`) → PCI address, as the kernel tells it; and each runtime's order: `nvidia`, `amd`."""

    files: Mapping[str, str]
    orders: Mapping[str, Order]


NO_NUMBERS: Final = DeviceNumbers({}, {})
"""Nothing is known."""


def read_device_numbers(root: HostRoot) -> DeviceNumbers:
    """What this host's drivers say; empty where there are none."""
    files = dict(_linked(root))
    addresses = [name for name in root.names(_NVIDIA_GPUS)[:_MOST_DEVICES] if usual_address(name) == name]
    for address in addresses:
        found = _MINOR.search(root.read_if_there(f"{_NVIDIA_GPUS}/{address}/information", _LONGEST_FILE) or b"")
        if found is not None:
            files[f"nvidia{int(found[1])}"] = address
    orders: dict[str, Order] = {}
    if addresses:
        by_place = tuple(sorted(addresses, key=address_order))
        orders["nvidia"] = Order(by_place, "PCI order", is_sure=False)
    gpus = tuple(read_kfd(root).gpus)
    if gpus:
        orders["amd"] = Order(gpus, "the order of /sys/class/kfd", is_sure=False)
    return DeviceNumbers(files, orders)


def with_nvml(numbers: DeviceNumbers, report: NvmlReport) -> DeviceNumbers:
    """With NVIDIA's own numbering in place of the order of addresses."""
    if not any(report.addresses):
        return numbers
    return numbers._replace(orders={**numbers.orders, "nvidia": Order(report.addresses, "NVML", is_sure=True)})


def _linked(root: HostRoot) -> Iterator[tuple[str, str]]:
    for directory, wanted in _LINKED:
        for name in root.names(directory)[:_MOST_DEVICES]:
            if wanted.fullmatch(name) and (address := _address_above(root, f"{directory}/{name}")) is not None:
                yield name, address


def _address_above(root: HostRoot, path: str) -> str | None:
    """The PCI device that a device of /sys/class hangs below: its `device`, else the last address on the way to it."""
    for link in (root.link(f"{path}/device"), root.link(path)):
        found = [part for part in (link or "").split("/") if is_address(part)]
        if found:
            return found[-1]
    return None
