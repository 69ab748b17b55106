"""The words around a change: what is asked before it, and what is told after it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from numascope.review.change import FAILED, Selection
from numascope.review.report import Report
from numascope.show.apply import outcomes_text, preview_lines, result_lines, threads_text, undo_lines
from numascope.show.canvas import wrapped
from numascope.show.ink import Line, Span
from numascope.show.journal import EntryRow, what_of
from numascope.tui.screens.confirm import Body, Question
from numascope.tui.steering import Applied, Previewed, PutBack

_APPLY_PROMISE: Final = (
    "Each thread is checked again before it is set, and read back. Undo is written first: "
    'r, or "numascope revert", puts them back. Memory is not moved.'
)
_REVERT_PROMISE: Final = (
    "Each thread gets its own old set back, if it is still the same thread and still has the set that we wrote; "
    "checked again before, and read back."
)


def left_text(selection: Selection) -> str:
    """Why nothing is to do: counts and reasons in one line."""
    return ", ".join(f"{one.count} {one.reason}" for one in selection.left_alone) or "no threads"


def apply_question(report: Report, selection: Selection) -> Question:
    """What an apply would set, and what is left alone."""
    plan = "the plan" if report.plan is None else os.path.basename(report.plan.path)
    count = len(selection.changes)
    return Question(
        f"Apply {plan} to {report.title}?",
        lambda width: preview_lines(selection, report.title, dry=False, width=width),
        _APPLY_PROMISE,
        f"set {threads_text(count)}" if count else "",
        frozenset((one.rank, one.role, _stem(one.label), one.before, one.after) for one in selection.changes),
    )


def revert_question(entry: EntryRow, seen: Previewed) -> Question:
    """What a revert would put back, and what it leaves alone."""
    count = sum(one.outcome == "set" for one in seen.undone)
    head: Line = (Span(f"will put back {threads_text(count)} of {what_of(entry)} to {entry.title}", bold=True),)
    return Question(
        f"Revert entry {entry.id}?",
        lambda width: [head, (), *undo_lines(seen.undone, dry=True, width=width)],
        _REVERT_PROMISE,
        f"put back {threads_text(count)}" if count else "",
        frozenset((one.rank, one.role, _stem(one.label), one.now, one.back, one.outcome) for one in seen.undone),
    )


def _stem(label: str) -> str:
    return label.rstrip("0123456789_ ") or label


def applied_words(done: Applied) -> tuple[Body, str]:
    """What became of an apply: the list, and where it is recorded."""
    settled = done.settled
    outcomes = [one.outcome for one in settled.results]
    head: Line = (Span(f"{outcomes_text(outcomes)}; each read back", bold=True),)
    said = [f"note: {note}" for note in settled.notes]
    if settled.entry is not None:
        said.append(f'Recorded as entry {settled.entry}: r, or "numascope revert {settled.entry}", puts it back.')

    def body(width: int) -> Sequence[Line]:
        return [head, (), *result_lines(settled.results, width=width)]

    return body, " ".join(said)


def put_back_words(done: PutBack) -> tuple[Body, str]:
    """What became of a revert."""
    outcomes = [one.outcome for one in done.undone]
    after = "; each read back" if outcomes else " is left to put back"
    head: Line = (Span(f"entry {done.reverted}: {outcomes_text(outcomes)}{after}", bold=True),)
    failed = sum(one in FAILED for one in outcomes)

    def body(width: int) -> Sequence[Line]:
        return [head, (), *undo_lines(done.undone, width=width)]

    return body, f"{threads_text(failed)} not put back." if failed else ""


def plain_lines(text: str, width: int) -> list[Line]:
    """An error in lines of so many cells."""
    return [(Span(piece, "warn"),) for piece in wrapped(text, width)]
