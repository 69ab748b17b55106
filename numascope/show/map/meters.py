"""The map of a small machine: each CPU a meter, with the names of what ran there."""

from __future__ import annotations

from collections import Counter
from typing import Final

from numascope.machine.objects import Machine
from numascope.review.report import Placement, Report
from numascope.show.canvas import fitted, left, right
from numascope.show.glyphs import CELLS, FRAME, LIT, rank_token
from numascope.show.ink import Line, Span, Token
from numascope.show.map.cells import Cell, MapCells, letter_of, ran_outside
from numascope.show.map.draw import lit_glyph

MOST_CPUS: Final = 8
"""Up to so many CPUs each gets a line of its own."""


def is_small(machine: Machine, rows: int) -> bool:
    """Whether each CPU of the machine can have a line."""
    return len(machine.cpus.online) <= min(MOST_CPUS, rows)


def draw_meters(
    report: Report, cells: MapCells, width: int, lit: Placement | None = None, cursor: tuple[int, ...] = ()
) -> list[Line]:
    """A line for each CPU: node, number, mark and owner, load, and the threads that ran there by rank."""
    nodes = len([node for node in report.machine.nodes if node.cpus]) > 1
    return [_meter(report, cells, cpu, width, lit, cursor, nodes=nodes) for cpu in report.machine.cpus.online]


def _meter(
    report: Report,
    cells: MapCells,
    cpu: int,
    width: int,
    lit: Placement | None,
    cursor: tuple[int, ...],
    *,
    nodes: bool,
) -> Line:
    cell = cells.of[cpu]
    load = report.loads.get(cpu)
    bar_width = max(12, min(48, width // 3))
    at_cursor = cursor == (cpu,)
    node = report.machine.node_of.get(cpu)
    spans = [
        Span(" "),
        *((Span(left("" if node is None else f"N{node}", 3)),) if nodes else ()),
        Span(left(f"CPU {cpu}", 6), "lit" if at_cursor else "text", bold=at_cursor, underline=at_cursor),
        *_mark(report, cell, cpu, lit),
        *_bar(load, bar_width, _hue(report, cell.letter)),
        Span(right("?" if load is None else f"{round(100 * load)} %", 6) + "  "),
    ]
    used = sum(len(span.text) for span in spans)
    return fitted([*spans, *_names(report, cells, cpu, width - used - 1)], width)


def _hue(report: Report, letter: str) -> Token:
    return next((rank_token(at) for at, rank in enumerate(report.ranks) if rank.letter == letter), "dim")


def _mark(report: Report, cell: Cell, cpu: int, lit: Placement | None) -> list[Span]:
    """The mark and the owner in four cells: ` A  `, `!A  `; while a thread is lit, what it is to this CPU."""
    if lit is not None:
        glyph = lit_glyph(lit, (cpu,))
        sign = glyph.sign if glyph is LIT["neither"] else glyph.sign * 2
        lead = Span(" " if len(sign) == 1 else "")
        return [lead, Span(sign, glyph.token, bold=glyph.bold, reverse=glyph.reverse), Span("  ")]
    if cell.mark in ("ran", "planned"):
        letter = cell.letter if cell.mark == "ran" else cell.letter.lower()
        return [Span(" "), Span(letter, _hue(report, cell.letter), bold=cell.mark == "ran"), Span("  ")]
    glyph = CELLS[cell.mark]
    sign = glyph.sign + cell.letter
    return [Span(" " * (2 - len(sign))), Span(sign, glyph.token, bold=glyph.bold, reverse=glyph.reverse), Span("  ")]


def _bar(load: float | None, width: int, hue: Token) -> list[Span]:
    if load is None:
        return [Span(left("?", width), "dim")]
    full = max(0, min(width, round(load * width)))
    return [Span("█" * full, hue), Span("·" * (width - full), "dim")]


def _names(report: Report, cells: MapCells, cpu: int, room: int) -> list[Span]:
    """Who ran there, escaped threads first, then by rank and by how busy."""
    by_rank: dict[str, list[Placement]] = {}
    threads = sorted(cells.ran.get(cpu, ()), key=lambda one: not ran_outside(one))
    for placement in threads:
        by_rank.setdefault(letter_of(report, placement), []).append(placement)
    spans: list[Span] = []
    for letter, members in by_rank.items():
        hue = _hue(report, letter)
        spans.append(Span("; " if spans else ""))
        spans.append(Span(f"{letter} " if letter else "", hue, bold=True))
        counted = Counter((one.label, ran_outside(one)) for one in members)
        for at, ((label, outside), number) in enumerate(counted.items()):
            spans.append(Span(", " if at else ""))
            text = label if number == 1 else f"{label} {FRAME['times'][0]}{number}"
            spans.append(Span(text, "escape" if outside else "text", bold=outside))
    return list(fitted(spans, max(0, room)))


def meters_caption(report: Report) -> str:
    """Whose CPUs are planned, in words; without a plan, what a line is."""
    owners = [f"{rank.planned_cpus} {rank.letter} ({rank.name})" for rank in report.ranks if rank.planned_cpus]
    if owners:
        return "planned: " + ", ".join(owners)
    return "1 line = 1 CPU with the names of what ran there"
