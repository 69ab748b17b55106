"""Rows under headings, aligned, in any width: columns that say nothing are told in a line, wide ones are wrapped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from numascope.show.canvas import cut, joined, text_cells
from numascope.show.ink import Line, Span
from numascope.show.topo.words import tied, wrap

UNKNOWN: Final = "?"
_GAP: Final = "  "
_NARROWEST: Final = 11
"""A column is wrapped down to this before the table gives up being one."""


class Column(NamedTuple):
    """A heading with its cells; `is_number` stands at the right, `is_name` is never left out."""

    head: str
    cells: tuple[str, ...]
    is_number: bool = False
    is_name: bool = False


def table(columns: Sequence[Column], width: int, rows: str) -> list[Line]:
    """The columns as a table none of whose lines is wider than `width`; `rows` is what its rows are, in the plural.

    A column that is unknown for all rows, or the same for all of several, is told below. Where even wrapped cells
    do not fit beside each other, each row is told in words.
    """
    shown, same, unknown = _sorted_out(columns)
    if not shown or not shown[0].cells:
        return [(Span(f"no {rows} known", "dim"),)]
    widths = _widths(shown, width)
    lines = _aligned(shown, widths) if widths else _in_words(shown, width)
    notes = [
        *([f"the same for all {rows}: {'; '.join(tied(text) for text in same)}"] if same else []),
        *([f"not known: {', '.join(tied(head) for head in unknown)}"] if unknown else []),
    ]
    return [*lines, *((Span(line, "dim"),) for note in notes for line in wrap(note, width))]


def _sorted_out(columns: Sequence[Column]) -> tuple[list[Column], list[str], list[str]]:
    """Columns to show, what is the same for all, and what is not known for any."""
    shown, same, unknown = [], [], []
    for column in columns:
        values = set(column.cells)
        if column.is_name or len(values) > 1 or (len(column.cells) == 1 and values != {UNKNOWN}):
            shown.append(column)
        elif values == {UNKNOWN}:
            unknown.append(column.head)
        elif values:
            same.append(f"{column.head} {values.pop()}")
    return shown, same, unknown


def _widths(columns: Sequence[Column], width: int) -> list[int]:
    """The width of each column; the widest give way first. Empty: they do not fit."""
    widths = [max(text_cells(text) for text in (column.head, *column.cells)) for column in columns]
    room = width - len(_GAP) * (len(columns) - 1)
    least = [min(each, max(_NARROWEST, text_cells(column.head))) for each, column in zip(widths, columns, strict=True)]
    if sum(least) > room:
        return []
    while sum(widths) > room:
        widest = max((at for at in range(len(widths)) if widths[at] > least[at]), key=widths.__getitem__)
        widths[widest] -= 1
    return widths


def _aligned(columns: Sequence[Column], widths: Sequence[int]) -> list[Line]:
    heads = [_set(column.head, each, right=column.is_number) for column, each in zip(columns, widths, strict=True)]
    lines: list[Line] = [(Span(_GAP.join(heads).rstrip(), "dim", bold=True),)]
    for cells in zip(*(column.cells for column in columns), strict=True):
        pieces = [wrap(cell, each, "") for cell, each in zip(cells, widths, strict=True)]
        for at in range(max(map(len, pieces))):
            row = [
                _set(piece[at] if at < len(piece) else "", each, right=column.is_number)
                for piece, each, column in zip(pieces, widths, columns, strict=True)
            ]
            lines.append(_row(row, names=sum(column.is_name for column in columns)))
    return lines


def _row(cells: Sequence[str], *, names: int) -> Line:
    """The names bold, the rest plain."""
    name, rest = _GAP.join(cells[:names]), _GAP.join(cells[names:])
    return joined([Span(name, bold=True), Span(f"{_GAP}{rest}".rstrip() if rest else "")])


def _set(text: str, width: int, *, right: bool) -> str:
    short = cut(text, width)
    blanks = " " * (width - text_cells(short))
    return blanks + short if right else short + blanks


def _in_words(columns: Sequence[Column], width: int) -> list[Line]:
    """`CPU 0: core 0,192; L3 0-7,192-199; …`, a row after the other."""
    lines: list[Line] = []
    for cells in zip(*(column.cells for column in columns), strict=True):
        first, *others = (tied(f"{column.head} {cell}") for column, cell in zip(columns, cells, strict=True) if cell)
        lines += [(Span(line),) for line in wrap(f"{first}: {'; '.join(others)}" if others else first, width)]
    return lines
