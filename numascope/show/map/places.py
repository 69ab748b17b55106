"""Every cell and label of the map in its place, for a chosen shape."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from numascope.cpuset import EMPTY, CpuSet
from numascope.show.map.areas import Area, Groups, Level
from numascope.show.map.shape import Shape, area_width, height_of, label_width, line_rows, tail, threads_of

SlotKind = Literal["load", "plan", "owner"]
LabelKind = Literal["node", "share", "devices", "smt", "row", "axis", "flags", "foot"]


class Slot(NamedTuple):
    """A cell of the picture: its place, its width in columns, and the CPUs it stands for."""

    row: int
    column: int
    width: int
    cpus: tuple[int, ...]
    kind: SlotKind


class Label(NamedTuple):
    """A text of the picture; `text` is what never changes, the rest is filled in from a report."""

    row: int
    column: int
    width: int
    kind: LabelKind
    area: int
    text: str = ""
    cpus: CpuSet = EMPTY
    """What a share or flags speak of: the CPUs of this piece of the area."""


@dataclass(frozen=True)
class MapLayout:
    """The picture without its values: its size, slots and labels, and the words for one cell, group and line."""

    width: int
    height: int
    level: Level
    areas: tuple[Area, ...]
    slots: tuple[Slot, ...]
    labels: tuple[Label, ...]
    group: str
    line: str
    full_height: int
    """More than `height` where even packages do not fit: the picture then scrolls."""


@dataclass
class _Sheet:
    """What is placed so far."""

    areas: tuple[Area, ...]
    shape: Shape
    slots: list[Slot] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)

    @property
    def threads(self) -> int:
        """Rows of one kind: one a hardware thread of a core at level thread, else one."""
        return threads_of(self.areas, self.shape.level)

    @property
    def label(self) -> int:
        """Columns left of the cells."""
        return label_width(self.shape.level, self.threads, axis=self.shape.axis)


class _Corner(NamedTuple):
    """A piece of an area: whose, its upper left cell, its width, and whether it is the area's last."""

    area: int
    top: int
    left: int
    width: int
    last: bool


def placed(areas: tuple[Area, ...], shape: Shape, columns: int, rows: int) -> MapLayout:
    """The picture of these areas in that shape."""
    sheet = _Sheet(areas, shape)
    width = area_width(areas, shape)
    gap = 0 if tail(shape) == 1 else 2
    step = line_rows(areas, shape) + shape.spacer
    for at, area in enumerate(areas):
        line, place = divmod(at, shape.per_line)
        for part, piece in enumerate(area.pieces(shape.pieces)):
            top = (line * shape.pieces + part) * step
            corner = _Corner(at, top, place * (width + gap), width, part == shape.pieces - 1)
            _place_cells(sheet, piece, corner)
            _place_labels(sheet, piece, corner)
    height = height_of(areas, shape)
    return MapLayout(
        width=min(columns, shape.per_line * (width + gap) - gap),
        height=min(height, rows),
        level=shape.level,
        areas=areas,
        slots=tuple(sheet.slots),
        labels=tuple(sheet.labels),
        group=areas[0].group if areas else "",
        line="line = package" if shape.per_line > 1 and _is_package_line(areas, shape.per_line) else "",
        full_height=height,
    )


def _is_package_line(areas: tuple[Area, ...], per_line: int) -> bool:
    lines = [areas[at : at + per_line] for at in range(0, len(areas), per_line)]
    return all(len({area.package for area in line}) == 1 for line in lines)


def _place_cells(sheet: _Sheet, piece: Groups, corner: _Corner) -> None:
    shape, threads = sheet.shape, sheet.threads
    loads_at = corner.top + shape.axis
    kinds: tuple[SlotKind, ...] = ("load", "plan", "owner") if shape.apart else ("load", "owner")
    column = corner.left + sheet.label
    for group in piece:
        if shape.axis and group:
            sheet.labels.append(
                Label(corner.top, column, len(group) * shape.cell, "axis", corner.area, str(group[0][0]))
            )
        for cpus in group:
            rows = {0: cpus}
            if shape.level == "thread":
                rows = {row: (cpu,) for row, cpu in sheet.areas[corner.area].column_rows(cpus).items()}
            for band, kind in enumerate(kinds):
                for smt, here in rows.items():
                    sheet.slots.append(Slot(loads_at + band * threads + smt, column, shape.cell, here, kind))
            column += shape.cell
        column += 1


def _place_labels(sheet: _Sheet, piece: Groups, corner: _Corner) -> None:
    here = CpuSet.of(cpu for group in piece for column in group for cpu in column)
    if sheet.shape.axis:
        _labels_of_axis(sheet, corner, here)
    elif tail(sheet.shape) > 1:
        _labels_beside(sheet, corner, here)
    else:
        _labels_left(sheet, corner, here)
    _labels_of_bands(sheet, corner)


def _bands_at(sheet: _Sheet, corner: _Corner) -> tuple[int, int]:
    """The rows at which loads and owners start."""
    loads_at = corner.top + sheet.shape.axis
    return loads_at, loads_at + sheet.threads * (2 if sheet.shape.apart else 1)


def _labels_of_axis(sheet: _Sheet, corner: _Corner, here: CpuSet) -> None:
    """Name and flags in the row of CPU numbers; load, plan and devices left of the rows."""
    loads_at, owners_at = _bands_at(sheet, corner)
    left, room, at = corner.left + 1, sheet.label - 2, corner.area
    sheet.labels.append(Label(corner.top, left, sheet.label - 1, "node", at, sheet.areas[at].name))
    sheet.labels.append(Label(corner.top, corner.left + corner.width - 8, 7, "flags", at, "right", here))
    if sheet.threads > 1:
        return
    sheet.labels.append(Label(loads_at, left, room, "share", at, "", here))
    sheet.labels.append(Label(owners_at, left, room, "row" if sheet.shape.foot else "devices", at, "ran"))
    if sheet.shape.apart:
        sheet.labels.append(Label(loads_at + 1, left, room, "row", at, "plan"))


def _labels_beside(sheet: _Sheet, corner: _Corner, here: CpuSet) -> None:
    """Name and devices left, load and flags right."""
    loads_at, owners_at = _bands_at(sheet, corner)
    end, at = corner.left + corner.width, corner.area
    name = sheet.areas[at].name if sheet.threads > 1 else f"{sheet.areas[at].name} {here.first}"
    whole, under = (3, 2) if sheet.threads > 1 else (sheet.label - 1, sheet.label - 1)
    sheet.labels.append(Label(loads_at, corner.left, whole, "node", at, name))
    sheet.labels.append(Label(loads_at, end - 3, 3, "share", at, "", here))
    sheet.labels.append(Label(owners_at, end - 3, 3, "flags", at, "right", here))
    sheet.labels.append(Label(owners_at, corner.left, under, "devices", at))


def _labels_left(sheet: _Sheet, corner: _Corner, here: CpuSet) -> None:
    """Name and flags left: the narrowest form."""
    loads_at, owners_at = _bands_at(sheet, corner)
    room, at = sheet.label - 1, corner.area
    sheet.labels.append(Label(loads_at, corner.left, room, "node", at, sheet.areas[at].name))
    sheet.labels.append(Label(owners_at, corner.left, room, "flags", at, "", here))


def _labels_of_bands(sheet: _Sheet, corner: _Corner) -> None:
    """`smt 0`, `smt 1` before the rows of siblings, and the foot of an area."""
    shape, threads = sheet.shape, sheet.threads
    loads_at, _ = _bands_at(sheet, corner)
    bands = 3 if shape.apart else 2
    if threads > 1:
        longest = max(len(area.name) for area in sheet.areas)
        smt_at = corner.left + (1 if shape.axis else 3 if longest < 3 else 4)
        word = "smt" if longest > 2 and not shape.axis else "smt "
        sheet.labels.extend(
            Label(loads_at + band * threads + smt, smt_at, 5, "smt", corner.area, f"{word}{smt}")
            for band in range(bands)
            for smt in range(threads)
        )
    if shape.foot and corner.last:
        column = corner.left + sheet.label
        sheet.labels.append(
            Label(loads_at + threads * bands, column, corner.width - sheet.label - 1, "foot", corner.area)
        )
