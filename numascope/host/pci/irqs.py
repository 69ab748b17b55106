"""The interrupts of a device by its PCI address (Documentation/ABI/testing/sysfs-bus-pci, `msi_irqs`)."""

from __future__ import annotations

from typing import Final

from numascope.cpuset import CpuSet
from numascope.host.root import HostRoot
from numascope.host.system.interrupts import read_irq_cpus

_DEVICES: Final = "sys/bus/pci/devices"
_MOST: Final = 4_096


def read_device_irqs(root: HostRoot, address: str) -> dict[int, CpuSet]:
    """IRQ → the CPUs that it goes to, of those whose place may be read; a device without message interrupts has none here."""
    try:
        names = root.names(f"{_DEVICES}/{address}/msi_irqs")
    except OSError:
        return {}
    numbers = sorted(int(name) for name in names if name.isascii() and name.isdecimal() and len(name) < 7)
    found = {number: read_irq_cpus(root, number) for number in numbers[:_MOST]}
    return {number: cpus for number, cpus in found.items() if cpus}
