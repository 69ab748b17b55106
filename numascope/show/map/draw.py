"""The machine map as lines: the values of a report written into the places of a layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from numascope.cpuset import CpuSet
from numascope.review.report import Placement, Report
from numascope.show.canvas import Canvas
from numascope.show.glyphs import CELLS, FRAME, LIT, LOAD_UNKNOWN, LOADS, Glyph, rank_token
from numascope.show.ink import Line, Span, Token
from numascope.show.map.areas import Area
from numascope.show.map.cells import Cell, MapCells, folded
from numascope.show.map.places import Label, MapLayout, Slot

_FLAGGED: Final = ("escaped", "stranger", "blocked", "seat", "narrow")


def draw_map(
    report: Report, cells: MapCells, layout: MapLayout, lit: Placement | None = None, cursor: tuple[int, ...] = ()
) -> list[Line]:
    """The picture, `layout.full_height` lines; `lit` shows one thread's planned and allowed CPUs, `cursor` underlines a cell."""
    canvas = Canvas(layout.width, layout.full_height)
    hues: dict[str, Token] = {rank.letter: rank_token(at) for at, rank in enumerate(report.ranks)}
    for label in layout.labels:
        _draw_label(canvas, label, report, cells, layout.areas[label.area])
    for slot in layout.slots:
        spans = _slot_spans(slot, cells, layout, lit, hues)
        if slot.cpus == cursor and slot.kind != "load":
            spans = [span._replace(underline=True, bold=True) for span in spans]
        column = slot.column
        for span in spans:
            canvas.put(slot.row, column, span)
            column += len(span.text)
    return canvas.lines()


def _slot_spans(
    slot: Slot, cells: MapCells, layout: MapLayout, lit: Placement | None, hues: Mapping[str, Token]
) -> list[Span]:
    source = cells.planned if slot.kind == "plan" else cells.of
    cell = folded([source[cpu] for cpu in slot.cpus], busier=layout.level in ("thread", "core"))
    drawn = 2 if slot.width == 3 else slot.width
    if slot.kind == "load":
        return [_load(cell, hues, slot.width)]
    if lit is not None and slot.kind == "owner":
        glyph = lit_glyph(lit, slot.cpus)
        wide = glyph.sign if glyph is LIT["neither"] else glyph.sign * drawn
        return [Span(wide, glyph.token, bold=glyph.bold, reverse=glyph.reverse)]
    return [owner_span(cell, drawn, hues)]


def _load(cell: Cell, hues: Mapping[str, Token], width: int) -> Span:
    if cell.step is None:
        return Span(LOAD_UNKNOWN.sign + " " * (width - 1), "dim")
    owned = cell.mark not in ("free", "isolated", "denied", "several", "stranger")
    token: Token = (
        hues.get(cell.letter, "text") if owned else "dim" if cell.step == 0 or cell.mark == "free" else "text"
    )
    return Span(LOADS[cell.step].sign * width, token)


def owner_span(cell: Cell, width: int, hues: Mapping[str, Token]) -> Span:
    """The lower row of one cell: a rank's letter with its role, or a mark with the letter that it speaks of."""
    if cell.mark in ("ran", "planned"):
        letter = cell.letter if cell.mark == "ran" else cell.letter.lower()
        return Span((letter + cell.role)[:width], hues.get(cell.letter, "text"), bold=cell.mark == "ran")
    glyph = CELLS[cell.mark]
    beside = cell.letter if cell.letter and width > 1 else ""
    fill = glyph.sign if width > 1 and cell.mark == "offline" else ""
    return Span((glyph.sign + beside + fill)[:width], glyph.token, bold=glyph.bold, reverse=glyph.reverse)


def lit_glyph(placement: Placement, cpus: Sequence[int]) -> Glyph:
    """What a cell says of the lit thread: where it ran outranks where it may and should run."""
    planned = placement.target.planned if placement.target is not None else None
    if placement.cpu in cpus and placement.busy:
        return LIT["outside" if planned is not None and placement.cpu not in planned else "inside"]
    is_planned = planned is not None and any(cpu in planned for cpu in cpus)
    is_allowed = placement.allowed is not None and any(cpu in placement.allowed for cpu in cpus)
    if is_planned:
        both = (
            any(cpu in planned and cpu in placement.allowed for cpu in cpus) if planned and placement.allowed else False
        )
        return LIT["both" if both else "planned"]
    return LIT["allowed" if is_allowed else "neither"]


def _draw_label(canvas: Canvas, label: Label, report: Report, cells: MapCells, area: Area) -> None:
    if label.kind == "flags":
        spans = flag_spans(cells, label.cpus, label.width)
        column = label.column + (label.width - sum(len(span.text) for span in spans) if label.text == "right" else 0)
        for span in spans:
            canvas.put(label.row, column, span)
            column += len(span.text)
        return
    if label.kind == "share":
        text = _share(report, label.cpus)
        canvas.put(label.row, label.column, Span(text.rjust(3) if label.width == 3 else f"{text}%", "dim"))
    elif label.kind == "devices":
        names = device_names(report, area.node)
        canvas.put(label.row, label.column, Span(names if len(names) <= label.width else "", "dim"))
    elif label.kind == "foot":
        canvas.put(label.row, label.column, Span(_foot(report, area)[: label.width], "dim"))
    else:
        token: Token = "text" if label.kind == "node" else "dim"
        canvas.put(label.row, label.column, Span(label.text[: label.width], token))


def flag_spans(cells: MapCells, cpus: CpuSet, width: int) -> list[Span]:
    """The counts of what is wrong in an area, worst first, as many as the place holds."""
    counts = Counter(cells.of[cpu].mark for cpu in cpus)
    found: list[Span] = []
    room = width
    for mark in _FLAGGED:
        if not counts[mark]:
            continue
        glyph = CELLS[mark]
        number = str(counts[mark]) if counts[mark] < 100 else "+"
        needed = len(number) + 1 + bool(found)
        if needed > room:
            break
        if found:
            found.append(Span(" "))
        found.append(Span(glyph.sign + number, glyph.token, bold=True, reverse=glyph.reverse))
        room -= needed
    return found


def _share(report: Report, cpus: CpuSet) -> str:
    known = [load for cpu in cpus if (load := report.loads.get(cpu)) is not None]
    return f"{min(99, round(100 * sum(known) / len(known)))}" if known else "?"


def device_names(report: Report, node: int | None) -> str:
    """The ranks' devices near a node (`d6-7`), or how many accelerators are near it (`2 npu`)."""
    if node is None:
        return ""
    of_ranks = CpuSet.of(
        rank.device
        for rank in report.ranks
        if rank.device is not None and rank.device >= 0 and rank.device_node == node
    )
    if of_ranks:
        return f"d{of_ranks}"
    near = [device.kind for device in report.machine.devices if device.node == node]
    return f"{len(near)} {near[0]}" if near else ""


def _foot(report: Report, area: Area) -> str:
    near = device_names(report, area.node) or "no device"
    node = report.machine.node(area.node) if area.node is not None else None
    rates = report.nodes.get(area.node) if area.node is not None else None
    free = rates.free_kib if rates is not None else node.free_kib if node is not None else None
    total = node.memory_kib if node is not None else None
    if free is None or total is None:
        return near
    return f"{near:<12}free {free / 2**20:.1f} of {total / 2**20:.0f} GiB"


def caption(layout: MapLayout, width: int) -> str:
    """What one cell, one group and one line of the picture are."""
    per = layout.slots[0].cpus if layout.slots else ()
    smt = max((area.threads for area in layout.areas), default=1)
    words = {
        "thread": "1 cell = 1 CPU" if smt == 1 else "1 cell = 1 thread, column = core: siblings stand above each other",
        "core": "1 cell = 1 core, its threads: the busier load, the worse mark",
        "cluster": f"1 cell = 1 cluster ({len(per)} CPUs): mean load, worst mark",
        "L3": f"1 cell = 1 L3 ({len(per)} CPUs): mean load, worst mark",
        "node": "1 cell = 1 node: mean load, worst mark",
        "package": "1 cell = 1 package: mean load, worst mark; distance is not visible",
    }
    finer = "z: one node" if layout.level not in ("thread", "package") else ""
    parts = [words[layout.level], layout.group, layout.line]
    text = ""
    for part in (part for part in (parts[0], finer, *parts[1:]) if part):
        longer = f"{text}; {part}" if text else part
        text = longer if not text or len(longer) < width else text
    return text


def legend(width: int) -> list[Span]:
    """The signs of the lower row, as many as the width holds."""
    entries: list[tuple[Glyph | None, str]] = [
        (None, f" load {LOADS[0].sign}{LOADS[1].sign}{LOADS[4].sign}{LOADS[8].sign} {FRAME['dot'][0]} A ran a planned {FRAME['dot'][0]}"),
        (CELLS["escaped"], "escaped"),
        (CELLS["seat"], "its seat"),
        (CELLS["stranger"], "stranger"),
        (CELLS["narrow"], "narrow"),
        (CELLS["blocked"], "cannot be held"),
        (CELLS["several"], "several"),
    ]  # fmt: skip
    found: list[Span] = []
    room = width
    for glyph, text in entries:
        spans = [Span(text, "dim")] if glyph is None else [
            Span(" "), Span(glyph.sign, glyph.token, bold=glyph.bold, reverse=glyph.reverse), Span(f" {text}", "dim"),
        ]  # fmt: skip
        size = sum(len(span.text) for span in spans)
        if size > room:
            break
        found.extend(spans)
        room -= size
    return found


_LIT_WORDS: Final = (
    ("outside", "ran outside"), ("inside", "ran inside"), ("both", "planned and allowed"), ("planned", "planned only"),
    ("allowed", "allowed only"),
)  # fmt: skip


def lit_legend(report: Report, placement: Placement, width: int) -> list[Span]:
    """The signs that the lit thread has on this machine, as many as the width holds."""
    there = {lit_glyph(placement, (cpu,)) for cpu in report.machine.cpus.online}
    found: list[Span] = []
    room = width
    for name, text in _LIT_WORDS:
        glyph = LIT[name]
        size = len(text) + 4
        if glyph not in there or size > room:
            continue
        found.extend((Span(glyph.sign, glyph.token, bold=glyph.bold, reverse=glyph.reverse), Span(f" {text}  ", "dim")))
        room -= size
    return found
