"""The matrix of links between accelerators and NICs, as text and as the `links` of the topo document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from numascope.machine.links import Link, linked_devices
from numascope.machine.objects import Device, Machine
from numascope.show.canvas import joined
from numascope.show.document import Document
from numascope.show.ink import Line, Span, Token
from numascope.show.topo.words import tied, wrap

_MEANINGS: Final = {
    "PIX": "one PCIe switch or none",
    "PXB": "several PCIe switches",
    "PHB": "through their host bridge",
    "NODE": "through two host bridges of one node",
    "SYS": "from node to node",
    "HCCS": "Huawei's fabric",
    "HCCS_SW": "Huawei's fabric through a switch",
    "SIO": "two dies of one NPU",
    "UB": "Huawei's UnifiedBus",
    "XGMI": "AMD's fabric",
}
_NVLINKS: Final = re.compile(r"NV([0-9]+)")
_SHORT: Final = {"NODE": "NOD", "HCCS": "HCS", "HCCS_SW": "HSW", "XGMI": "XGM"}
_TOKENS: Final[dict[str | None, Token]] = {
    "PIX": "near", "PXB": "near", "PHB": "text", "NODE": "text", "SYS": "far", None: "dim",
}  # fmt: skip
_UNKNOWN: Final = "?"
_UNREAD: Final = ": accelerators are unknown"
"""How the notes end of a machine whose source lists no device of any kind on a PCI bus."""
_ITSELF: Final = "X"
_NARROWEST: Final = 12
"""Cells that a label and a column take; the matrix is not made for less."""


def link_lines(machine: Machine, links: Sequence[Link], width: int = 80, doubts: Sequence[str] = ()) -> list[Line]:
    """The matrix in lines of at most `width` cells: whole where it fits, with short words where only these do, else in blocks of columns.

    Rows and columns are the numbers that `device_lines` gives, a row with its node; below is what the words mean, of those
    that stand in it, then a line for each device, then what sources disagree on. Without two devices a sentence says so.
    """
    devices = linked_devices(machine)
    if len(devices) < 2:
        return [*_no_matrix(machine, width), *_note_lines(doubts, width)]
    types = {frozenset((link.a, link.b)): link.type for link in links}
    words = {link.type for link in links}
    names = [f"d{number}" for number, _ in devices]
    margin = max(map(len, names))
    labels = [f"{name.ljust(margin)} {_node(device)}" for name, (_, device) in zip(names, devices, strict=True)]
    label_width = max(map(len, labels))
    room = max(1, width - label_width)
    cell = _cell_width(names, words, short=False)
    short = len(devices) * cell > room
    if short:
        narrow = _cell_width(names, words, short=True)
        short = len(devices) * narrow <= room
        cell = narrow if short else cell
    across = max(1, room // cell)
    lines: list[Line] = []
    for start in range(0, len(devices), across):
        columns = range(start, min(start + across, len(devices)))
        lines += [()] if lines else []
        lines.append((Span(" " * label_width + "".join(names[at].rjust(cell) for at in columns), "dim"),))
        for row, label in enumerate(labels):
            cells = (_cell(devices, types, row, at, cell, short=short) for at in columns)
            lines.append(joined([Span(label.ljust(label_width)), *cells]))
    hidden = sum(device.kind != "nvme" for device in machine.devices) - len(devices)
    if hidden:
        lines.append((Span(f"{hidden} more devices are left out", "dim"),))
    width = max(width, _NARROWEST)
    legend = wrap(_legend(words, links, width, short=short), width)
    return [
        *lines,
        *((Span(text, "dim"),) for text in legend),
        (),
        *_key_lines(devices, width),
        *_note_lines(doubts, width),
    ]


def link_document(links: Iterable[Link]) -> list[Document]:
    """The `links` of the topo document: both PCI addresses, the type (null: not known), and what says so."""
    return [{"a": link.a, "b": link.b, "type": link.type, "source": link.source} for link in links]


def _no_matrix(machine: Machine, width: int) -> list[Line]:
    """Why there is none: one device alone, none, or no files that would list them."""
    devices = linked_devices(machine)
    if devices:
        lone = "network card" if devices[0][1].kind == "nic" else "accelerator"
        sentence = f"one {lone} alone is listed here, and a matrix needs two devices:"
        return [*((Span(text),) for text in wrap(sentence, width)), *_key_lines(devices, width)]
    unknown = next((note for note in machine.notes if note.endswith(_UNREAD)), None)
    if unknown is None:
        sentence = "no accelerator and no network card is listed on a PCI bus here"
    else:
        why = unknown.removesuffix(_UNREAD)
        why = "there is no /sys/bus/pci" if why == "no PCI files" else why
        sentence = f"accelerators, network cards and the links between them are unknown: {why}"
    return [(Span(text),) for text in wrap(sentence, width)]


def _key_lines(devices: Sequence[tuple[int, Device]], width: int) -> list[Line]:
    """Each device in a line: number, kind, PCI address, node, maker and name; a long name goes on below itself."""
    rows = [(f"d{number}", device.kind, device.address, _node(device)) for number, device in devices]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines: list[Line] = []
    for row, (_, device) in zip(rows, devices, strict=True):
        start = " ".join(cell.ljust(each) for cell, each in zip(row, widths, strict=True))
        name = " ".join(filter(None, (device.vendor or f"vendor {device.vendor_id:04x}", device.name)))
        indent = " " * (len(start) + 1 if len(start) + _NARROWEST < width else 2)
        lines += [(Span(text),) for text in wrap(f"{tied(start)} {name}", width, indent)]
    return lines


def _note_lines(notes: Iterable[str], width: int) -> list[Line]:
    return [(Span(text, "dim"),) for note in notes for text in wrap(f"- {note}", width)]


def _node(device: Device) -> str:
    return "N?" if device.node is None else f"N{device.node}"


def _cell_width(names: Iterable[str], words: Iterable[str | None], *, short: bool) -> int:
    return 1 + max(3, *map(len, names), *(len(_word(word, short=short)) for word in words))


def _cell(
    devices: Sequence[tuple[int, Device]],
    types: dict[frozenset[str], str | None],
    row: int,
    column: int,
    width: int,
    *,
    short: bool,
) -> Span:
    if row == column:
        return Span(_ITSELF.rjust(width), "dim")
    found = types.get(frozenset((devices[row][1].address, devices[column][1].address)))
    return Span(_word(found, short=short).rjust(width), _TOKENS.get(found, "lit"))


def _word(word: str | None, *, short: bool) -> str:
    if word is None:
        return _UNKNOWN
    if short and (count := _NVLINKS.fullmatch(word)):
        return f"V{count[1]}"
    return _SHORT.get(word, word) if short else word


def _legend(words: set[str | None], links: Sequence[Link], width: int, *, short: bool) -> str:
    """The words that are used, from near to far, and who said them; what fits a line of that width is not broken."""
    parts = []
    known = [word for word in words if word is not None]
    if any(map(_NVLINKS.fullmatch, known)):
        parts.append("V# NV# that many NVLinks" if short else "NV# that many NVLinks")
    for word, meaning in _MEANINGS.items():
        if word in known:
            named = _word(word, short=short)
            parts.append(f"{named}{'' if named == word else f' {word}'} {meaning}")
    if None in words:
        parts.append("? not known")
    sources = dict.fromkeys(link.source for link in links if link.type is not None)
    parts = [f"{part};" for part in parts[:-1]] + parts[-1:] + ([f"(by {', '.join(sources)})"] if sources else [])
    return " ".join(tied(part) if len(part) <= width - 2 else part for part in parts)
