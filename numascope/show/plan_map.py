"""The machine map of a plan: each CPU with the letter of its device and its role, no job and no load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from numascope.plan.objects import WHOLE_PROCESS, Subject
from numascope.plan.owners import Owners
from numascope.show.canvas import Canvas
from numascope.show.glyphs import CELLS, LIT, rank_token
from numascope.show.ink import Line, Span, Token
from numascope.show.map.cells import SCHEDULER, Cell, folded, role_letter
from numascope.show.map.draw import owner_span
from numascope.show.map.layout import map_layout
from numascope.show.map.places import MapLayout, Slot
from numascope.show.map.shape import threads_of

_LETTERS: Final = "ABCDEFGHIJKLMNOPQRTUVWXYZ"
"""Without S, which is the scheduler."""

_FURTHER: Final = "+"
"""Every device that has no letter left."""

_MOST_ROWS: Final = 96
"""A finer map than this many rows is drawn coarser."""

_NAMES: Final = frozenset({"node", "axis", "smt"})

_MARKS: Final = {
    "blocked": "planned, not allowed", "several": "several", "free": "free", "isolated": "isolated", "denied": "not allowed",
}  # fmt: skip


@dataclass(frozen=True)
class PlanMap:
    """The map's lines, and the words under it: what one cell is, and what its signs say."""

    lines: tuple[Line, ...]
    words: str


def letters_of(owners: Owners) -> dict[Subject, str]:
    """Device → its letter on the map, in the order of devices; the scheduler is S."""
    devices = [subject for subject in owners.plan.subjects() if subject.device is not None]
    letters = {subject: _LETTERS[at] if at < len(_LETTERS) else _FURTHER for at, subject in enumerate(devices)}
    return {**letters, Subject(None): SCHEDULER}


def plan_map(owners: Owners, width: int, *, cpu: int | None = None, only: Subject | None = None) -> PlanMap:
    """The whole plan, with one CPU marked in it, or what `only` one subject has."""
    layout = map_layout(owners.machine, width, _MOST_ROWS, on_paper=True)
    rows = _rows(layout)
    canvas = Canvas(layout.width, max(rows.values(), default=0) + 1)
    _draw_names(canvas, layout, rows)
    letters = letters_of(owners)
    hues: dict[str, Token] = {letter: rank_token(at) for at, letter in enumerate(letters.values())}
    cells = {cpu: _cell(owners, letters, cpu, only) for cpu in owners.machine.cpus.online}
    slots = [slot for slot in layout.slots if slot.kind == "owner"]
    drawn: list[Cell] = []
    for slot in slots:
        span = _marked(slot)
        if cpu is None or cpu not in slot.cpus:
            cell = folded([cells[one] for one in slot.cpus], busier=False)
            drawn.append(cell)
            span = _span(cell, slot, hues, by_role=only is not None)
        canvas.put(rows[slot.row], slot.column, span)
    wide = any(slot.width > 1 for slot in slots)
    signs = _signs(owners, drawn, only, wide=wide)
    if cpu is not None and any(cpu in slot.cpus for slot in slots):
        signs = f"{signs}; {LIT['both'].sign} CPU {cpu}"
    return PlanMap(tuple(canvas.lines()), f"{_one_cell(layout, slots)}: {signs}")


def _span(cell: Cell, slot: Slot, hues: Mapping[str, Token], *, by_role: bool) -> Span:
    """A cell of one column has no room for both: its role where the subject is known, else whose it is."""
    if by_role and slot.width == 1 and cell.mark == "planned" and cell.role != " ":
        return Span(cell.role, hues.get(cell.letter, "text"))
    return owner_span(cell, min(2, slot.width), hues)


def _marked(slot: Slot) -> Span:
    glyph = LIT["both"]
    return Span(glyph.sign * min(2, slot.width), glyph.token, bold=True)


def _cell(owners: Owners, letters: Mapping[Subject, str], cpu: int, only: Subject | None) -> Cell:
    rules = owners.rules.get(cpu, ())
    if only is not None and all(rule.subject != only for rule in rules):
        return Cell("free")
    found = {letters[rule.subject] for rule in rules}
    cpus = owners.machine.cpus
    is_denied = cpus.allowed is not None and cpu not in cpus.allowed
    if len({rule.subject for rule in rules}) > 1:
        return Cell("several")
    if found:
        roles = {role_letter(rule.role) for rule in rules} - {" "}
        role = " " if not roles else roles.pop() if len(roles) == 1 else CELLS["several"].sign
        return Cell("blocked" if is_denied else "planned", found.pop(), role)
    if cpu in cpus.isolated | cpus.partitioned:
        return Cell("isolated")
    return Cell("denied" if is_denied else "free")


def _one_cell(layout: MapLayout, slots: list[Slot]) -> str:
    words = {"thread": "1 CPU", "core": "1 core, all its CPUs"}
    count = max((len(slot.cpus) for slot in slots), default=1)
    return f"1 cell = {words.get(layout.level, f'1 {layout.level} ({count} CPUs)')}"


def _signs(owners: Owners, drawn: list[Cell], only: Subject | None, *, wide: bool) -> str:
    """Only the signs that this map has."""
    further = f" ({_FURTHER} from device {len(_LETTERS)} on)" if any(cell.letter == _FURTHER for cell in drawn) else ""
    shown = {cell.role for cell in drawn if cell.mark == "planned"} if wide or only is not None else set[str]()
    names = dict.fromkeys(rule.role for rule in owners.plan.rules if only in (None, rule.subject))
    roles = ", ".join(f"{role_letter(name)} {name}" for name in names if role_letter(name) in shown - {" "})
    unlettered = [name for name in names if name != WHOLE_PROCESS and role_letter(name) == " "] if wide else []
    marks = {cell.mark for cell in drawn} | ({"several"} if CELLS["several"].sign in shown else set())
    rest = {**_MARKS, "free": "free" if only is None else f"not {only}"}
    letter = f"letter of the device{further}" if only is None else f"{letters_of(owners)[only].lower()} {only}"
    parts = [f"{letter}, then {roles}" if roles and wide else roles or letter]
    parts += [f"no second letter: {', '.join(unlettered)}"] if unlettered else []
    parts += [f"{CELLS[mark].sign} {words}" for mark, words in rest.items() if mark in marks]
    return "; ".join(parts)


def _rows(layout: MapLayout) -> dict[int, int]:
    """Row of the layout → row here: loads fall on the owners' rows; an empty row parts lines that are several rows high."""
    axis = int(any(label.kind == "axis" for label in layout.labels))
    threads = threads_of(layout.areas, layout.level)
    gap = int(threads > 1)
    found: dict[int, int] = {}
    for row in range(layout.full_height):
        line, within = divmod(row, axis + 2 * threads)
        found[row] = line * (axis + threads + gap) + (within if within < axis else axis + (within - axis) % threads)
    return found


def _draw_names(canvas: Canvas, layout: MapLayout, rows: Mapping[int, int]) -> None:
    """Names of nodes and rows, and CPU numbers; what a report would fill in has no place here."""
    for label in layout.labels:
        if label.kind in _NAMES and (label.kind != "axis" or len(label.text) < label.width):
            token: Token = "text" if label.kind == "node" else "dim"
            canvas.put(rows[label.row], label.column, Span(label.text[: label.width], token))
