"""A remedy as lines: its words wrapped, its commands never broken, so that they can be copied and run."""

from __future__ import annotations

import re
from typing import Final

from numascope.show.canvas import fitted, text_cells, wrapped
from numascope.show.glyphs import FRAME
from numascope.show.ink import Line, Span

_COMMAND: Final = re.compile(
    r"(?:^|(?<=: ))(?:(?:sudo )?(?:taskset|ps|numactl|numascope|chrt|renice|cat|echo|kill) |for \w+ in )"
)
_TAIL: Final = re.compile(r"; (?=\w+: )")
"""Where the words after a command start: `; lasting: start without …`."""


def remedy_parts(remedy: str) -> list[tuple[str, bool]]:
    """The remedy cut into words and commands, in order; True is a command."""
    found = _COMMAND.search(remedy)
    if found is None:
        return [(remedy, False)]
    lead = remedy[: found.start()].rstrip()
    command, *tail = _TAIL.split(remedy[found.start() :], maxsplit=1)
    rest = remedy_parts(tail[0]) if tail else []
    return [*([(lead, False)] if lead else []), (command, True), *rest]


def remedy_lines(remedy: str, width: int, *, whole_commands: bool) -> list[Line]:
    """The remedy behind an arrow; a command stands in one line, and where that is too narrow it is cut with `…` or runs over."""
    head, indent = f"     {FRAME['change'][0]} ", " " * 7
    parts = remedy_parts(remedy)
    if not any(is_command for _, is_command in parts):
        texts = wrapped(remedy, width - 8)
        return [fitted([Span(f"{indent if at else head}{text}", "near")], width) for at, text in enumerate(texts)]
    if text_cells(head + remedy) <= width:
        return [fitted([Span(head + remedy, "near")], width)]
    lines: list[Line] = []
    for text, is_command in parts:
        lead = indent if lines else head
        if is_command:
            lines.append(_command_line(text, lead, width, whole=whole_commands))
            continue
        for piece in wrapped(text, width - 8):
            lines.append(fitted([Span((indent if lines else head) + piece, "near")], width))
    return lines


def _command_line(command: str, lead: str, width: int, *, whole: bool) -> Line:
    """A command that is too long where it should stand begins further left."""
    arrow = lead.strip()
    start = lead if text_cells(lead + command) <= width else f"{arrow} " if arrow else " "
    if whole and text_cells(start + command) > width:
        return (Span(start + command, "near"),)
    return fitted([Span(start + command, "near")], width)
