"""A thread as a row of the Threads screen: fixed columns by width, sort orders, and filters."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from numascope.cpuset import BadIdListError, CpuSet
from numascope.review.report import VERDICTS_WORST_FIRST, Placement, Report
from numascope.show.canvas import fitted, left, right
from numascope.show.glyphs import FRAME, VERDICTS, mark, rank_token
from numascope.show.ink import Line, Span

_WIDE: Final = 100
_MIDDLE: Final = 76
SORTS: Final = ("verdict", "place", "busy", "wait", "cpu")
"""The orders that `s` goes through."""
_ORDER: Final = {verdict: at for at, verdict in enumerate(VERDICTS_WORST_FIRST)}
_JUDGED_FIRST: Final = {**_ORDER, "unplanned": len(_ORDER)}


class Columns(NamedTuple):
    """Widths of the columns that a window of some width has; 0: the column is left out."""

    thread: int
    role: int
    tid: int
    cpu: int
    node: int
    planned: int
    allowed: int
    migrations: int


def columns_for(width: int) -> Columns:
    """What falls off first when narrow: migrations, role, tid, node, planned."""
    if width >= _WIDE:
        moved = 0 if width < 110 else 8
        sets = 9 + min(12, (width - _WIDE) // 5)
        return Columns(min(40, width - 63 - moved - 2 * sets), 13, 8, 5, 4, sets, sets, moved)
    if width >= _MIDDLE:
        return Columns(width - 64, 0, 7, 5, 4, 8, 8, 0)
    return Columns(max(10, width - 46), 0, 0, 5, 0, 0, 9, 0)


def _heads(columns: Columns) -> list[tuple[str, str]]:
    """The head of each column with the order that it stands for, or none."""
    heads = (
        (left("  verdict", 13), "verdict", 13),
        (left("rank", 5), "place", 5),
        (left("thread", columns.thread), "", columns.thread),
        (right("tid", columns.tid), "", columns.tid),
        (left("  role", columns.role), "", columns.role),
        (right("busy", 5), "busy", 5),
        (right("cpu", columns.cpu) + "  ", "cpu", columns.cpu),
        (left("node", columns.node), "", columns.node),
        (left(" planned", columns.planned), "", columns.planned),
        (left(" allowed", columns.allowed), "", columns.allowed),
        (right("wait/s", 7), "wait", 7),
        (right("migr/s", columns.migrations), "", columns.migrations),
    )
    return [(text, sort) for text, sort, size in heads if size]


def head_line(width: int, sort: str) -> Line:
    """The heads of the columns; the one that orders the rows is underlined."""
    heads = _heads(columns_for(width))
    return fitted([Span(text, "dim", underline=bool(own) and own == sort) for text, own in heads], width)


def sort_at(width: int, column: int) -> str:
    """The order that the head at that column of the screen stands for; empty where it stands for none."""
    end = 0
    for text, sort in _heads(columns_for(width)):
        end += len(text)
        if column < end:
            return sort
    return ""


def row_line(report: Report, placement: Placement, width: int, *, picked: bool = False, gone: bool = False) -> Line:
    """One thread; a thread that is gone keeps its last figures, dim."""
    columns = columns_for(width)
    glyph = VERDICTS[placement.verdict]
    own = report.ranks[placement.rank] if placement.rank is not None else None
    rank = "" if own is None else own.letter if own.number is None else f"{own.letter} {own.number}"
    hue = rank_token(placement.rank) if placement.rank is not None else "dim"
    verdict = "gone" if gone else placement.verdict
    spans = [
        Span(FRAME["picked"][0] if picked else " ", "lit"),
        mark(glyph),
        Span(" "),
        Span(left(verdict, 10), "dim" if gone else glyph.token),
        Span(left(rank, 5), hue, bold=True),
        Span(left(placement.label, columns.thread - 1) + " ", "text", bold=picked),
    ]
    spans.extend(_figures(placement, columns))
    line = fitted(spans, width)
    return tuple(Span(span.text, "dim", bold=span.bold) for span in line) if gone else line


def _figures(placement: Placement, columns: Columns) -> list[Span]:
    inferred = " ?" if placement.role.confidence == "inferred" else ""
    cpu = "?" if placement.cpu is None else f"{placement.cpu}"
    stale = "*" if placement.cpu_stale else " "
    node = "?" if placement.node is None else f"N{placement.node}"
    planned = FRAME["none"][0] if placement.target is None else str(placement.target.planned)
    allowed = "?" if placement.allowed is None else str(placement.allowed)
    busy = "?" if placement.busy is None else f"{placement.busy:.2f}"
    wait = "?" if placement.wait_ms_per_s is None else f"{placement.wait_ms_per_s:.0f} ms"
    moved = "?" if placement.migrations_per_s is None else f"{placement.migrations_per_s:.1f}"
    outside = placement.verdict in ("escaped", "astray")
    wanted = (
        (columns.tid, Span(right(str(placement.key.tid), columns.tid), "dim")),
        (columns.role, Span(left(f"  {placement.role.name}{inferred}", columns.role), "dim" if inferred else "text")),
        (5, Span(right(busy, 5))),
        (columns.cpu, Span(right(cpu, columns.cpu) + stale + " ", "dim" if placement.cpu_stale else "escape" if outside else "text", bold=outside)),
        (columns.node, Span(left(node, columns.node), "dim")),
        (columns.planned, Span(" " + left(planned, columns.planned - 1), "lit" if placement.target is not None else "dim")),
        (columns.allowed, Span(" " + left(allowed, columns.allowed - 1))),
        (7, Span(right(wait, 7))),
        (columns.migrations, Span(right(moved, columns.migrations))),
    )  # fmt: skip
    return [span for size, span in wanted if size]


def sorted_placements(placements: Sequence[Placement], sort: str) -> list[Placement]:
    """The threads in one of the orders of `SORTS`; ties keep rank, process and thread order."""
    place = sorted(placements, key=_place)
    if sort == "place":
        return place
    if sort == "busy":
        return sorted(place, key=lambda one: -(one.busy if one.busy is not None else -1.0))
    if sort == "wait":
        return sorted(place, key=lambda one: -(one.wait_ms_per_s if one.wait_ms_per_s is not None else -1.0))
    if sort == "cpu":
        return sorted(place, key=lambda one: one.cpu if one.cpu is not None else 1 << 20)
    return sorted(place, key=lambda one: (_ORDER[one.verdict], -(one.busy or 0.0)))


def _place(placement: Placement) -> tuple[int, int, int]:
    return (placement.rank if placement.rank is not None else 1 << 20, placement.key.pid, placement.key.tid)


def worst_threads(report: Report, width: int, rows: int) -> list[Line]:
    """A head and the threads that are worst off, in at most `rows` lines."""
    shown = heapq.nsmallest(rows - 1, report.placements, key=lambda one: (_JUDGED_FIRST[one.verdict], *_place(one)))
    return [head_line(width, "verdict"), *(row_line(report, one, width) for one in shown)]


def filter_of(text: str) -> Callable[[Report, Placement], bool]:
    """What `/` understands: a part of a name, `rank:3`, `role:main`, `cpu:37`, `tid:42317`, a verdict, `not …`, `idle`; words all hold."""
    tests: list[Callable[[Report, Placement], bool]] = []
    negate = False
    for word in (part.rstrip(",") for part in text.split()):
        if word == "not":
            negate = True
            continue
        tests.append(_negated(_word(word)) if negate else _word(word))
        negate = False
    return lambda report, placement: all(test(report, placement) for test in tests)


def _negated(test: Callable[[Report, Placement], bool]) -> Callable[[Report, Placement], bool]:
    return lambda report, placement: not test(report, placement)


def _word(word: str) -> Callable[[Report, Placement], bool]:
    key, colon, value = word.partition(":")
    wanted = value.lower()
    if colon and key == "cpu":
        return _on_cpus(wanted)
    if colon and key == "rank":
        return lambda report, one: wanted in _rank_names(report, one)
    if colon and key == "role":
        return lambda _, one: one.role.name.startswith(wanted)
    if colon and key in ("tid", "pid"):
        return lambda _, one: str(getattr(one.key, key)) == wanted
    if colon and key == "node":
        return lambda _, one: str(one.node) == wanted.removeprefix("n")
    if word in VERDICTS:
        return lambda _, one: one.verdict == word
    if word == "idle":
        return lambda _, one: not one.busy
    part = word.lower()
    return lambda _, one: part in one.label.lower() or part in one.comm.lower() or part == str(one.key.tid)


def _on_cpus(text: str) -> Callable[[Report, Placement], bool]:
    """A thread was last on one of these CPUs (`37`, `0-3,8`); what is no list of CPUs lets nothing through."""
    try:
        cpus = CpuSet.parse(text)
    except BadIdListError:
        return lambda _report, _one: False
    return lambda _, one: one.cpu is not None and one.cpu in cpus


def _rank_names(report: Report, placement: Placement) -> tuple[str, ...]:
    if placement.rank is None:
        return ()
    rank = report.ranks[placement.rank]
    return (str(rank.number), rank.letter.lower(), str(rank.pid))
