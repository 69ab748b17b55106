"""Styled text without a terminal: lines of spans, each with one meaning of the design sheet's palette."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

Token = Literal[
    "text", "dim", "escape", "stranger", "warn", "near", "far", "lit",
    "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7",
]  # fmt: skip
"""One meaning each; colours are chosen by whoever puts it on a screen."""


class Span(NamedTuple):
    """A run of text of one meaning; `reverse` and `bold` survive where colour does not."""

    text: str
    token: Token = "text"
    bold: bool = False
    reverse: bool = False
    underline: bool = False


Line = tuple[Span, ...]


def plain(line: Line) -> str:
    """The line without styles and without trailing blanks."""
    return "".join(span.text for span in line).rstrip()


_SGR_16: dict[Token, str] = {
    "text": "", "dim": "", "escape": "91", "stranger": "95", "warn": "33", "near": "32", "far": "93", "lit": "96",
    "r0": "36", "r1": "32", "r2": "34", "r3": "35", "r4": "37", "r5": "36", "r6": "32", "r7": "34",
}  # fmt: skip


def ansi(line: Line) -> str:
    """The line with SGR codes of the 16 standard colours, which every terminal and pager has."""
    parts: list[str] = []
    for span in line:
        codes = [
            code
            for code, on in (("1", span.bold), ("4", span.underline), ("7", span.reverse), (_SGR_16[span.token], True))
            if on and code
        ]
        parts.append(f"\x1b[{';'.join(codes)}m{span.text}\x1b[0m" if codes else span.text)
    return "".join(parts)


def render(lines: Iterable[Line], *, colour: bool) -> str:
    """All lines as one text that ends with a newline."""
    return "".join((ansi(line) if colour else plain(line)) + "\n" for line in lines)
