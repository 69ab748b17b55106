"""Ascend chips as `npu-smi info` (with PCI addresses) and `npu-smi info -m` (with their several numbers) list them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from numascope.errors import InputError
from numascope.host.pci.address import usual_address
from numascope.host.text import safe_text

_MOST_CHIPS: Final = 1024
_HEADING = re.compile(r"NPU ID|Chip ID|Chip Logic ID|Chip Phy-ID|Chip Physical ID|Chip Name")
_CARD = re.compile(r"([0-9]{1,5})\s+(\S.{0,63})")
_NUMBERS = re.compile(r"([0-9]{1,5})(?:\s+([0-9]{1,5}))?")
_NUMBER = re.compile(r"[0-9]{1,5}")


class NpuChip(NamedTuple):
    """One chip: of card `npu` chip number `chip`; `logic` is the device number of a framework, `physical` that of the driver."""

    npu: int
    chip: int
    logic: int | None
    physical: int | None
    name: str | None
    address: str | None


def npu_chips(lines: Sequence[str], path: str) -> tuple[NpuChip, ...]:
    """What both tables say, joined by card and chip and in that order; controllers (`Mcu`) are no chips. InputError where a table goes on without end."""
    found: dict[tuple[int, int], NpuChip] = {}
    for chip in (*_mapped(lines), *_addressed(lines)):
        before = found.get((chip.npu, chip.chip))
        found[chip.npu, chip.chip] = chip if before is None else _joined(before, chip)
        if len(found) > _MOST_CHIPS:
            raise InputError(path, f"over {_MOST_CHIPS} chips: expected the output of npu-smi info")
    return tuple(found[key] for key in sorted(found))


def _joined(one: NpuChip, other: NpuChip) -> NpuChip:
    return NpuChip(
        one.npu,
        one.chip,
        other.logic if one.logic is None else one.logic,
        other.physical if one.physical is None else one.physical,
        one.name or other.name,
        one.address or other.address,
    )


def _mapped(lines: Sequence[str]) -> Iterator[NpuChip]:
    """The rows of `npu-smi info -m`: its columns differ between releases, so they go by their headings."""
    columns: list[str] = []
    for line in lines:
        headings = _HEADING.findall(line)
        if headings[:2] == ["NPU ID", "Chip ID"]:
            columns = headings
            continue
        cells = line.split(None, len(columns) - 1) if columns else []
        if len(cells) != len(columns) or not cells or not _NUMBER.fullmatch(cells[0]):
            continue
        row = dict(zip(columns, cells, strict=True))
        logic, chip = _number(row.get("Chip Logic ID")), _number(row["Chip ID"])
        if logic is not None and chip is not None:
            physical = _number(row.get("Chip Phy-ID") or row.get("Chip Physical ID"))
            name = safe_text(row.get("Chip Name", "").strip()[:64]) or None
            yield NpuChip(int(cells[0]), chip, logic, physical, name, None)


def _addressed(lines: Sequence[str]) -> Iterator[NpuChip]:
    """The pairs of rows of `npu-smi info`: card and name, then chip (and its physical number) and PCI address."""
    card: re.Match[str] | None = None
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) < 3 or not line.lstrip().startswith("|"):
            continue
        address = usual_address(cells[1])
        numbers = _NUMBERS.fullmatch(cells[0])
        if address is not None and numbers and card:
            physical = None if numbers[2] is None else int(numbers[2])
            yield NpuChip(int(card[1]), int(numbers[1]), None, physical, safe_text(card[2].strip()), address)
        else:
            card = _CARD.fullmatch(cells[0])


def _number(cell: str | None) -> int | None:
    return int(cell) if cell is not None and _NUMBER.fullmatch(cell) else None
