"""The lines inside a box: facts packed side by side, cores in rows of whole groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from numascope.show.boxes.box import Box
from numascope.show.boxes.cores import CoreRun
from numascope.show.canvas import joined
from numascope.show.glyphs import Glyph, mark
from numascope.show.ink import Line, Span
from numascope.show.topo.words import wrap

_GAP: Final = "   "
WIDEST_CPUS: Final = 24
"""A longer list of CPUs makes no column, and may be broken."""
_FEW: Final = 8
"""Cores that may stand in one line with the facts."""


def packed(facts: Sequence[str], width: int, *, first: int = 0) -> list[str]:
    """The facts side by side while they fit, a fact that is too long wrapped; the first counts as at least `first` long."""
    lines: list[str] = []
    spare = 0
    for fact in facts:
        if lines and len(lines[-1]) + spare + len(_GAP) + len(fact) <= width:
            lines[-1] += _GAP + fact
        else:
            spare = 0 if lines else max(0, first - len(fact))
            lines += wrap(fact, width, "")
    return lines


def head_lines(box: Box, width: int, *tail: str) -> list[str]:
    """CPUs, caches and what follows; broken where those of all boxes of its kind are."""
    first = box.cpu_width if box.cpu_words and box.cpu_width <= WIDEST_CPUS else 0
    return packed((*box.head, *tail), width, first=first)


def core_rows(runs: Sequence[CoreRun], width: int, *, axis: bool = True) -> list[Line]:
    """The cores in as few rows as fit, all of one length; where there are several, each begins with its first CPU."""
    label = max((len(run.label) + 2 for run in runs if run.label), default=0)
    lines: list[Line] = []
    for run in runs:
        lines += _run_rows(run, label, max(1, width - label), axis=axis)
    return lines


def _run_rows(run: CoreRun, label: int, width: int, *, axis: bool) -> list[Line]:
    groups, firsts = _no_wider(run, width)
    per_row = _per_row(groups, width)
    margin = 0
    if axis and per_row < len(groups) and len(groups) == len(run.groups):
        margin = len(str(max(firsts))) + 1
        if margin + max(map(len, groups)) <= width:
            per_row = _per_row(groups, width - margin)
        else:
            margin = 0
    lines = []
    for at in range(0, len(groups), per_row):
        head = run.label if not at else ""
        number = f"{firsts[at]:>{margin - 1}} " if margin else ""
        spans = [Span(head.ljust(label)), Span(number, "dim")]
        for place, group in enumerate(groups[at : at + per_row]):
            spans += [Span(" " if place else ""), *map(mark, group)]
        lines.append(joined(spans))
    return lines


def _no_wider(run: CoreRun, width: int) -> tuple[Sequence[tuple[Glyph, ...]], Sequence[int]]:
    """The groups as they are, or cut where one alone is wider than the row."""
    if all(len(group) <= width for group in run.groups):
        return run.groups, run.firsts
    signs = [sign for group in run.groups for sign in group]
    return [tuple(signs[at : at + width]) for at in range(0, len(signs), width)], run.firsts


def _per_row(groups: Sequence[tuple[Glyph, ...]], width: int) -> int:
    """Groups a row, so that every row fits and all but the last are equally full."""
    sizes = [len(group) for group in groups]
    fewest = max(1, (sum(sizes) + len(sizes)) // (width + 1))
    for rows in range(fewest, len(sizes)):
        each = -(-len(sizes) // rows)
        if all(sum(sizes[at : at + each]) + each - 1 <= width for at in range(0, len(sizes), each)):
            return each
    return 1


def one_line(box: Box) -> Line | None:
    """All that a small box says, in one line; None where it has too many cores for that, or none."""
    if len(box.runs) != 1 or box.runs[0].label or box.cores > _FEW or box.inside:
        return None
    cores = core_rows(box.runs, 2 * _FEW)[0]
    facts = (box.cpu_words.ljust(box.cpu_width), *box.caches) if box.cpu_words else box.caches
    spans = [Span(fact + _GAP) for fact in facts]
    return joined([*spans, *cores, *(Span(_GAP + fact) for fact in box.tail)])


def own_lines(box: Box, width: int, *, facts: bool = True) -> list[Line]:
    """What a box itself says: CPUs and caches, cores, memory and devices; without facts its cores only."""
    cores = core_rows(box.runs, width)
    if not facts:
        return cores
    if not cores or box.inside:
        return [*((Span(text),) for text in head_lines(box, width, *box.tail)), *cores]
    head, tail = head_lines(box, width), packed(box.tail, width)
    return [*((Span(text),) for text in head), *cores, *((Span(text),) for text in tail)]
