"""Which PCI device a rank is on, how that is known, and the condition `far`: its CPU time is spent at another node. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.host.pci.numbers import DeviceNumbers, Order
from numascope.machine.objects import Device, Machine
from numascope.observe.jobs import Rank
from numascope.observe.sample import ProcessFacts
from numascope.review.report import Finding, Placement, RankView

_KIND: Final = re.compile(r"(nvidia|davinci|renderD)[0-9]+")
_AWAY: Final = 0.5
"""A rank is far where more than half of its CPU time is spent off its device's node."""

_AT_WORK: Final = 0.05
"""CPUs in use, below which nobody pays for a distance."""


class DevicePlace(NamedTuple):
    """A rank's device on the machine: its address and node (None: unknown), what says so, and whether that is certain."""

    address: str
    node: int | None
    source: str
    is_sure: bool


def place_of(rank: Rank, process: ProcessFacts | None, machine: Machine, numbers: DeviceNumbers) -> DevicePlace | None:
    """The device that a rank holds open, where that is one, else the one of its number; None where nothing tells."""
    devices = {device.address: device for device in machine.devices}
    held = None if process is None else process.devices_held
    open_ones = {name: numbers.files[name] for name in held or () if numbers.files.get(name) in devices}
    if len(set(open_ones.values())) == 1 and not rank.by_hand:
        name, address = next(iter(open_ones.items()))
        return DevicePlace(address, devices[address].node, f"/dev/{name}, which it holds open", is_sure=True)
    if rank.device is None or (held == () and not rank.by_hand):
        return None  # who holds no device file is on no device
    if process is not None and process.inner_pid is not None and not _sees_all(process):
        return None  # a container may number its devices by itself
    return _by_number(rank.device, process, devices, numbers)


def _sees_all(process: ProcessFacts) -> bool:
    return (process.environ or {}).get("NVIDIA_VISIBLE_DEVICES") == "all"


def _by_number(
    number: int, process: ProcessFacts | None, devices: dict[str, Device], numbers: DeviceNumbers
) -> DevicePlace | None:
    family = _family(process, numbers)
    if family is None:
        return None
    if family == "davinci":
        address = numbers.files.get(f"davinci{number}")
        source, is_sure = f"/dev/davinci{number}, by its number", False
    else:
        order = numbers.orders[family]
        address = order.addresses[number] if number < len(order.addresses) else None
        told = _told(order, process, devices) if family == "nvidia" else (order.source, False)
        if told is None:
            return None
        source, is_sure = f"number {number} by {told[0]}", told[1]
    device = None if address is None else devices.get(address)
    return None if device is None else DevicePlace(device.address, device.node, source, is_sure=is_sure)


def _family(process: ProcessFacts | None, numbers: DeviceNumbers) -> str | None:
    """By whose numbers a rank counts: those of the device files that it holds, else the only ones that this machine has."""
    held = () if process is None or process.devices_held is None else process.devices_held
    kinds = {found[1] for name in held if (found := _KIND.fullmatch(name)) is not None}
    known = {*numbers.orders, *("davinci" for name in numbers.files if name.startswith("davinci"))}
    for kind, family in (("davinci", "davinci"), ("nvidia", "nvidia"), ("renderD", "amd")):
        if kind in kinds and family in known:
            return family
    return next(iter(known)) if len(known) == 1 else None


def _told(order: Order, process: ProcessFacts | None, devices: dict[str, Device]) -> tuple[str, bool] | None:
    """How CUDA's index and this order go together: the same for sure, probably, or (None) not at all.

    By default CUDA counts the fastest GPU first; where all are alike that was always their order on the bus (CUDA C++
    Programming Guide, CUDA_DEVICE_ORDER).
    """
    if process is not None and (process.environ or {}).get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID":
        return f"{order.source}, as CUDA_DEVICE_ORDER asks", True
    models = {devices[one].device_id for one in order.addresses if one is not None and one in devices}
    return (order.source, order.is_sure) if len(models) == 1 else None


def far(
    ranks: Sequence[RankView],
    places: Sequence[DevicePlace | None],
    members: Sequence[Sequence[Placement]],
    machine: Machine,
) -> list[tuple[Finding, bool]]:
    """Ranks that spend most of their CPU time off their device's node (`members`: the busy threads, by rank), and whether their masks hold them there.

    What rests on a guess of the device only informs.
    """
    found: list[tuple[Finding, bool]] = []
    for index, (view, place, threads) in enumerate(zip(ranks, places, members, strict=True)):
        if place is None or place.node is None:
            continue
        near = _near(place, machine)
        if not near:
            continue
        by_node: dict[int, float] = {}
        for one in threads:
            if one.busy and one.cpu is not None and not one.cpu_stale and one.node is not None:
                node = place.node if one.cpu in near else one.node
                by_node[node] = by_node.get(node, 0.0) + one.busy
        total = sum(by_node.values())
        away = {node: busy for node, busy in by_node.items() if node != place.node}
        if total >= _AT_WORK and sum(away.values()) > _AWAY * total:
            is_held = all(one.allowed is not None and not one.allowed & near for one in threads)
            found.append((_far(view, index, place, away, total, machine), is_held))
    return found


def _near(place: DevicePlace, machine: Machine) -> CpuSet:
    """The CPUs of the device's node, and those that the kernel calls local to the device."""
    node = None if place.node is None else machine.node(place.node)
    device = next((one for one in machine.devices if one.address == place.address), None)
    local = None if device is None else device.local_cpus
    cpus = CpuSet() if node is None else node.cpus
    whole = machine.cpus.online
    return cpus if local is None or local >= whole else cpus | local


def _far(
    view: RankView, index: int, place: DevicePlace, away: dict[int, float], total: float, machine: Machine
) -> Finding:
    assert place.node is not None  # noqa: S101  (the caller leaves out the others)
    most = max(away, key=lambda node: away[node])
    distance = machine.distance(place.node, most)
    distances = f"distance N{place.node} to N{most} {'unknown' if distance is None else distance}"
    share = sum(away.values()) / total
    number = "" if view.device is None else f" {view.device}"
    return Finding(
        rule="far",
        severity="warning" if place.is_sure else "info",
        subject=view.name,
        text=f"runs on N{CpuSet.of(away)}, its device{number} is at N{place.node}",
        evidence=f"{share:.0%} of its CPU time; {distances}; device {place.address} by {place.source}"
        + ("" if place.is_sure else ": likely, not certain"),
        remedy=f"plan CPUs of node {place.node} for it: numascope plan make",
        rank=index,
        weight=round(100 * share),
    )
