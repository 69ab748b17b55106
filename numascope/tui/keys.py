"""Every key in one table: bindings, the last line of each screen, the help and the command palette are made from it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, Literal, NamedTuple

from textual.binding import Binding, BindingType

from numascope.show.canvas import fitted, text_cells
from numascope.show.ink import Line, Span

Owner = Literal["app", "map", "threads", "findings", "dialog"]
"""Who acts on a key: the app, the map, the table of threads, a list, or a question."""


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
    pair: str = ""
    """What the last line prints for it where it stands there for the key beside it too."""

    @property
    def sign(self) -> str:
        """What the last line prints for it."""
        return self.pair or self.label


_NEVER_LEFT_OUT: Final = ("?", "q", "Esc")
_ALL: Final = ("overview", "threads", "findings")
_EACH: Final = (*_ALL, "journal")

KEYS: Final[tuple[Key, ...]] = (
    Key("1", "app.show('overview')", "1", "", "Overview: the machine, the ranks, the findings", ("app",)),
    Key("2", "app.show('threads')", "2", "", "Threads: every thread against its plan", ("app",)),
    Key("3", "app.show('findings')", "3", "", "Findings: what is wrong, with evidence and remedy", ("app",)),
    Key("4", "app.show('journal')", "4", "", "Journal: what was changed from here, and what of it can be put back", ("app",)),
    Key("up,k", "up", "↑ k", "pick", "up: the line or cell above", ("map", "threads", "findings", "dialog"), (*_EACH, "help"), "↑↓"),
    Key("down,j", "down", "↓", "", "down: the line or cell below", ("map", "threads", "findings", "dialog")),
    Key("left,h", "left", "←", "", "map: the cell to the left", ("map",)),
    Key("right,l", "right", "→", "", "map: the cell to the right", ("map",)),
    Key("z", "app.zoom(True)", "z", "", "zoom in: the node under the cursor alone, drawn as fine as it can be", ("app",)),
    Key("Z", "app.zoom(False)", "Z", "", "zoom out: all nodes again", ("app",)),
    Key("pageup", "page_up", "PgUp", "", "a page up", ("threads", "findings", "dialog")),
    Key("pagedown", "page_down", "PgDn", "", "a page down", ("threads", "findings", "dialog")),
    Key("home,g", "home", "Home", "", "the first row", ("threads", "findings", "dialog")),
    Key("end,G", "end", "End", "", "the last row", ("threads", "findings", "dialog")),
    Key("enter", "open", "⏎", "open", "open: CPU → its threads, thread or finding → light it on the map", ("map", "threads", "findings"), ("overview", "findings")),
    Key("f", "app.next_finding(1)", "f", "finding", "the next finding", ("app",), _ALL),
    Key("F", "app.next_finding(-1)", "F", "", "the finding before", ("app",)),
    Key("a", "app.apply", "a", "apply", "apply the plan: shows what it would set, then asks", ("app",), _ALL),
    Key("r", "app.revert", "r", "revert", "revert the newest apply, in Journal the picked one: shows what it would put back, then asks", ("app",), ("overview", "findings", "journal")),
    Key("y", "yes", "y", "", "in a question: do it; only y means yes", ("dialog",)),
    Key("n,enter,escape,q,ctrl+c", "no", "n", "", "in a question: leave things as they are; so do ⏎, Esc and q", ("dialog",)),
    Key("x", "light", "x", "light", "light the picked thread on the map: ■ planned and allowed, □ planned, ▒ allowed, ! ran outside", ("threads", "findings"), ("threads", "findings")),
    Key("slash", "filter", "/", "filter", "filter: a part of a name, rank:3, role:main, cpu:37, not ok, idle", ("threads",), ("threads",)),
    Key("s", "sort", "s", "sort", "sort by the next order: verdict, place, busy, wait, cpu", ("threads",), ("threads",)),
    Key("question_mark", "app.help", "?", "help", "this page", ("app",), _EACH),
    Key("q,ctrl+c", "app.leave", "q", "quit", "one step back; where there is none, quit", ("app",), _EACH),
    Key("tab", "app.focus_next", "Tab", "", "from the map to the findings and back", ("app",)),
    Key("space", "app.pause", "Space", "pause", "hold the picture still, go on", ("app",), _EACH),
    Key("less_than_sign", "app.speed(-1)", "<", "speed", "slower: a recording at half the speed, down to ×0.125", ("app",), _EACH, "< >"),
    Key("greater_than_sign", "app.speed(1)", ">", "", "faster: a recording at twice the speed, up to ×64", ("app",)),
    Key("full_stop", "app.next_look", ".", "step", "the next look: one frame of a recording that is held still", ("app",), _EACH),
    Key("t", "app.next_theme", "t", "theme", "the next theme: dark, light, contrast, blind, 16 colours", ("app",), _EACH),
    Key("P,ctrl+p", "app.command_palette", "P", "", "all actions by name", ("app",)),
    Key("escape", "app.step_back", "Esc", "back", "one step back: unlight, clear the filter, leave help", ("app",), ("help",)),
)  # fmt: skip


def bindings_of(owner: Owner) -> list[BindingType]:
    """The bindings of whoever acts on them."""
    return [Binding(key.keys, key.action, key.meaning, show=False) for key in KEYS if owner in key.owners]


def actions_of(owner: Owner) -> dict[str, str]:
    """Textual's name of each key of an owner, and its action."""
    return {name: key.action for key in KEYS if owner in key.owners for name in key.keys.split(",")}


def key_line(
    screen: str, width: int, cost: str, closed: Mapping[str, str] | None = None, absent: Collection[str] = ()
) -> Line:
    """The keys that work on a screen, and numascope's own cost at the right; the words go first where it is narrow.

    `closed` are keys that do nothing now, each with the reason in a word: they stand in brackets, and never go.
    `absent` are keys that there is no use for: nothing is said of them.
    """
    shut = closed or {}
    bracket = _bracket(shut)
    here = [key for key in KEYS if screen in key.screens and key.label not in shut and key.label not in absent]
    sizes = {key: len(key.sign) + len(key.word) + 3 for key in here}
    room = width - len(cost) - 3 - text_cells(bracket)
    chosen = {key for key in here if key.label in _NEVER_LEFT_OUT}
    for key in here:
        if sum(sizes[one] for one in chosen | {key}) <= room:
            chosen.add(key)
    spans: list[Span] = [Span(" ")]
    for key in here:
        if key in chosen:
            spans.extend((Span(key.sign, "lit", bold=True), Span(f" {key.word}  ", "dim")))
    spans.append(Span(bracket, "dim"))
    used = 1 + sum(sizes[key] for key in chosen) + text_cells(bracket)
    spans.append(Span(" " * (width - used - len(cost) - 1)))
    spans.append(Span(f"{cost} ", "dim"))
    return fitted(spans, width)


def _bracket(closed: Mapping[str, str]) -> str:
    """`(a r: read-only)`."""
    by_reason: dict[str, list[str]] = {}
    for label, reason in closed.items():
        by_reason.setdefault(reason, []).append(label)
    return "".join(f"({' '.join(labels)}: {reason})" for reason, labels in by_reason.items())


def help_lines(width: int, closed: Mapping[str, str] | None = None) -> list[Line]:
    """Every key of the table with what it does, or with why it does nothing now."""
    lines = []
    for key in KEYS:
        why = (closed or {}).get(key.label, "")
        meaning = [Span(f"({why}) ", "warn"), Span(key.meaning, "dim")] if why else [Span(key.meaning)]
        lines.append(fitted([Span(f" {key.label:>6}  ", "lit", bold=True), *meaning], width))
    return lines
