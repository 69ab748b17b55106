"""A grid of styled cells to write on, and lines of text to fill: what every pure page is drawn with."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from numascope.show.ink import Line, Span

_BLANK = Span(" ")
_PIECE: Final = re.compile(r"[^ ,]*,(?=\d)|[^ ]+ *")


class Canvas:
    """Cells of a fixed width and height; what is written beyond an edge is cut."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self._rows: list[list[Span]] = [[_BLANK] * width for _ in range(height)]

    def put(self, row: int, column: int, span: Span) -> None:
        """Writes the span's characters, one cell each, from that cell on."""
        if not 0 <= row < len(self._rows):
            return
        cells = self._rows[row]
        for at, character in enumerate(span.text, column):
            if 0 <= at < self.width:
                cells[at] = span._replace(text=character)

    def lines(self) -> list[Line]:
        """The rows, neighbours of one style joined."""
        return [joined(row) for row in self._rows]


def joined(spans: Iterable[Span]) -> Line:
    """The spans with neighbours of one style made one, and empty ones left out."""
    found: list[Span] = []
    texts: list[str] = []
    for span in spans:
        if not span.text:
            continue
        if found and found[-1][1:] == span[1:]:
            texts[-1] += span.text
        else:
            found.append(span)
            texts.append(span.text)
    return tuple(span._replace(text=text) for span, text in zip(found, texts, strict=True))


def cells(line: Line) -> int:
    """How many terminal cells the line takes."""
    return sum(text_cells(span.text) for span in line)


def text_cells(text: str) -> int:
    """How many terminal cells the text takes: East Asian wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_character_cells(character) for character in text)


def _character_cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, width: int) -> str:
    """The text in at most `width` cells, with `…` where it lost something."""
    if text_cells(text) <= width:
        return text
    if width <= 0:
        return ""
    kept, used = [], 0
    for character in text:
        wide = text_cells(character)
        if used + wide > width - 1:
            break
        kept.append(character)
        used += wide
    return "".join(kept) + "…"


def left(text: str, width: int) -> str:
    """The text in exactly `width` cells, at the left."""
    short = cut(text, width)
    return short + " " * (width - text_cells(short))


def right(text: str, width: int) -> str:
    """The text in exactly `width` cells, at the right."""
    short = cut(text, width)
    return " " * (width - text_cells(short)) + short


def fitted(spans: Iterable[Span], width: int) -> Line:
    """The line in exactly `width` cells: cut with `…`, or filled up with blanks."""
    kept: list[Span] = []
    room = width
    for span in spans:
        size = text_cells(span.text)
        if size > room:
            kept.append(span._replace(text=cut(span.text, room)))
            room -= text_cells(kept[-1].text)
            break
        kept.append(span)
        room -= size
    return joined([*kept, Span(" " * room)])


def breakable(text: str) -> list[str]:
    """The pieces of a text between which a line may end: behind blanks, and behind the commas of a list of numbers."""
    return _PIECE.findall(text)


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` cells, broken at blanks where there are any."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        if line and text_cells(line) + 1 + text_cells(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
        while text_cells(line) > width:
            lines.append(cut(line, width))
            line = ""
    return [*lines, line] if line else lines or [""]
