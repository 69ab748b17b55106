"""Where each device sits: as found on the machine, as the user says, or ranks without a device dealt over the nodes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.errors import UsageError
from numascope.host.pci.names import AMD, NVIDIA
from numascope.host.text import safe_text
from numascope.machine.objects import Device, Machine
from numascope.plan.objects import Note, NoteKind

MOST_SEATS: Final = 1_024
"""No machine has more accelerators; bounds what a mistyped --ranks costs."""

_BY_ADDRESS: Final = NoteKind("reading", "info", "compare with nvidia-smi or npu-smi, give --device where they differ")
_OF_ONE_KIND: Final = NoteKind("reading", "info", "give --device for those that ranks are started on")

_DEALT: Final = NoteKind("reading", "info", "say where they sit: --device 0=PCI-ADDRESS or 0=node:N")

_KINDS: Final = ("npu", "gpu", "accelerator")
_GIVEN = re.compile(r"(?:device_?)?([0-9]{1,5})=(.+)")
_ADDRESS = re.compile(r"(?:([0-9a-fA-F]{1,8}):)?([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2})(?:\.([0-7]))?")


class Seat(NamedTuple):
    """A device by its number in the plan and the node that it is near; `node` None: no source knows it."""

    number: int
    address: str | None
    node: int | None
    kernel_node: int | None
    """What its `numa_node` file says, which is all that PyTorch reads; None: -1, or there is no such file."""

    def __str__(self) -> str:
        return f"device {self.number}" if self.address is None else f"device {self.number} ({self.address})"


def seats_words(seats: Sequence[Seat]) -> str:
    """`device 0 (0000:3b:00.0)`, `devices 0-3`."""
    return str(seats[0]) if len(seats) == 1 else f"devices {CpuSet.of(seat.number for seat in seats)}"


class Seats(NamedTuple):
    """All devices that count, and what has to be said of how they were found."""

    seats: tuple[Seat, ...]
    notes: tuple[Note, ...] = ()
    are_dealt: bool = False
    """There is no device: the ranks were dealt over the nodes."""


def given_seats(machine: Machine, texts: Sequence[str]) -> Seats:
    """The devices that the user names, each `0=0000:3b:00.0` or `0=node:1`; UsageError."""
    found: dict[int, Seat] = {}
    for text in texts:
        matched = _GIVEN.fullmatch(text)
        if matched is None:
            raise UsageError(f'--device "{safe_text(text)}": give 0=PCI-ADDRESS or 0=node:N')
        number = int(matched[1])
        if number in found:
            raise UsageError(f"--device {number} is given twice: name each device once")
        if len(found) >= MOST_SEATS:
            raise UsageError(f"--device is given more than {MOST_SEATS} times, far more than a machine has")
        found[number] = _given_seat(machine, number, matched[2])
    twice = [seat.address for seat in found.values() if seat.address is not None]
    for address in twice:
        if twice.count(address) > 1:
            raise UsageError(f"--device: {address} is given for two numbers: name each device once")
    return Seats(tuple(found[number] for number in sorted(found)))


def _given_seat(machine: Machine, number: int, where: str) -> Seat:
    if where.startswith("node:"):
        digits = where.removeprefix("node:")
        known = CpuSet.of(node.id for node in machine.nodes)
        if not re.fullmatch("[0-9]{1,5}", digits) or int(digits) not in known:
            raise UsageError(f"--device {number}={safe_text(where)}: this machine has the nodes {known or 'none'}")
        return Seat(number, None, int(digits), int(digits))
    address = pci_address(where)
    device = next((one for one in machine.devices if one.address == address), None)
    if device is None:
        names = [one.address for one in machine.devices if one.kind in _KINDS]
        known_words = ", ".join(names[:8]) + (" and more" if len(names) > 8 else "")
        raise UsageError(
            f"--device {number}={safe_text(where)}: no such accelerator here, this machine has {known_words or 'none'}; "
            f"or give its node, {number}=node:N"
        )
    return _seat_of(number, device)


def pci_address(text: str) -> str | None:
    """A PCI address as sysfs writes it, of that or of nvidia-smi's form (`00000000:3B:00.0`); None: it is none."""
    matched = _ADDRESS.fullmatch(text.strip())
    if matched is None:
        return None
    domain, bus, slot, function = (int(piece or "0", 16) for piece in matched.groups())
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{function}"


def _seat_of(number: int, device: Device) -> Seat:
    own = [claim for claim in device.claims if claim.source == "numa_node"]
    kernel = own[0].node if own else device.node if device.node_source in (None, "numa_node") else None
    return Seat(number, device.address, device.node, kernel)


def found_seats(
    machine: Machine, wanted_kinds: Sequence[str], ranks: int | None, allowed: CpuSet | None = None
) -> Seats:
    """The machine's accelerators in PCI order, of one kind and vendor; without any, so many ranks dealt over the nodes. UsageError.

    A framework sees the devices of the one vendor that it was built for: beside eight GPUs of NVIDIA the one in an AMD
    processor has no number.
    They are dealt by how many of the `allowed` CPUs each node has; None: of those that whoever looks may use.
    """
    kind = _kind_of(machine, wanted_kinds)
    chosen = _of_one_vendor([one for one in machine.devices if one.kind == kind])
    if not chosen:
        return _dealt(machine, ranks, allowed)
    notes = []
    if len(chosen) > 1:
        text = f"devices are numbered by PCI address: where {kind} 0 is another, give --device 0=ADDRESS"
        notes.append(Note(None, text, _BY_ADDRESS))
    others = [one for one in machine.devices if one.kind in _KINDS and not _are_alike(one, chosen[0])]
    if others:
        kinds = ", ".join(sorted({_kind_words(one) for one in others}))
        names = ", ".join(one.address for one in others[:4])
        text = f"only the kind {_kind_words(chosen[0])} is planned, not {kinds} {names}: name others with --device"
        notes.append(Note(None, text, _OF_ONE_KIND))
    return Seats(tuple(_seat_of(number, device) for number, device in enumerate(chosen[:MOST_SEATS])), tuple(notes))


def own_seats(machine: Machine, wanted_kinds: Sequence[str]) -> Seats:
    """As `found_seats`, and no seats on a machine without accelerators."""
    return found_seats(machine, wanted_kinds, None) if has_accelerator(machine) else Seats(())


def _of_one_vendor(devices: Sequence[Device]) -> list[Device]:
    """Those of the vendor with most; of as many, of that which sells them apart from processors."""
    counts = Counter(one.vendor_id for one in devices)
    best = max(counts, key=lambda vendor: (counts[vendor], vendor == NVIDIA, vendor == AMD), default=None)
    return [one for one in devices if one.vendor_id == best]


def _are_alike(one: Device, other: Device) -> bool:
    return (one.kind, one.vendor_id) == (other.kind, other.vendor_id)


def _kind_words(device: Device) -> str:
    return device.kind if device.vendor is None else f"{device.vendor} {device.kind}"


def has_accelerator(machine: Machine) -> bool:
    """Whether the machine has a device of a kind that ranks are bound by."""
    return _kind_of(machine, ()) is not None


def _kind_of(machine: Machine, wanted: Sequence[str]) -> str | None:
    """The first wanted kind that there is, else the one with the most devices."""
    counts = {kind: sum(1 for one in machine.devices if one.kind == kind) for kind in _KINDS}
    for kind in wanted:
        if counts.get(kind):
            return kind
    best = max(_KINDS, key=lambda kind: counts[kind])
    return best if counts[best] else None


def _dealt(machine: Machine, ranks: int | None, allowed: CpuSet | None) -> Seats:
    if ranks is None:
        raise UsageError("no accelerator is seen here: give --device 0=PCI-ADDRESS or 0=node:N, or --ranks N")
    cpus = machine.cpus
    may = cpus.allowed if allowed is None else allowed
    usable = (cpus.online if may is None else cpus.online & may) - cpus.isolated - cpus.partitioned
    sizes = {node.id: size for node in machine.nodes if (size := len(node.cpus & usable))}
    ends = list(accumulate(sizes.values()))
    seats = []
    for rank in range(ranks):
        node = list(sizes)[bisect_right(ends, rank * ends[-1] // ranks)] if ends else None
        seats.append(Seat(rank, None, node, node))
    note = Note(None, "no accelerator is seen here: the ranks are dealt over the nodes in order", _DEALT)
    return Seats(tuple(seats), (note,), are_dealt=True)


def first_ranks(seats: Seats, ranks: int | None) -> tuple[Seat, ...]:
    """The devices of the first so many ranks; UsageError where there are fewer devices."""
    if ranks is None:
        return seats.seats
    if ranks > len(seats.seats):
        there = "is 1 device" if len(seats.seats) == 1 else f"are {len(seats.seats)} devices"
        raise UsageError(f"--ranks {ranks}: there {there}, name the others with --device")
    return seats.seats[:ranks]
