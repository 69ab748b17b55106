"""Every key in one table: bindings, the last line of each screen, the help and the command palette are made from it."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from textual.binding import Binding, BindingType

from numascope.show.canvas import fitted
from numascope.show.ink import Line, Span

Owner = Literal["app", "map", "threads", "findings"]
"""Who acts on a key: the app, the map, the table of threads, or a list."""


class Key(NamedTuple):
    """One key: Textual's names for it, its action, what to print for it, a word for the last line, and what it does."""

    keys: str
    action: str
    label: str
    word: str
    meaning: str
    owners: tuple[Owner, ...]
    screens: tuple[str, ...] = ()
    """The screens whose last line shows it; empty: only help and palette do."""


_NEVER_LEFT_OUT: Final = ("?", "q", "Esc")
_ALL: Final = ("overview", "threads", "findings")

KEYS: Final[tuple[Key, ...]] = (
    Key("1", "app.show('overview')", "1", "", "Overview: the machine, the ranks, the findings", ("app",)),
    Key("2", "app.show('threads')", "2", "", "Threads: every thread against its plan", ("app",)),
    Key("3", "app.show('findings')", "3", "", "Findings: what is wrong, with evidence and remedy", ("app",)),
    Key("up,k", "up", "↑↓", "pick", "up: the line or cell above", ("map", "threads", "findings"), (*_ALL, "help")),
    Key("down,j", "down", "↓", "", "down: the line or cell below", ("map", "threads", "findings")),
    Key("left,h", "left", "←", "", "map: the cell to the left", ("map",)),
    Key("right,l", "right", "→", "", "map: the cell to the right", ("map",)),
    Key("z", "app.zoom(True)", "z", "", "zoom in: the node under the cursor alone, drawn as fine as it can be", ("app",)),
    Key("Z", "app.zoom(False)", "Z", "", "zoom out: all nodes again", ("app",)),
    Key("pageup", "page_up", "PgUp", "", "a page up", ("threads", "findings")),
    Key("pagedown", "page_down", "PgDn", "", "a page down", ("threads", "findings")),
    Key("home,g", "home", "Home", "", "the first row", ("threads", "findings")),
    Key("end,G", "end", "End", "", "the last row", ("threads", "findings")),
    Key("enter", "open", "⏎", "open", "open: CPU → its threads, thread or finding → light it on the map", ("map", "threads", "findings"), ("overview", "findings")),
    Key("f", "app.next_finding(1)", "f", "finding", "the next finding", ("app",), _ALL),
    Key("F", "app.next_finding(-1)", "F", "", "the finding before", ("app",)),
    Key("x", "light", "x", "light", "light the picked thread on the map: ■ planned and allowed, □ planned, ▒ allowed, ! ran outside", ("threads", "findings"), ("threads", "findings")),
    Key("slash", "filter", "/", "filter", "filter: a part of a name, rank:3, role:main, cpu:37, not ok, idle", ("threads",), ("threads",)),
    Key("s", "sort", "s", "sort", "sort by the next order: verdict, place, busy, wait, cpu", ("threads",), ("threads",)),
    Key("question_mark", "app.help", "?", "help", "this page", ("app",), _ALL),
    Key("q,ctrl+c", "app.leave", "q", "quit", "one step back; where there is none, quit", ("app",), _ALL),
    Key("tab", "app.focus_next", "Tab", "", "from the map to the findings and back", ("app",)),
    Key("space", "app.pause", "Space", "pause", "hold the picture still, go on", ("app",), _ALL),
    Key("t", "app.next_theme", "t", "theme", "the next theme: dark, light, contrast, blind, 16 colours", ("app",), _ALL),
    Key("P,ctrl+p", "app.command_palette", "P", "", "all actions by name", ("app",)),
    Key("escape", "app.step_back", "Esc", "back", "one step back: unlight, clear the filter, leave help", ("app",), ("help",)),
)  # fmt: skip


def bindings_of(owner: Owner) -> list[BindingType]:
    """The bindings of whoever acts on them."""
    return [Binding(key.keys, key.action, key.meaning, show=False) for key in KEYS if owner in key.owners]


def key_line(screen: str, width: int, cost: str) -> Line:
    """The keys that work on a screen, and numascope's own cost at the right; the words go first where it is narrow."""
    here = [key for key in KEYS if screen in key.screens]
    sizes = {key: len(key.label) + len(key.word) + 3 for key in here}
    room = width - len(cost) - 3
    chosen = {key for key in here if key.label in _NEVER_LEFT_OUT}
    for key in here:
        if sum(sizes[one] for one in chosen | {key}) <= room:
            chosen.add(key)
    spans: list[Span] = [Span(" ")]
    for key in here:
        if key in chosen:
            spans.extend((Span(key.label, "lit", bold=True), Span(f" {key.word}  ", "dim")))
    used = 1 + sum(sizes[key] for key in chosen)
    spans.append(Span(" " * (width - used - len(cost) - 1)))
    spans.append(Span(f"{cost} ", "dim"))
    return fitted(spans, width)


def help_lines(width: int) -> list[Line]:
    """Every key of the table with what it does."""
    lines = []
    for key in KEYS:
        names = key.label if key.label != "↑↓" else "↑ k"
        lines.append(fitted([Span(f" {names:>6}  ", "lit", bold=True), Span(key.meaning)], width))
    return lines
