"""The machine map of a plan: each CPU with the letter of its device and its role, no job and no load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numascope.cpuset import CpuSet
from numascope.plan.mindspore import WHOLE_PROCESS
from numascope.plan.objects import Subject
from numascope.plan.why import Owners
from numascope.show.canvas import Canvas
from numascope.show.glyphs import LIT, rank_token
from numascope.show.ink import Line, Span, Token
from numascope.show.map.cells import SCHEDULER, Cell, folded, role_letter
from numascope.show.map.draw import owner_span
from numascope.show.map.layout import map_layout
from numascope.show.map.places import MapLayout

_LETTERS: Final = "ABCDEFGHIJKLMNOPQRTUVWXYZ"
"""Without S, which is the scheduler."""

_FURTHER: Final = "+"
"""Every device that has no letter left."""

_MOST_ROWS: Final = 96
"""A finer map than this many rows is drawn coarser."""

_NAMES: Final = frozenset({"node", "axis", "smt"})


def letters_of(owners: Owners) -> dict[Subject, str]:
    """Device → its letter on the map, in the order of devices; the scheduler is S."""
    devices = [subject for subject in owners.plan.subjects() if subject.device is not None]
    letters = {subject: _LETTERS[at] if at < len(_LETTERS) else _FURTHER for at, subject in enumerate(devices)}
    return {**letters, Subject(None): SCHEDULER}


def plan_map_lines(owners: Owners, width: int, lit: CpuSet | None = None) -> list[Line]:
    """The map; with `lit` only these CPUs are told from all others."""
    layout = map_layout(owners.machine, width, _MOST_ROWS)
    rows = _rows(layout)
    canvas = Canvas(layout.width, len(set(rows.values())))
    _draw_names(canvas, layout, rows)
    letters = letters_of(owners)
    hues: dict[str, Token] = {letter: rank_token(at) for at, letter in enumerate(letters.values())}
    cells = {cpu: _cell(owners, letters, cpu) for cpu in owners.machine.cpus.online}
    for slot in layout.slots:
        if slot.kind != "owner":
            continue
        drawn = 2 if slot.width == 3 else slot.width
        if lit is None:
            cell = folded([cells[cpu] for cpu in slot.cpus], busier=False)
            canvas.put(rows[slot.row], slot.column, owner_span(cell, drawn, hues))
        else:
            glyph = LIT["both" if any(cpu in lit for cpu in slot.cpus) else "neither"]
            text = glyph.sign * (drawn if glyph is LIT["both"] else 1)
            canvas.put(rows[slot.row], slot.column, Span(text, glyph.token))
    return canvas.lines()


def map_words(owners: Owners, width: int, lit: str | None = None) -> str:
    """What one cell is, and what its letters say."""
    level = map_layout(owners.machine, width, _MOST_ROWS).level
    cell = {"thread": "1 cell = 1 CPU", "core": "1 cell = 1 core"}.get(level, f"1 cell = 1 {level}")
    if lit is not None:
        return f"{cell}; {LIT['both'].sign} {lit}"
    roles = sorted({rule.role for rule in owners.plan.rules} - {WHOLE_PROCESS})
    signs = ", ".join(f"{role_letter(role).strip() or '_'} {role}" for role in roles)
    further = f" ({_FURTHER} from device {len(_LETTERS)} on)" if len(owners.plan.subjects()) > len(_LETTERS) + 1 else ""
    then = f", then {signs}" if signs else ""
    return f"{cell}: letter of the device{further}{then}; & several, · free, | isolated, / not allowed"


def _cell(owners: Owners, letters: Mapping[Subject, str], cpu: int) -> Cell:
    rules = owners.rules.get(cpu, ())
    found = {letters[rule.subject] for rule in rules}
    if len(found) > 1:
        return Cell("several")
    if found:
        roles = {role_letter(rule.role) for rule in rules}
        return Cell("planned", found.pop(), roles.pop() if len(roles) == 1 else " ")
    cpus = owners.machine.cpus
    if cpu in cpus.isolated | cpus.partitioned:
        return Cell("isolated")
    return Cell("denied" if cpus.allowed is not None and cpu not in cpus.allowed else "free")


def _rows(layout: MapLayout) -> dict[int, int]:
    """Row of the layout → row here: loads, and the plan where it has rows of its own, fall on the owner's row below."""
    owner_row = {(slot.column, slot.cpus): slot.row for slot in layout.slots if slot.kind == "owner"}
    moved = {slot.row: owner_row[slot.column, slot.cpus] for slot in layout.slots if slot.kind != "owner"}
    kept = sorted({row for row in range(layout.full_height) if row not in moved})
    at = {row: number for number, row in enumerate(kept)}
    return {row: at[moved.get(row, row)] for row in range(layout.full_height)}


def _draw_names(canvas: Canvas, layout: MapLayout, rows: Mapping[int, int]) -> None:
    """Names of nodes and rows, and CPU numbers; what a report would fill in has no place here."""
    for label in layout.labels:
        if label.kind in _NAMES:
            token: Token = "text" if label.kind == "node" else "dim"
            canvas.put(rows[label.row], label.column, Span(label.text[: label.width], token))
