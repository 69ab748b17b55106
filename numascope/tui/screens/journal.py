"""Journal: what was changed from here, newest first, and the picked entry thread by thread."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import ClassVar, Final

from textual.widget import Widget

from numascope.cpuset import CpuSet
from numascope.review.change import Thread
from numascope.review.report import Report
from numascope.show.canvas import fitted
from numascope.show.ink import Line, Span
from numascope.show.journal import EntryRow, entry_line, head_line, newest_first
from numascope.show.journal_detail import detail_lines
from numascope.tui.screens.page import Page
from numascope.tui.widgets.lines import LinesView
from numascope.tui.widgets.pick_list import PickList

_FRAME_ROWS: Final = 5
"""Two lines on top, the heads, where it is kept, the keys."""
_LEAST_DETAIL: Final = 7


class JournalPage(Page):
    """The list of entries above, the picked one below; with the journal read anew each time that it is opened."""

    page: ClassVar[str] = "journal"

    def __init__(self) -> None:
        super().__init__()
        self._newest: Hashable = None

    def body(self) -> Iterable[Widget]:
        """Heads, entries, detail, and where it is kept."""
        yield LinesView(id="entry-heads")
        yield PickList(id="entries")
        yield LinesView(id="entry")
        yield LinesView(id="kept")

    def on_mount(self) -> None:
        """Keys go to the list."""
        self.query_one(PickList).focus()

    def on_screen_resume(self) -> None:
        """Others may have written meanwhile."""
        self.dashboard.desk.read_journal()

    @property
    def entries(self) -> list[EntryRow]:
        """As they are listed."""
        journal = self.dashboard.desk.journal
        return [] if journal is None else newest_first(journal.rows)

    @property
    def picked(self) -> EntryRow | None:
        """The entry that keys speak of."""
        at, entries = self.query_one(PickList).picked, self.entries
        return entries[at] if at is not None and at < len(entries) else None

    def draw_body(self, report: Report) -> None:
        """The list, and the picked entry with the sets that its threads have now."""
        width, height = self.size
        entries = self.entries
        picks = self.query_one(PickList)
        names = [(one.boot_id, one.id) for one in entries]
        is_new = bool(names) and names[0] != self._newest
        room = height - _FRAME_ROWS
        listed = max(1, min(len(entries), max(3, room - _LEAST_DETAIL), max(3, room // 3)))
        picks.styles.height = listed
        self.query_one("#entry-heads", LinesView).show([fitted(head_line(), width)])
        picks.show_entries(lambda picked: _entry_lines(entries, width, picked), names)
        if is_new and (picks.picked is None or entries[0].kind != "revert"):
            picks.pick(0)
        self._newest = names[0] if names else None
        shown = self.picked
        detail = self.query_one("#entry", LinesView)
        detail.show([] if shown is None else detail_lines(shown, _sets_now(report), width, room - listed))
        self.query_one("#kept", LinesView).show([fitted([Span(f" {self._kept()}", "dim")], width)])

    def _kept(self) -> str:
        journal = self.dashboard.desk.journal
        if journal is None:
            return "reading the journal …"
        notes = [f"{len(journal.notes)} damaged: numascope revert --list"] if journal.notes else []
        return "; ".join([f"kept in {journal.path}" if journal.path else "kept: nothing", *notes])


def _entry_lines(entries: Sequence[EntryRow], width: int, picked: int | None) -> list[list[Line]]:
    if not entries:
        return [[fitted([Span("  nothing was ever changed from here", "dim")], width)]]
    return [
        [fitted([Span("▌" if at == picked else " ", "lit"), *entry_line(one, width - 1)], width)]
        for at, one in enumerate(entries)
    ]


def _sets_now(report: Report) -> dict[Thread, CpuSet | None]:
    return {Thread(*one.key[:3]): one.allowed for one in report.placements}
