"""Help: every key with what it does, and every sign with what it means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from textual.widget import Widget

from numascope.review.report import Report
from numascope.show.canvas import fitted, left
from numascope.show.glyphs import CELLS, CONDITIONS, LIT, LOADS, VERDICTS, Glyph
from numascope.show.ink import Line, Span
from numascope.tui.keys import help_lines
from numascope.tui.screens.page import Page
from numascope.tui.widgets.pick_list import PickList

_CELL_WORDS: Final = {
    "escaped": "escaped thread is here", "seat": "its empty seat", "stranger": "others use this planned CPU",
    "narrow": "thread crammed here", "blocked": "planned, cannot be held", "several": "several owners",
    "isolated": "isolated, unplanned", "denied": "not allowed, unplanned", "offline": "offline", "free": "free",
}  # fmt: skip
_LIT_WORDS: Final = {
    "outside": "ran outside", "inside": "ran inside", "both": "planned and allowed", "planned": "planned only",
    "allowed": "allowed only", "neither": "neither",
}  # fmt: skip


def glyph_lines(width: int) -> list[Line]:
    """The signs by place, in columns."""
    lines = [
        fitted(
            [
                Span(" upper row of the map: load ", "dim"),
                *[Span(one.sign, "text") for one in LOADS],
                Span("  under 2 %, then eighths"),
            ],
            width,
        )
    ]
    lines.append(
        fitted(
            [
                Span(" lower row: ", "dim"),
                Span("A", "r0", bold=True),
                Span(" a thread of rank A ran here  "),
                Span("a", "r0"),
                Span(" planned for A, quiet"),
            ],
            width,
        )
    )
    for title, entries in (
        (" lower row", [(CELLS[name], words) for name, words in _CELL_WORDS.items()]),
        (" lit thread", [(LIT[name], words) for name, words in _LIT_WORDS.items()]),
        (" verdicts", [(glyph, str(name)) for name, glyph in VERDICTS.items()]),
        (" conditions", [(glyph, name) for name, glyph in CONDITIONS.items()]),
    ):
        lines.extend(_columns(title, entries, width))
    return lines


def _columns(title: str, entries: Sequence[tuple[Glyph, str]], width: int) -> list[Line]:
    size = 30
    across = max(1, (width - 13) // size)
    lines = []
    for at in range(0, len(entries), across):
        spans = [Span(left(title if at == 0 else "", 13), "dim")]
        for glyph, words in entries[at : at + across]:
            spans.extend(
                (
                    Span(glyph.sign, glyph.token, bold=glyph.bold, reverse=glyph.reverse),
                    Span(left(f" {words}", size - 1)),
                )
            )
        lines.append(fitted(spans, width))
    return lines


class HelpPage(Page):
    """The keys and the signs, from the same tables that the screens are made from."""

    page: ClassVar[str] = "help"

    def body(self) -> Iterable[Widget]:
        """One list."""
        yield PickList(id="all", reading=True)

    def on_mount(self) -> None:
        """Keys go to the list."""
        self.query_one(PickList).focus()

    def draw_body(self, report: Report) -> None:
        """Keys, then signs."""
        del report
        width = self.size.width
        lines = [*help_lines(width, self.dashboard.closed_keys()), fitted([], width), *glyph_lines(width)]
        lines.append(fitted([], width))
        lines.append(
            fitted(
                [
                    Span(
                        " ? inferred or unknown   * last CPU is old: has not run since its mask was seen   – not applicable",
                        "dim",
                    )
                ],
                width,
            )
        )
        self.query_one(PickList).show_entries(lambda _: [[line] for line in lines])
