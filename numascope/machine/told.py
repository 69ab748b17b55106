"""What other sources than the kernel's files say of devices, brought to PCI addresses: NVML, KFD, a given text of nvidia-smi or npu-smi."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY
from numascope.errors import InputError
from numascope.host.pci.address import address_order
from numascope.host.pci.kfd import Kfd
from numascope.host.pci.names import NVIDIA
from numascope.host.pci.nvml import NvmlReport
from numascope.host.pci.smi import SmiDevice, SmiTopology
from numascope.machine import quirks
from numascope.machine.links import Link
from numascope.machine.objects import Claim, Device, Machine

_HUAWEI: Final = 0x19E5


class Told(NamedTuple):
    """PCI address → what a source says of the device's node, and the links that it knows."""

    claims: Mapping[str, Claim]
    links: tuple[Link, ...]


def told_by_kfd(kfd: Kfd) -> Told:
    """The links of AMD's fabric; the nodes are among the device's claims already."""
    pairs = {
        (min(gpu.address, peer, key=address_order), max(gpu.address, peer, key=address_order))
        for gpu in kfd.gpus.values()
        for peer in gpu.peers
    }
    return Told({}, tuple(Link(a, b, "XGMI", "kfd") for a, b in sorted(pairs)))


def told_by_nvml(report: NvmlReport) -> Told:
    """The near nodes and the NVLinks of NVIDIA GPUs."""
    claims = {address: Claim(*claim) for address, claim in report.claims}
    return Told(claims, tuple(Link(a, b, f"NV{count}", "nvml") for a, b, count in report.nvlinks))


def told_by_smi(machine: Machine, text: SmiTopology) -> Told:
    """A matrix by addresses: GPUs in the order of their PCI addresses, as nvidia-smi numbers them, NICs by RDMA device.

    npu-smi numbers NPUs in an order of its own: by the addresses of `npu-smi info` in the same text, and without these only
    where all links are alike, so that the order does not matter. InputError where the text cannot be of this machine, or
    does not tell which device is which. NICs that the machine was read without are left out.
    """
    if text.devices and text.devices[0].sort in ("NPU", "Phy-ID"):
        addresses, is_exact = _npu_addresses(machine, text)
    else:
        addresses, is_exact = _gpu_addresses(machine, text) | _nic_addresses(machine, text.devices), True
    claims = {
        addresses[row.label]: claim
        for row in text.devices
        if is_exact and row.label in addresses and (claim := _claim(machine, row, text)) is not None
    }
    links = tuple(
        Link(addresses[link.a], addresses[link.b], link.type, text.tool)
        for link in text.links
        if link.type is not None and link.a in addresses and link.b in addresses
    )
    return Told(claims, links)


def with_claims(machine: Machine, told: Told) -> Machine:
    """The machine with these claims after those of its own files; they give a node only to a device that has none yet."""
    devices = tuple(_with_claim(device, told.claims.get(device.address), machine) for device in machine.devices)
    before = quirks.devices_that_disagree(machine.devices)
    after = quirks.devices_that_disagree(devices)
    notes = (*(note for note in machine.notes if note != before), *([after] if after else []))
    return machine._replace(devices=devices, notes=notes)


def _with_claim(device: Device, claim: Claim | None, machine: Machine) -> Device:
    if claim is None:
        return device
    claims = (*device.claims, claim)
    if device.node is not None or claim.node is None or machine.node(claim.node) is None:
        return device._replace(claims=claims)
    return device._replace(claims=claims, node=claim.node, node_source=claim.source)


def _gpu_addresses(machine: Machine, text: SmiTopology) -> dict[str, str]:
    rows = [row for row in text.devices if row.sort == "GPU"]
    gpus = _of_vendor(machine, NVIDIA, "gpu")
    if sorted(row.number or 0 for row in rows) != list(range(len(gpus))):
        problem = (
            f"has rows of {len(rows)} GPUs, and the machine has {len(gpus)} from NVIDIA: give a text of this machine"
        )
        raise InputError(text.path, problem)
    return {row.label: gpus[row.number or 0] for row in rows}


def _nic_addresses(machine: Machine, rows: Iterable[SmiDevice]) -> dict[str, str]:
    of_name = {
        name: device.address
        for device in machine.devices
        if device.kind == "nic" and device.name is not None
        for name in device.name.split(", ")
    }
    return {row.label: of_name[row.name] for row in rows if row.name is not None and row.name in of_name}


def _npu_addresses(machine: Machine, text: SmiTopology) -> tuple[dict[str, str], bool]:
    """The address of each row, and whether they are its own: without addresses in the text they are all NPUs' in any order."""
    npus = _of_vendor(machine, _HUAWEI, "npu")
    known = _addresses_of_chips(text)
    if all(row.label in known for row in text.devices):
        strange = sorted(set(known.values()) - set(npus), key=address_order)
        if strange:
            problem = f"names {strange[0]}, where the machine has no NPU: give a text of this machine"
            raise InputError(text.path, problem)
        return known, True
    if len(text.devices) != len(npus):
        problem = f"has rows of {len(text.devices)} NPUs, and the machine has {len(npus)}"
        raise InputError(text.path, f"{problem}: give a text of this machine, with the output of npu-smi info in it")
    if len({link.type for link in text.links}) > 1:
        problem = "does not tell which NPU is at which PCI address: add the output of npu-smi info to the same file"
        raise InputError(text.path, problem)
    return {row.label: address for row, address in zip(text.devices, npus, strict=True)}, False


def _addresses_of_chips(text: SmiTopology) -> dict[str, str]:
    """`Phy-ID3` by the chip's physical number, `NPU3` by card where every card has one chip."""
    chips = [chip for chip in text.chips if chip.address is not None]
    cards = [chip.npu for chip in chips]
    found: dict[str, str] = {}
    for chip in chips:
        if chip.physical is not None and chip.address is not None:
            found[f"Phy-ID{chip.physical}"] = chip.address
        if cards.count(chip.npu) == 1 and chip.address is not None:
            found[f"NPU{chip.npu}"] = chip.address
    return {row.label: found[row.label] for row in text.devices if row.label in found}


def _of_vendor(machine: Machine, vendor_id: int, kind: str) -> list[str]:
    found = (device.address for device in machine.devices if device.vendor_id == vendor_id and device.kind == kind)
    return sorted(found, key=address_order)


def _claim(machine: Machine, row: SmiDevice, text: SmiTopology) -> Claim | None:
    """The one node of NUMA Affinity, else the one whose CPUs are the CPU Affinity; a list of several proves none."""
    if row.nodes is not None:
        node = row.nodes.first if len(row.nodes) == 1 else None
        return Claim(text.tool, text.path, f"{row.label}: NUMA Affinity {row.nodes}", node)
    if row.cpus is None:
        return None
    return Claim(text.tool, text.path, f"{row.label}: CPU Affinity {row.cpus}", _node_of_cpus(machine, row))


def _node_of_cpus(machine: Machine, row: SmiDevice) -> int | None:
    cpus = (row.cpus or EMPTY) & machine.cpus.online
    matching: Sequence[int] = [node.id for node in machine.nodes if node.cpus and node.cpus == cpus]
    return matching[0] if len(matching) == 1 and cpus != machine.cpus.online else None
