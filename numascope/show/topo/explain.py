"""`topo --explain OBJECT`: what numascope takes an object for, and the files and values behind it."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from itertools import groupby
from typing import Final, Literal, NamedTuple

from numascope.errors import UsageError
from numascope.host.pci.address import address_order
from numascope.host.system.provenance import Evidence
from numascope.host.text import safe_text
from numascope.machine.objects import Device, Machine
from numascope.show.ink import Line, Span
from numascope.show.topo.words import cache_size, cpus_named, gib, wrap

_NUMBERED: Final = re.compile(r"(cpu|node|n|package|d)([0-9]{1,6})")
_ADDRESS: Final = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})\.([0-7])")
_NO_FUNCTION: Final = re.compile(r"(?:[0-9a-f]{1,8}:)?[0-9a-f]{1,2}:[0-9a-f]{1,2}")


class Subject(NamedTuple):
    """What is to be explained: a CPU, node or package by its number, or a device by its place in `devices`."""

    kind: Literal["cpu", "node", "package", "device"]
    number: int


def subject_of(text: str, machine: Machine) -> Subject:
    """The object that a name means, in capitals or not; UsageError where this machine has none of that name."""
    text = text.strip()
    numbered = _NUMBERED.fullmatch(text.lower())
    if numbered is not None:
        kind, number = "node" if numbered[1] == "n" else numbered[1], int(numbered[2])
        known: dict[str, Container[int]] = {
            "cpu": machine.cpus.present,
            "node": [node.id for node in machine.nodes],
            "package": [package.id for package in machine.packages],
            "d": range(len(machine.devices)),
        }
        if number in known[kind]:
            return Subject("device" if kind == "d" else kind, number)  # type: ignore[arg-type]  # the pattern's words
        raise UsageError(f"{text}: this machine has {_have(kind, machine)}")
    address = _ADDRESS.fullmatch(text.lower())
    if address is None and _NO_FUNCTION.fullmatch(text.lower()):
        raise UsageError(f"{text}: a PCI address ends in a function, of which a device can have several: {text}.0")
    if address is None:
        raise UsageError(
            f"{safe_text(text) or '--explain'}: name an object as cpu17, node2, package0, d0 or 0000:3b:00.0"
        )
    wanted = address_order(f"{address[1] or '0000'}:{address[2]}:{address[3]}.{address[4]}")
    for index, device in enumerate(machine.devices):
        if address_order(device.address) == wanted:
            return Subject("device", index)
    raise UsageError(f"{text}: no accelerator, network card or NVMe drive of this machine has this PCI address")


def _have(kind: str, machine: Machine) -> str:
    if kind == "cpu":
        return cpus_named(machine.cpus.present)
    if kind == "d":
        last = len(machine.devices) - 1
        some = f"the devices d0 to d{last}" if last else "the device d0"
        return some if machine.devices else "no accelerator, network card or NVMe drive"
    things: Sequence[int] = [thing.id for thing in (machine.nodes if kind == "node" else machine.packages)]
    names = kind if len(things) == 1 else f"{kind}s"
    return f"{names} {', '.join(map(str, things))}" if things else f"no {kind} that is told"


def explain_lines(machine: Machine, subject: Subject, evidence: Iterable[Evidence], width: int) -> list[Line]:
    """What the object is, then each file with its value, then the notes of the machine that speak of such objects."""
    lines: list[Line] = [(Span(text, bold=True),) for text in wrap(_conclusion(machine, subject), width)]
    lines.append(())
    for directory, files in groupby(evidence, key=lambda one: one.path.rpartition("/")[0]):
        lines += _directory_lines(directory, list(files), width)
    if subject.kind == "device":
        lines += _claim_lines(machine.devices[subject.number], width)
    notes = [note for note in machine.notes if _speaks_of(note, subject)]
    return [*lines, *((Span(text, "warn"),) for note in notes for text in wrap(f"- {note}", width))]


def _directory_lines(directory: str, files: Sequence[Evidence], width: int) -> list[Line]:
    """A directory, and below it the names of its files with their values in a column."""
    lines: list[Line] = [(Span(text, "dim"),) for text in wrap(directory, width)]
    column = max(len(_name(one)) for one in files)
    for one in files:
        value = "?" if one.value is None else one.value or "(empty)"
        first, *others = wrap(f"  {_name(one).ljust(column)}  {value}", width, " " * (column + 4))
        lines += [(Span(text),) for text in (first, *others)]
    return lines


def _name(one: Evidence) -> str:
    return one.path.rpartition("/")[2]


def _conclusion(machine: Machine, subject: Subject) -> str:
    if subject.kind == "cpu":
        return f"cpu{subject.number}: {', '.join(_cpu_words(machine, subject.number))}"
    if subject.kind == "node":
        node = machine.node(subject.number)
        assert node is not None  # noqa: S101  (the subject was looked up in this machine)
        memory = "memory ?" if node.memory_kib is None else f"{gib(node.memory_kib)} GiB"
        cpus = cpus_named(node.cpus) if node.cpus else "no CPUs"
        near = ", ".join(f"{distance} to {other}" for other, distance in node.distances.items())
        return f"node {node.id}: {cpus}, {memory}{f', distance {near}' if near else ''}"
    if subject.kind == "package":
        package = next(one for one in machine.packages if one.id == subject.number)
        return f"package {package.id}: {cpus_named(package.cpus)}; the files are those of its lowest CPU"
    device = machine.devices[subject.number]
    where = "node unknown" if device.node is None else f"node {device.node} by {device.node_source}"
    what = f"{device.vendor or f'vendor {device.vendor_id:04x}'} {device.kind}"
    return f"{device.address}: {f'{what}, {device.name}' if device.name else what}, {where}"


def _cpu_words(machine: Machine, cpu: int) -> list[str]:
    cpus = machine.cpus
    if cpu not in cpus.online:
        return ["offline"]
    core = next((core for core in machine.cores if cpu in core.cpus), None)
    package = next((str(package.id) for package in machine.packages if cpu in package.cpus), "?")
    words = [
        "core ?" if core is None else f"core of {cpus_named(core.cpus)}",
        f"package {package}",
        f"node {machine.node_of.get(cpu, '?')}",
    ]
    words += [
        f"L{cache.level} {cache_size(cache.size_kib)} of {cpus_named(cache.cpus)}"
        for cache in machine.caches
        if cpu in cache.cpus and cache.level >= 2 and not cache.memory_side
    ]
    states = (
        ("isolated", cpus.isolated),
        ("nohz_full", cpus.nohz_full),
        ("in an isolated partition", cpus.partitioned),
    )
    words += [word for word, found in states if cpu in found]
    if cpus.allowed is not None and cpu not in cpus.allowed:
        words.append("not allowed by the cpuset")
    return words


def _claim_lines(device: Device, width: int) -> list[Line]:
    """What each source says of its node."""
    lines: list[Line] = [(), (Span("its node, the most trusted source first", bold=True),)]
    for claim in device.claims:
        says = "does not know" if claim.node is None else f"node {claim.node}"
        lines += [(Span(text),) for text in wrap(f"  {claim.source}: {says} ({claim.value})", width, "    ")]
    return lines


def _speaks_of(note: str, subject: Subject) -> bool:
    words = {"cpu": ("CPU",), "node": ("node",), "package": ("package",), "device": ("device", "accelerator")}
    return any(word in note for word in words[subject.kind])
