"""The interrupts of a device by its PCI address (Documentation/ABI/testing/sysfs-bus-pci, `msi_irqs`)."""

from __future__ import annotations

from typing import Final

from numascope.cpuset import CpuSet
from numascope.host.pci.address import PCI_DIRECTORY
from numascope.host.root import HostRoot
from numascope.host.system.interrupts import read_irq_cpus

IRQS: Final = "msi_irqs"
"""The directory of a device that names its message interrupts."""

MOST_IRQS: Final = 4_096
"""Of one device; a queue a CPU is what the greediest asks for."""


def read_device_irqs(root: HostRoot, address: str) -> dict[int, CpuSet]:
    """IRQ → the CPUs that it goes to, of those whose place may be read; a device without message interrupts has none here."""
    found = {number: read_irq_cpus(root, number) for number in irq_numbers(root, f"{PCI_DIRECTORY}/{address}")}
    return {number: cpus for number, cpus in found.items() if cpus}


def irq_numbers(root: HostRoot, directory: str) -> list[int]:
    """The numbers of the message interrupts of the device with this directory, rising, at most `MOST_IRQS`."""
    names = root.names(f"{directory}/{IRQS}")
    return sorted(int(name) for name in names if name.isascii() and name.isdecimal() and len(name) < 7)[:MOST_IRQS]
