"""The machine map: one picture of a report, in a budget of columns and rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.objects import Machine
from numascope.review.report import Placement, Report
from numascope.show.canvas import fitted
from numascope.show.cpu_words import balancing_words, interrupt_words, load_words
from numascope.show.glyphs import CELLS, FRAME
from numascope.show.ink import Line, Span
from numascope.show.map.cells import MapCells, map_cells
from numascope.show.map.draw import caption, draw_map, flag_spans, legend, lit_legend
from numascope.show.map.layout import map_layout
from numascope.show.map.meters import draw_meters, is_small, meters_caption
from numascope.show.map.places import MapLayout

Place = tuple[int, int, int, tuple[int, ...]]
"""Row, column, width and CPUs of one cell."""


@dataclass(frozen=True)
class Picture:
    """The map's lines with its caption last, the load steps that the next one starts from, and where the cells stand."""

    lines: tuple[Line, ...]
    steps: Mapping[int, int]
    places: tuple[Place, ...]
    """Every cell, in reading order."""


def map_picture(
    report: Report,
    width: int,
    rows: int,
    before: Mapping[int, int],
    lit: Placement | None = None,
    cursor: tuple[int, ...] = (),
    node: int | None = None,
) -> Picture:
    """The map of a report, or of one node of it, in that many columns and rows; the last row is its caption."""
    cells = map_cells(report, before)
    machine = report.machine
    drawn: list[Line]
    layout: MapLayout | None = None
    if is_small(machine, rows - 1):
        drawn = draw_meters(report, cells, width, lit, cursor)
        places: tuple[Place, ...] = tuple((row, 0, width, (cpu,)) for row, cpu in enumerate(machine.cpus.online))
    else:
        layout = map_layout(machine, width, rows - 1, node)
        places = tuple(
            (slot.row, slot.column, slot.width, slot.cpus) for slot in sorted(layout.slots) if slot.kind == "owner"
        )
        top = _top(places, cursor, layout)
        drawn = draw_map(report, cells, layout, lit, cursor)[top : top + rows - 1]
        places = tuple((row - top, column, wide, cpus) for row, column, wide, cpus in places)
    lines = [fitted(line, width) for line in drawn]
    far = _memory_only(report, width)
    if far and rows - len(lines) > 1:
        lines.append(fitted([Span(f" {far}", "dim")], width))
        far = ""
    lines.extend(_captions(report, cells, layout, width, rows - len(lines), lit, cursor, far))
    return Picture(tuple(lines), cells.steps(), places)


def _captions(
    report: Report,
    cells: MapCells,
    layout: MapLayout | None,
    width: int,
    rows: int,
    lit: Placement | None,
    cursor: tuple[int, ...],
    far: str,
) -> list[Line]:
    """The cursor's or the lit thread's words, else what a cell is; `far` are nodes that had no line of their own."""
    if cursor:
        return [fitted([Span(" "), Span(cell_words(report, cells, cursor), "lit", bold=True)], width)]
    if lit is not None:
        name = lit_words(report, lit)
        return [
            fitted(
                [
                    Span(" lit: ", "dim"),
                    Span(name, "lit", bold=True),
                    Span("   "),
                    *lit_legend(report, lit, width - len(name) - 9),
                ],
                width,
            )
        ]
    what = meters_caption(report) if layout is None else _caption_words(report, layout, width)
    what = f"{far}. {what}" if far else what
    lost = _offline_words(report)
    if layout is None:
        return [fitted([*lost, Span(f" {what}", "dim")], width)]
    unseen = _unseen(cells, layout)
    if rows > 1:
        return [fitted([*lost, Span(f" {what}", "dim"), *unseen], width), fitted(legend(width), width)]
    plain = layout.level == "thread" and max(area.threads for area in layout.areas) == 1
    if plain and not unseen and not lost and not far and not _zoomed(report, layout):
        return [fitted(legend(width), width)]
    return [fitted([*unseen, *lost, Span(f" {what}", "dim")], width)]


def _memory_only(report: Report, width: int) -> str:
    """The nodes that have no CPU and so no cell, with their free memory; many of them as one sum."""
    nodes = [node for node in report.machine.nodes if not node.cpus]
    free = {node.id: _free_kib(report, node.id) for node in nodes}
    each = ", ".join(f"N{node.id} {_free_words(free[node.id])}" for node in nodes)
    if len(each) > width // 2:
        known = [size for size in free.values() if size is not None]
        together = _free_words(sum(known) if len(known) == len(nodes) else None)
        each = f"N{CpuSet.of(free)} {together}"
    return f"memory only: {each}" if nodes else ""


def _free_words(free_kib: int | None) -> str:
    return "? free" if free_kib is None else f"{free_kib / 2**20:.1f} GiB free"


def _free_kib(report: Report, number: int) -> int | None:
    """A node's free memory of this sample, else of when the machine was read."""
    rates = report.nodes.get(number)
    node = report.machine.node(number)
    return rates.free_kib if rates is not None else None if node is None else node.free_kib


def _zoomed(report: Report, layout: MapLayout) -> str:
    """Which part is drawn, where it is not all."""
    nodes = [node for node in report.machine.nodes if node.cpus]
    return f"{layout.areas[0].name} of {len(nodes)} nodes (Z: all). " if len(layout.areas) == 1 < len(nodes) else ""


def _caption_words(report: Report, layout: MapLayout, width: int) -> str:
    part = _zoomed(report, layout)
    return part + caption(layout, width - len(part) - 1)


def _offline_words(report: Report) -> list[Span]:
    """Planned CPUs that are offline: they have no cell, as the kernel no longer says where they are."""
    planned = EMPTY
    for rank in report.ranks:
        planned = planned | rank.planned_cpus
    for placement in report.placements:
        if placement.target is not None:
            planned = planned | placement.target.planned
    lost = planned & report.machine.cpus.offline
    glyph = CELLS["blocked"]
    return [Span(f" {glyph.sign} {lost} planned, offline ", glyph.token, bold=True)] if lost else []


def _top(places: Sequence[Place], cursor: tuple[int, ...], layout: MapLayout) -> int:
    """The first row that is drawn: a picture that does not fit follows the cursor."""
    row = next((one[0] for one in places if one[3] == cursor), 0)
    return max(0, min(row - layout.height + 1, layout.full_height - layout.height))


def _unseen(cells: MapCells, layout: MapLayout) -> list[Span]:
    """Flags on rows that do not fit: `out of sight: !1 ◇2`."""
    hidden = [cpu for slot in layout.slots if slot.kind == "owner" and slot.row >= layout.height for cpu in slot.cpus]
    if not hidden:
        return []
    flags = flag_spans(cells, CpuSet.of(hidden), 12)
    return [Span(" out of sight: ", "dim"), *(flags or [Span("no flags", "dim")])]


def lit_words(report: Report, placement: Placement) -> str:
    """The lit thread's name, its rank before it."""
    if placement.rank is None:
        return f"{placement.label} {placement.key.tid}"
    rank = report.ranks[placement.rank]
    return f"{rank.letter} {rank.name} {placement.label}"


def cell_words(report: Report, cells: MapCells, cpus: tuple[int, ...]) -> str:
    """What the cursor names: CPU, load, node, core, siblings, shared cache, and who ran there."""
    machine = report.machine
    here = CpuSet.of(cpus)
    load, interrupts = load_words(report, cpus), interrupt_words(report, cpus)
    if len(cpus) > 1:
        return "  ".join([f"CPUs {here}", load, _who(report, cells, cpus), *filter(None, [interrupts])])
    cpu = cpus[0]
    node = machine.node_of.get(cpu)
    parts = [f"CPU {cpu}", load, "no node" if node is None else f"N{node}"]
    parts.extend(_around(machine, cpu))
    return "  ".join([*parts, _who(report, cells, cpus), *filter(None, [interrupts]), *_node_words(report, node)])


def _node_words(report: Report, node: int | None) -> list[str]:
    """The node's free memory and page cache, the pages that missed it or went elsewhere, where its counters move, and NUMA balancing."""
    rates = None if node is None else report.nodes.get(node)
    if rates is None:
        return []
    sizes = (("free", rates.free_kib), ("page cache", rates.cache_kib))
    parts = [f"{kib / 2**20:.1f} GiB {word}" for word, kib in sizes if kib is not None]
    counters = (("missed", rates.miss), ("foreign", rates.foreign), ("from afar", rates.other_node))
    parts.extend(f"{word} {rate:.0f} pages/s" for word, rate in counters if rate is not None and rate >= 1)
    return [
        *([f"N{node}: {', '.join(parts)}"] if parts else []),
        *filter(None, [balancing_words(report.sample.balancing)]),
    ]


def _around(machine: Machine, cpu: int) -> list[str]:
    """The core's number and siblings and the last-level cache, where the machine names them."""
    parts: list[str] = []
    core = next((one for one in machine.cores if cpu in one.cpus), None)
    if core is not None and core.core_id is not None:
        parts.append(f"core {core.core_id}")
    if core is not None and len(core.cpus) > 1:
        parts.append(f"sibling {core.cpus - CpuSet.of([cpu])}")
    shared = [one for one in machine.caches if cpu in one.cpus and one.level > 2 and not one.memory_side]
    if shared:
        parts.append(f"L{shared[-1].level} {shared[-1].cpus}")
    return parts


def _who(report: Report, cells: MapCells, cpus: tuple[int, ...]) -> str:
    threads = [one for cpu in cpus for one in cells.ran.get(cpu, ())]
    if threads:
        named = [lit_words(report, one) for one in threads[:4]]
        more = f" +{len(threads) - 4}" if len(threads) > 4 else ""
        return f"ran: {', '.join(named)}{more}"
    cell = cells.planned[cpus[0]]
    return f"planned {FRAME['dot'][0]} {cell.letter}, nobody ran" if cell.letter else "nobody of the job ran"
