"""How near two devices are to each other: by the bridges between them, and by what drivers, libraries or a given text say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Final, NamedTuple

from numascope.machine import quirks
from numascope.machine.objects import Device, Machine

PCIE_TYPES: Final = ("PIX", "PXB", "PHB", "NODE", "SYS")
"""From near to far, in the words of `nvidia-smi topo -m` (nvmlGpuTopologyLevel_t of nvml.h); every other word is a fabric."""

MOST_DEVICES: Final = 256
"""No machine has more accelerators and NICs; the matrix grows by the square."""


class Link(NamedTuple):
    """What joins two devices, the one of the lower number first; `type` None is unknown, `source` names what spoke."""

    a: str
    b: str
    type: str | None
    source: str


def linked_devices(machine: Machine) -> tuple[tuple[int, Device], ...]:
    """The devices of the matrix with their numbers: accelerators and NICs, without drives, at most MOST_DEVICES."""
    numbered = [(number, device) for number, device in enumerate(machine.devices) if device.kind != "nvme"]
    return tuple(numbered[:MOST_DEVICES])


def links_of(machine: Machine, told: Iterable[Link] = ()) -> tuple[Link, ...]:
    """One link for each pair: a fabric (NVLink, HCCS, XGMI) where `told` has one, else the PCIe path by sysfs, else as told.

    Of several told links of one pair the first counts.
    """
    by_pair: dict[frozenset[str], list[Link]] = {}
    for link in told:
        if link.type is not None:
            by_pair.setdefault(frozenset((link.a, link.b)), []).append(link)
    devices = [device for _, device in linked_devices(machine)]
    return tuple(_link(one, other, by_pair) for one, other in combinations(devices, 2))


def doubts_of(machine: Machine, told: Iterable[Link]) -> tuple[str, ...]:
    """What sources say otherwise of the devices of the matrix: of their nodes, and of the paths between them."""
    nodes = quirks.devices_that_disagree([device for _, device in linked_devices(machine)])
    return tuple(filter(None, (nodes, links_that_disagree(machine, told))))


def links_that_disagree(machine: Machine, told: Iterable[Link]) -> str | None:
    """Pairs whose PCIe path is another by sysfs than as told: the text may be of another machine."""
    devices = {device.address: device for _, device in linked_devices(machine)}
    found = []
    for link in told:
        if link.type not in PCIE_TYPES or link.a not in devices or link.b not in devices:
            continue
        own = pcie_type(devices[link.a], devices[link.b])
        if own is not None and own != link.type:
            found.append(f"{link.a}–{link.b} ({own} by sysfs, {link.type} by {link.source})")
    if not found:
        return None
    more = f" and {len(found) - 4} more" if len(found) > 4 else ""
    return f"sources disagree on the path between {', '.join(found[:4])}{more}: taken as sysfs has it"


def pcie_type(one: Device, other: Device) -> str | None:
    """The nearest thing that both are below, by `Device.path`; None where a path, or between two host bridges a node, is not known.

    PIX: the same bus or one switch (on each side at most one bridge lies below what they share); PXB: several switches;
    PHB: the host bridge itself; NODE: another host bridge of the same node; SYS: another node. A path through a domain
    that has a root complex of its own behind a device (Intel VMD) crosses that like a host bridge.
    """
    if not one.path or not other.path:
        return None
    shared = 0
    for mine, theirs in zip(one.path[:-1], other.path[:-1], strict=False):
        if mine != theirs:
            break
        shared += 1
    if shared == 0:
        if one.node is None or other.node is None:
            return None
        return "NODE" if one.node == other.node else "SYS"
    if one.path[shared - 1].startswith("pci"):
        return "PHB"
    between = max(len(one.path), len(other.path)) - 1 - shared
    return "PIX" if between <= 1 else "PXB"


def _link(one: Device, other: Device, told: Mapping[frozenset[str], list[Link]]) -> Link:
    said = told.get(frozenset((one.address, other.address)), [])
    fabric = next((link for link in said if link.type not in PCIE_TYPES), None)
    own = pcie_type(one, other)
    chosen = fabric or (said[0] if said and own is None else None)
    if chosen is not None:
        return Link(one.address, other.address, chosen.type, chosen.source)
    return Link(one.address, other.address, own, "sysfs")
