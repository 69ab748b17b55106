"""One entry of the journal in full: each thread's set before, the one it was given, and the one it has now."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.review.change import Thread
from numascope.show.canvas import fitted, left, text_cells, wrapped
from numascope.show.ink import Line, Span, Token
from numascope.show.journal import ChangeRow, EntryRow, what_of
from numascope.show.overview import rule_line
from numascope.show.page_rows import PagesRow, mib_of

_EACH: Final = 4
"""Up to so many threads of one kind are listed each, more as one line."""
_HEADS: Final = ("thread", "tid", "before", "set to", "read back", "now", "revert")
_LEAST: Final = (8, 5, 6, 6, 9, 5, 8)
_GAP: Final = 2
_HASH: Final = 8


class _Row(NamedTuple):
    """The texts of one line's columns, and how its end is meant."""

    cells: tuple[str, ...]
    token: Token


def detail_lines(entry: EntryRow, now: Mapping[Thread, CpuSet | None], width: int, rows: int) -> list[Line]:
    """A heading, the threads, and what a revert means, in exactly `rows` lines; `now` is what the newest report saw."""
    digest = "" if entry.plan_sha256 is None else f" {entry.plan_sha256[:_HASH]}"
    when = time.strftime("%d %b %H:%M:%S", time.localtime(entry.wall_s))
    title = f"{entry.id} · {what_of(entry)}{digest} · {entry.title} · {when} · by uid {entry.uid}"
    lines = [rule_line(title, width)]
    below = _below(entry, width)
    table = _table(entry, now, width)
    if len(lines) + len(table) + 1 + len(below) > rows:
        below = []
    room = max(1, rows - len(lines) - len(below) - bool(below))
    if len(table) > room:
        over = len(table) - room + 1
        where = (
            f"numascope revert {entry.id} --dry-run --all-rows"
            if entry.can_revert
            else "numascope revert --list --json"
        )
        table = [*table[: room - 1], fitted([Span(f"  … {over} more lines: {where}", "dim")], width)]
    lines += table
    lines += [fitted([], width), *below] if below else []
    return [*lines[:rows], *([fitted([], width)] * (rows - len(lines)))]


def _below(entry: EntryRow, width: int) -> list[Line]:
    if entry.can_revert and entry.pages:
        text = (
            f"numascope revert {entry.id}, from any terminal, moves each page back to the node that it came from, if the "
            "process still runs the same program and the page still is where we moved it to."
        )
    elif entry.can_revert:
        text = (
            "r gives each thread its own old set back, if it is still the same thread and still has the set that we "
            f"wrote. numascope revert {entry.id} does it from any terminal."
        )
    else:
        text = f"Nothing here to put back: {entry.state}."
    return [fitted([Span(f" {piece}", "dim")], width) for piece in wrapped(text, width - 2)]


def _table(entry: EntryRow, now: Mapping[Thread, CpuSet | None], width: int) -> list[Line]:
    if entry.pages:
        return [line for one in entry.pages for line in _pages_lines(one, width)]
    rows = _rows(entry, now)
    if not rows:
        return [fitted([Span("  no thread was set", "dim")], width)]
    wanted = [
        max(text_cells(text) for text in column) for column in zip(_HEADS, *(row.cells for row in rows), strict=True)
    ]
    over = sum(wanted) + _GAP * len(wanted) - width
    for column in (2, 3, 4, 5, 6, 0):
        taken = max(0, min(over, wanted[column] - _LEAST[column]))
        wanted[column] -= taken
        over -= taken
    lines = [_line(_HEADS, wanted, width, "dim", "dim")]
    lines += [_line(row.cells, wanted, width, "text", row.token) for row in rows]
    return lines


def _pages_lines(one: PagesRow, width: int) -> list[Line]:
    """The pages of one process: from where to where, what became of them, and whether they went back."""
    moves = ", ".join(
        f"node {before} → {after} {mib_of(pages):,.1f} MiB" for (before, after), pages in sorted(one.moves.items())
    )
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in one.counts.items())
    back = "" if one.reverted_by is None else f"; put back by {one.reverted_by}, {one.left:,} left"
    lines = [fitted([Span(f"  {one.owner.name}  {moves}")], width)]
    return [
        *lines,
        *(fitted([Span(f"    {text}", "dim")], width) for text in wrapped(f"pages: {counts}{back}", width - 4)),
    ]


def _line(texts: Sequence[str], wanted: Sequence[int], width: int, token: Token, last: Token) -> Line:
    laid = [left(text, size) for text, size in zip(texts, wanted, strict=True)]
    gap = " " * _GAP
    return fitted([Span(gap + gap.join(laid[:-1]) + gap, token), Span(laid[-1], last)], width)


def _rows(entry: EntryRow, now: Mapping[Thread, CpuSet | None]) -> list[_Row]:
    """The threads by rank and role; many alike are one line."""
    kinds: dict[tuple[str, ...], list[tuple[ChangeRow, _Row]]] = {}
    for one in entry.changes:
        row = _row(one, now, is_revert=entry.kind == "revert")
        stem = one.label.rstrip("0123456789_ ") or one.label
        kinds.setdefault((one.rank, one.role, stem, *row.cells[2:]), []).append((one, row))
    found: list[_Row] = []
    for (rank, _, stem, *sets), members in kinds.items():
        if len(members) <= _EACH:
            found += [row for _, row in members]
        else:
            first, row = members[0]
            found.append(_Row((f"{rank} {stem} ×{len(members)}".strip(), f"{first.tid} …", *sets), row.token))
    return found


def _row(one: ChangeRow, now: Mapping[Thread, CpuSet | None], *, is_revert: bool) -> _Row:
    thread = Thread(one.pid, one.tid, one.starttime_ticks)
    seen = now.get(thread)
    back = "–" if one.read_back is None else str(one.read_back) or "none"
    after, token = _revert_word(one, is_revert=is_revert, gone=thread not in now)
    cells = (
        f"{one.rank} {one.label}".strip(), str(one.tid), str(one.before), str(one.after),
        one.result if one.result in ("refused", "raced", "gone") else back, "–" if seen is None else str(seen), after,
    )  # fmt: skip
    return _Row(cells, token)


def _revert_word(one: ChangeRow, *, is_revert: bool, gone: bool) -> tuple[str, Token]:
    """What a revert would give it, or what one has done; a revert itself is not reverted."""
    if is_revert:
        return "–", "dim"
    if one.reverted_by is not None:
        return f"{one.revert_result or '?'} by {one.reverted_by}", "near" if one.revert_result == "set" else "warn"
    if one.result not in ("set", "trimmed", None):
        return "not set", "dim"
    back = "cpuset" if one.before_was_cpuset else str(one.before)
    return f"→ {back}", "dim" if gone else "text"
