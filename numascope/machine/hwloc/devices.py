"""Accelerators (NICs, NVMe drives) out of an hwloc XML file, each near the node whose CPUs it hangs under."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from numascope.cpuset import EMPTY
from numascope.errors import InputError
from numascope.host.pci.address import address_order
from numascope.host.pci.devices import VENDORS, kind_of
from numascope.host.text import safe_text
from numascope.machine.hwloc.parse import HwlocObject, Topology
from numascope.machine.objects import Claim, Device, Node

SOURCE: Final = "hwloc xml"
OWN_NODE: Final = "NumascopeNode"
"""Our own information on a device: its node, empty for unknown, where its place in hwloc's tree cannot say it."""

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_TYPE = re.compile(r"([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\]")
_HOST_BRIDGE = re.compile(r"([0-9a-f]{4,8}):\[([0-9a-f]{2})-[0-9a-f]{2}\]")


_IO: Final = ("nic", "nvme")


def pci_devices(topology: Topology, nodes: Sequence[Node], *, io: bool) -> tuple[Device, ...]:
    """The accelerators by PCI address, with `io` then NICs, then NVMe drives; InputError for an address or a type that is none."""
    by_number = {node.id: node for node in nodes}
    found: dict[str, Device] = {}
    for one in topology.objects:
        if one.type == "PCIDev":
            device = _device(topology, one, by_number)
            if device is not None and (io or device.kind not in _IO):
                found.setdefault(device.address, device)
    order = {kind: number for number, kind in enumerate(_IO, 1)}
    return tuple(sorted(found.values(), key=lambda device: (order.get(device.kind, 0), address_order(device.address))))


def _device(topology: Topology, found: HwlocObject, nodes: Mapping[int, Node]) -> Device | None:
    address = found.attributes.get("pci_busid", "").lower()
    named = _TYPE.match(found.attributes.get("pci_type", "").lower())
    if not _ADDRESS.fullmatch(address) or named is None:
        raise InputError(topology.name, "a PCI device without a pci_busid and pci_type such as hwloc writes", *found.at)
    class_code, vendor_id, device_id = int(named[1], 16) << 8, int(named[2], 16), int(named[3], 16)
    kind = kind_of(class_code, vendor_id, device_id)
    if kind is None:
        return None
    above = _above(topology, found)
    place = topology.objects[_holder(topology, found)]
    near = place.sets.get("nodeset", EMPTY)
    node = _node(found, nodes, [nodes[number] for number in near if number in nodes])
    is_anywhere = place.parent is None and len(nodes) > 1
    return Device(
        address,
        class_code,
        kind,
        vendor_id,
        device_id,
        VENDORS.get(vendor_id),
        safe_text(found.infos["PCIDevice"]) if "PCIDevice" in found.infos else None,
        node,
        None if node is None else SOURCE,
        None if is_anywhere else place.sets.get("cpuset"),
        (Claim(SOURCE, f"{topology.name}:{place.at.line}:{place.at.column}", f"nodes {near}", node),),
        (*above, address),
    )


def _node(found: HwlocObject, nodes: Mapping[int, Node], near: Sequence[Node]) -> int | None:
    told = found.infos.get(OWN_NODE)
    return node_near(near) if told is None else next((number for number in nodes if str(number) == told), None)


def node_near(near: Sequence[Node]) -> int | None:
    """Of the nodes of the place where a device hangs: the only one, or the only one with CPUs."""
    for candidates in (near, [node for node in near if node.cpus]):
        if len(candidates) == 1:
            return candidates[0].id
    return None


def _holder(topology: Topology, found: HwlocObject) -> int:
    """The nearest object around a device that has CPUs."""
    at = found.parent
    while at:
        if "cpuset" in topology.objects[at].sets:
            return at
        at = topology.objects[at].parent
    return 0


def _above(topology: Topology, found: HwlocObject) -> list[str]:
    """The bridges above a device as sysfs names them, the root complex first."""
    names: list[str] = []
    at = found.parent
    while at and topology.objects[at].type == "Bridge":
        bridge = topology.objects[at]
        address = bridge.attributes.get("pci_busid", "").lower()
        host = _HOST_BRIDGE.fullmatch(bridge.attributes.get("bridge_pci", "").lower())
        if _ADDRESS.fullmatch(address):
            names.insert(0, address)
        elif host is not None:
            names.insert(0, f"pci{host[1]}:{host[2]}")
        at = bridge.parent
    return names
