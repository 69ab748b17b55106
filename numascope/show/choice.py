"""A short list to pick from, as lines, and what a key does to it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from numascope.show.canvas import fitted
from numascope.show.glyphs import FRAME
from numascope.show.ink import Line, Span

UP: Final = ("\x1b[A", "\x1bOA", "k", "\x10")
DOWN: Final = ("\x1b[B", "\x1bOB", "j", "\x0e", "\t")
ENTER: Final = ("\r", "\n")
LEAVE: Final = ("q", "\x1b", "\x03", "\x04")
"""Keys as a terminal sends them; cursor keys in both of its modes (xterm's control sequences, "PC-Style Function Keys")."""


class Choice(NamedTuple):
    """A list with one picked; `typed` are the digits of a number so far, `done` is None as long as it is open."""

    size: int
    at: int = 0
    typed: str = ""
    done: bool | None = None
    """True: taken; False: left without taking any."""


def pressed(choice: Choice, key: str) -> Choice:
    """What a key makes of a choice; keys that mean nothing change nothing."""
    if key in UP:
        return choice._replace(at=(choice.at - 1) % choice.size, typed="")
    if key in DOWN:
        return choice._replace(at=(choice.at + 1) % choice.size, typed="")
    if key in ENTER:
        return choice._replace(done=True)
    if key in LEAVE:
        return choice._replace(done=False)
    if key.isascii() and key.isdigit():
        for typed in (choice.typed + key, key):
            if 1 <= int(typed) <= choice.size:
                return choice._replace(at=int(typed) - 1, typed=typed)
    return choice


def choice_lines(title: str, rows: Sequence[str], choice: Choice, width: int, height: int) -> list[Line]:
    """The title, the rows around the picked one, and the keys: at most `height` lines, four at least."""
    room = max(1, height - 3)
    first = max(0, min(choice.at - room // 2, len(rows) - room))
    shown = rows[first : first + room]
    lines = [fitted([Span(title, bold=True)], width)]
    for at, row in enumerate(shown, first):
        is_picked = at == choice.at
        sign = FRAME["picked"][0] if is_picked else " "
        lines.append(fitted([Span(f"{sign}{at + 1:>3} ", "lit"), Span(row, "text", bold=is_picked)], width))
    hidden = len(rows) - len(shown)
    more = f"{hidden} more above or below" if hidden else ""
    lines.append(fitted([Span(more, "dim")], width))
    keys = f"{FRAME['up'][0]}{FRAME['down'][0]} or its number, {FRAME['enter'][0]} takes it, q leaves"
    lines.append(fitted([Span(keys, "dim")], width))
    return lines
