"""The text of `apply` and `revert`: what would be set, what was, and what is left alone, grouped by rank and role."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Iterable, Sequence
from typing import Final, NamedTuple

from numascope.review.change import Change, Fragile, LeftAlone, Outcome, Result, Selection, Undone
from numascope.show.glyphs import VERDICTS, mark
from numascope.show.ink import Line, Span, Token

_EACH: Final = 4
"""Up to so many threads of one rank and role with the same sets are listed each, more as one line; all with `all_rows`."""

OUTCOME_WORDS: Final[dict[Outcome, str]] = {
    "set": "set", "already": "found as asked", "trimmed": "cut by the kernel", "refused": "refused", "raced": "raced",
    "gone": "ended meanwhile", "changed": "changed by somebody since", "pending": "pending: no CPU of its old set is online",
}  # fmt: skip

_TOKENS: Final[dict[Outcome, Token]] = {
    "set": "near", "already": "dim", "trimmed": "warn", "refused": "escape", "raced": "warn", "gone": "dim",
    "changed": "warn", "pending": "warn",
}  # fmt: skip


class Row(NamedTuple):
    """One thread of the table: whose, what, who, its set before and after, and what is said of it."""

    rank: str
    label: str
    role: str
    tid: int
    before: str
    after: str
    said: tuple[Span, ...]

    @property
    def stem(self) -> str:
        """The label without the number at its end."""
        return self.label.rstrip("0123456789_ ") or self.label

    @property
    def alike(self) -> Hashable:
        """What threads that share a line have in common."""
        return self.rank, self.role, self.stem, self.before, self.after, self.said


def threads_text(count: int) -> str:
    """`1 thread`, `5 threads`."""
    return f"{count} thread{'' if count == 1 else 's'}"


def preview_lines(
    selection: Selection, title: str, *, dry: bool, all_rows: bool = False, width: int = 80
) -> list[Line]:
    """What `apply` would do: the list of the dry run and of the question, then what is left alone and why."""
    verb = "would set" if dry else "will set"
    end = "; nothing is changed" if dry else ""
    head = f"{verb} {len(selection.changes)} of {threads_text(selection.threads)} of {title}{end}"
    lines: list[Line] = [(Span(head, bold=True),)]
    if selection.changes:
        lines += [(), *table_lines([_change_row(one) for one in selection.changes], all_rows=all_rows, width=width)]
    if selection.left_alone:
        lines += [(), (Span("left alone"),), *left_alone_lines(selection.left_alone, width)]
    if selection.fragile:
        lines += [(), (Span("may not last"),), *_fragile_lines(selection.fragile, width)]
    return lines


def _fragile_lines(fragile: Sequence[Fragile], width: int) -> list[Line]:
    """Processes whose own runtime binds their threads; those that say so alike share a line."""
    alike: dict[tuple[str, str], list[int]] = {}
    for one in fragile:
        alike.setdefault((one.variables, one.runtime), []).append(one.pid)
    lines: list[Line] = []
    for (variables, runtime), pids in alike.items():
        more = f" and {len(pids) - 1} more" if len(pids) > 1 else ""
        text = f"{variables}: {runtime} may set its threads again; numascope hold watches"
        lines += _wrapped(text, f"  {pids[0]}{more}  ", width)
    return lines


def left_alone_lines(left: Iterable[LeftAlone], width: int = 80) -> list[Line]:
    """Counts and reasons, with what these threads are."""
    lines: list[Line] = []
    for one in left:
        text = one.reason if not one.examples else f"{one.reason}: {one.examples}"
        lines += _wrapped(text, f"{one.count:5}  ", width)
    return lines


def result_lines(results: Sequence[Result], *, all_rows: bool = False, width: int = 80) -> list[Line]:
    """What became of each thread: those that did not take their set first, each with the reason."""
    rows = [(one.outcome, _change_row(one.change, one.outcome), one.why) for one in results]
    return _outcome_lines(rows, all_rows=all_rows, width=width)


def undo_lines(found: Sequence[Undone], *, dry: bool = False, all_rows: bool = False, width: int = 80) -> list[Line]:
    """What a revert did with each thread; with `dry`, what it would do."""
    rows = [(one.outcome, _undo_row(one, dry=dry), one.why) for one in found]
    return _outcome_lines(rows, all_rows=all_rows, width=width)


def outcomes_text(outcomes: Iterable[Outcome]) -> str:
    """`31 set, 2 ended meanwhile`."""
    found = list(outcomes)
    return ", ".join(f"{found.count(one)} {word}" for one, word in OUTCOME_WORDS.items() if one in found) or "nothing"


def _outcome_lines(rows: Sequence[tuple[Outcome, Row, str]], *, all_rows: bool, width: int) -> list[Line]:
    order: tuple[Outcome, ...] = ("refused", "trimmed", "raced", "changed", "pending", "set", "already", "gone")
    lines: list[Line] = []
    for outcome in order:
        members = [(row, why) for one, row, why in rows if one == outcome]
        if not members or (outcome in ("already", "gone") and not all_rows):
            continue
        lines += table_lines([row for row, _ in members], all_rows=all_rows, width=width)
        for why in dict.fromkeys(why for _, why in members if why):
            lines += _wrapped(why, "      ", width, dim=True)
    return lines


def table_lines(rows: Sequence[Row], *, all_rows: bool = False, width: int = 80) -> list[Line]:
    """The rows by rank and role, as `rank 5 d5  ActorThread_1  42317  0-191 → 129`; many alike are one line."""
    groups: dict[Hashable, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.alike, []).append(row)
    shown: list[tuple[str, str, str, Row]] = []
    for members in groups.values():
        if all_rows or len(members) <= _EACH:
            shown += [(row.rank, row.label, str(row.tid), row) for row in members]
        else:
            first = members[0]
            shown.append((first.rank, f"{first.stem} ×{len(members)}", f"{first.tid} …", first))
    return _set_out(sorted(shown, key=_by_rank), width)


def _by_rank(one: tuple[str, str, str, Row]) -> tuple[tuple[int | str, ...], str]:
    words = one[0].split()
    return tuple(f"{int(word):9}" if word.isdecimal() else word for word in words), one[3].role


def _set_out(shown: Sequence[tuple[str, str, str, Row]], width: int) -> list[Line]:
    cells = [(one[0], one[1], one[2], one[3].before, one[3].after) for one in shown]
    wanted = [max(map(len, column)) for column in zip(*cells, strict=True)]
    said = max(sum(len(span.text) for span in one[3].said) for one in shown)
    over = sum(wanted) + 15 + said - width
    for column, least in ((3, 11), (4, 11), (0, 11), (1, 9)):
        cut = max(0, min(over, wanted[column] - least))
        wanted[column] -= cut
        over -= cut
    lines: list[Line] = []
    for texts, one in zip(cells, shown, strict=True):
        rank, label, tid, before, after = (_cut(text, count) for text, count in zip(texts, wanted, strict=True))
        whose = f"  {rank}" if wanted[0] else ""
        lines.append((Span(f"{whose}  {label}  {tid}  {before}  →  {after}  "), *one[3].said))
    return lines


def _cut(text: str, cells: int) -> str:
    return (text if len(text) <= cells else text[: cells - 1] + "…").ljust(cells)


def _change_row(one: Change, outcome: Outcome | None = None) -> Row:
    said: tuple[Span, ...]
    if outcome is None:
        glyph = VERDICTS[one.verdict]
        said = (mark(glyph), Span(f" {one.verdict}", glyph.token, bold=glyph.bold))
    else:
        said = (Span(outcome, _TOKENS[outcome]),)
    return Row(one.rank, one.label, one.role, one.key.tid, str(one.before), str(one.after), said)


def _undo_row(one: Undone, *, dry: bool) -> Row:
    back = "?" if one.back is None else "its cpuset" if one.was_cpuset else str(one.back)
    now = "–" if one.now is None else str(one.now) or "none"
    words = [*(["inherited"] if one.inherited else []), *([] if dry and one.outcome == "set" else [one.outcome])]
    said = (Span(", ".join(words), _TOKENS[one.outcome]),)
    return Row(one.rank, one.label, one.role, one.thread.tid, now, back, said)


def _wrapped(text: str, first: str, width: int, *, dim: bool = False) -> list[Line]:
    pieces = textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False
    )
    return [(Span(piece, "dim" if dim else "text"),) for piece in pieces]
