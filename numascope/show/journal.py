"""The journal as rows: what `revert --list` prints, and the `journal` document of apply, revert and hold."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numascope
from numascope.cpuset import CpuSet
from numascope.review.change import Change, Outcome, Result, Selection, Undone
from numascope.show.document import Document, set_or_null
from numascope.show.ink import Line, Span
from numascope.show.page_rows import PagesRow, mib_of

SCHEMA: Final = "numascope.journal/1"


class ChangeRow(NamedTuple):
    """What an entry says of one thread; `result` None: the writer was killed before it noted one."""

    pid: int
    tid: int
    starttime_ticks: int
    comm: str
    label: str
    rank: str
    role: str
    before: CpuSet
    before_was_cpuset: bool
    after: CpuSet
    result: Outcome | None
    read_back: CpuSet | None
    why: str
    reverted_by: int | None
    revert_result: Outcome | None


class EntryRow(NamedTuple):
    """One entry of the journal; `state` says in words what can be done with it."""

    id: int
    kind: str
    wall_s: float
    host: str
    uid: int
    boot_id: str
    plan: str | None
    plan_sha256: str | None
    title: str
    reverts: int | None
    state: str
    can_revert: bool
    changes: tuple[ChangeRow, ...]
    gone: int
    """Threads that ended before they could be set; they need no undo record."""
    pages: tuple[PagesRow, ...] = ()


def journal_lines(entries: Sequence[EntryRow], notes: Iterable[str] = (), width: int = 80) -> list[Line]:
    """The list of entries, newest first; those of other boots and namespaces after them."""
    told = [(Span(note[: width - 1] + "…" if len(note) > width else note, "warn"),) for note in notes]
    if not entries:
        return [(Span("nothing was ever changed from here"),), *told]
    lines: list[Line] = [head_line()]
    lines += [entry_line(one, width) for one in newest_first(entries)]
    return [*lines, *told]


def newest_first(entries: Iterable[EntryRow]) -> list[EntryRow]:
    """The entries as they are listed: those of other boots and namespaces last."""
    return sorted(entries, key=lambda one: (one.state.startswith("of another"), -one.wall_s, -one.id))


def head_line() -> Line:
    """What the columns of an entry's line are."""
    return (Span(f"{'id':>4}  {'when':<15} {'what':<15} {'all':>5} {'set':>5} {'gone':>4} {'not':>4}  now", "dim"),)


def entry_line(one: EntryRow, width: int) -> Line:
    """One entry: its threads by what became of them, and what can be done with it."""
    when = time.strftime("%d %b %H:%M:%S", time.localtime(one.wall_s))
    results = [change.result for change in one.changes]
    if one.pages:
        return _pages_line(one, when, width)
    count, gone = len(results) + one.gone, results.count("gone") + one.gone
    took = sum(result in ("set", "trimmed", None) for result in results)
    figures = f"{count:>5} {took:>5} {gone:>4} {count - took - gone:>4}"
    text = f"{one.id:>4}  {when[:15]:<15} {_cut(what_of(one), 15):<15} {figures}  "
    state = _cut(one.state, max(1, width - len(text)))
    return Span(text), Span(state, "text" if one.can_revert else "dim")


def _pages_line(one: EntryRow, when: str, width: int) -> Line:
    """An entry of pages: how much was moved, in the place of the threads' counts."""
    moved = mib_of(sum(each.counts.get("moved", 0) for each in one.pages))
    text = f"{one.id:>4}  {when[:15]:<15} {_cut(what_of(one), 15):<15} {f'{moved:,.1f} MiB moved':<21}  "
    return Span(text), Span(_cut(one.state, max(1, width - len(text))), "text" if one.can_revert else "dim")


def _cut(text: str, cells: int) -> str:
    return text if len(text) <= cells else text[: cells - 1] + "…"


def what_of(one: EntryRow) -> str:
    """`apply bind.json`, `revert 5`."""
    if one.kind == "revert":
        return f"revert {one.reverts}"
    return f"{one.kind} {os.path.basename(one.plan or '') or one.title}"


def journal_document(
    entries: Iterable[EntryRow], notes: Sequence[str] = (), more: Mapping[str, object] | None = None
) -> Document:
    """The document; `more` is what the verb that prints it adds."""
    return {
        "schema": SCHEMA,
        "numascope": numascope.__version__,
        "source": {"machine": "live"},
        "partial": bool(notes),
        "notes": list(notes),
        **(more or {}),
        "entries": [_entry(one) for one in entries],
    }


def _entry(one: EntryRow) -> Document:
    return {
        "id": one.id,
        "kind": one.kind,
        "time": one.wall_s,
        "host": one.host,
        "uid": one.uid,
        "boot_id": one.boot_id,
        "plan": one.plan,
        "plan_sha256": one.plan_sha256,
        "title": one.title,
        "reverts": one.reverts,
        "state": one.state,
        "can_revert": one.can_revert,
        "changes": [_change(change) for change in one.changes],
        "pages": [_pages(each) for each in one.pages],
    }


def _pages(one: PagesRow) -> Document:
    moves = [{"from": before, "to": after, "pages": pages} for (before, after), pages in sorted(one.moves.items())]
    return {
        "pid": one.owner.pid,
        "starttime": one.owner.starttime_ticks,
        "comm": one.owner.comm,
        "rank": one.owner.rank,
        "moves": moves,
        "results": dict(one.counts),
        "reverted_by": one.reverted_by,
        "left": one.left,
    }


def _change(one: ChangeRow) -> Document:
    return {
        "pid": one.pid,
        "tid": one.tid,
        "starttime": one.starttime_ticks,
        "comm": one.comm,
        "label": one.label,
        "rank": one.rank,
        "role": one.role,
        "before": str(one.before),
        "before_was_cpuset": one.before_was_cpuset,
        "after": str(one.after),
        "result": one.result,
        "read_back": set_or_null(one.read_back),
        "why": one.why,
        "reverted_by": one.reverted_by,
        "revert_result": one.revert_result,
    }


def change_document(one: Change) -> Document:
    """One line of a dry run."""
    return {
        "pid": one.key.pid,
        "tid": one.key.tid,
        "starttime": one.key.starttime_ticks,
        "comm": one.comm,
        "label": one.label,
        "rank": one.rank,
        "role": one.role,
        "before": str(one.before),
        "after": str(one.after),
        "verdict": one.verdict,
        "reason": one.reason,
    }


def result_document(one: Result) -> Document:
    """One line of what was done."""
    return {
        **change_document(one.change),
        "result": one.outcome,
        "read_back": set_or_null(one.read_back),
        "why": one.why,
    }


def undone_document(one: Undone) -> Document:
    """One line of a revert."""
    return {
        "pid": one.thread.pid,
        "tid": one.thread.tid,
        "starttime": one.thread.starttime_ticks,
        "label": one.label,
        "rank": one.rank,
        "role": one.role,
        "now": set_or_null(one.now),
        "back": set_or_null(one.back),
        "was_cpuset": one.was_cpuset,
        "inherited": one.inherited,
        "result": one.outcome,
        "read_back": set_or_null(one.read_back),
        "why": one.why,
    }


def rest_document(selection: Selection) -> Document:
    """What a list leaves alone, and what of it may not last."""
    left = [{"threads": one.count, "reason": one.reason, "examples": one.examples} for one in selection.left_alone]
    return {"left_alone": left, "may_not_last": [one._asdict() for one in selection.fragile]}
