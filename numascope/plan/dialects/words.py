"""Command lines and lists as text: words as a POSIX shell splits them, each with its line and column."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from numascope.errors import InputError
from numascope.plan.json_reader import quoted, universal_newlines

LARGEST_TEXT_BYTES: Final = 1 << 18
"""Room for a thousand ranks with ranges of their own."""

_MOST_WORDS: Final = 32_768
"""Thirty for each of a thousand ranks."""

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,63})=(.*)", re.DOTALL)
_PLAIN = re.compile(r"[^\s'\"\\#;&$`]+")
_BLANK = re.compile(r"[ \t]+")
_PARENTHESES = r"\((?:[^()\n]++|{})*+\)"
_SUBSTITUTION = re.compile(
    r"\$" + _PARENTHESES.format(_PARENTHESES.format(_PARENTHESES.format(r"\(\)"))) + r"|`[^`\n]*+`"
)
_ENDS: Final = {"'": re.compile("'"), '"': re.compile(r'["\\]')}
_UNCLOSED: Final = "a quote or backslash of the command line is not closed"
_TRAILING = re.compile(r"[ \t;&]*+#([^\n]*)")


class Run(NamedTuple):
    """A stretch of a word that stands in the file as it is: from which character of the word on, and where that is."""

    start: int
    line: int
    column: int


class Word(NamedTuple):
    """One word without its quotes; line and column (from 1) of its first character, quotes included."""

    text: str
    line: int
    column: int
    runs: tuple[Run, ...] = ()
    """Where quotes, backslashes and line breaks part it; empty: it stands there as it is."""

    def assigned(self) -> tuple[str, str] | None:
        """Name and value where it is `NAME=value`."""
        found = _ASSIGNMENT.fullmatch(self.text)
        return None if found is None else (found[1], found[2])

    def where(self, at: int) -> tuple[int, int]:
        """Line and column of one of its characters, or of its end."""
        before = bisect.bisect_right(self.runs, at, key=lambda run: run.start)
        start, line, column = self.runs[before - 1] if before else Run(0, self.line, self.column)
        lines = self.text.count("\n", start, at)
        return line + lines, at - self.text.rfind("\n", start, at) if lines else column + at - start

    def part(self, start: int) -> Word:
        """The rest of it from a character on."""
        runs = [run for run in self.runs if run.start > start]
        line, column = self.where(start)
        if runs:
            runs.insert(0, Run(start, line, column))
        return Word(self.text[start:], line, column, tuple(run._replace(start=run.start - start) for run in runs))


class Command(NamedTuple):
    """One simple command, the comment lines right before it, and the comment behind it."""

    words: tuple[Word, ...]
    above: str
    behind: str


def decoded(path: str, data: bytes, what: str) -> str:
    """The text of a file in UTF-8, of at most 256 KiB; InputError. `what` names what was expected."""
    if len(data) > LARGEST_TEXT_BYTES:
        raise InputError(path, f"{what} of over {LARGEST_TEXT_BYTES >> 10} KiB: keep what binds alone", 1, 1)
    plain = universal_newlines(data)
    try:
        text = plain.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as failure:
        before = plain[: failure.start].decode()
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise InputError(path, "is not UTF-8: save it as UTF-8", line, column) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(path, "has a zero byte in it: it is no text", line, 1)
    return text


def commands(path: str, text: str | Word) -> Iterator[Command]:
    """The commands of a script, ended by line breaks, `;` and `&`; what the shell would expand stands as it is. InputError.

    The script may be a word of another one, as in `bash -c '…'`: places are then those in the outer one.
    """
    reader = _Reader(path, text)
    above = ""
    number = 0
    while True:
        words, comment, is_last = reader.command()
        number += len(words)
        if number > _MOST_WORDS:
            problem = f"more than {_MOST_WORDS} words, far more than a launch script has: keep what binds alone"
            raise InputError(path, problem, words[0].line, words[0].column)
        if words:
            yield Command(words, above, comment)
            above = ""
        elif comment:
            above = f"{above} {comment}".strip()
        if is_last:
            return


class _Reader:
    """One pass over the text; `at` only grows, so that places cost no second pass."""

    def __init__(self, path: str, text: str | Word) -> None:
        self.path = path
        self.text, self.parted = (text, ()) if isinstance(text, str) else (text.text, text.runs)
        self.at, self.placed = 0, 0
        self.line, self.column = (1, 1) if isinstance(text, str) else text.where(0)

    def place(self, at: int) -> tuple[int, int]:
        before = bisect.bisect_right(self.parted, at, key=lambda run: run.start)
        if before and self.parted[before - 1].start > self.placed:
            self.placed, self.line, self.column = self.parted[before - 1]
        lines = self.text.count("\n", self.placed, at)
        self.line += lines
        self.column = at - self.text.rfind("\n", self.placed, at) if lines else self.column + at - self.placed
        self.placed = at
        return self.line, self.column

    def command(self) -> tuple[tuple[Word, ...], str, bool]:
        """The words up to the end of a command, the comment behind them, and whether the text ends there."""
        words: list[Word] = []
        while True:
            self.skip()
            one = self.text[self.at : self.at + 1]
            if not one or one == "\n":
                self.at += 1
                return tuple(words), "", not one
            if one == "#":
                return tuple(words), self.comment(), False
            if one == "(" and not words:
                self.at += 1
                continue
            if one in ";&":
                self.at += 1
                if words:
                    return tuple(words), self.trailing(), False
                continue
            words.append(self.word())

    def trailing(self) -> str:
        """A comment behind the `;` of a command, as in `… ;;  # device 0`."""
        found = _TRAILING.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found[1].strip()

    def skip(self) -> None:
        while True:
            blank = _BLANK.match(self.text, self.at)
            if blank is not None:
                self.at = blank.end()
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            else:
                return

    def comment(self) -> str:
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        found = self.text[self.at + 1 : end].strip()
        self.at = end
        return found

    def word(self) -> Word:
        line, column = self.place(self.at)
        pieces: list[str] = []
        runs: list[Run] = []
        length = 0
        while self.at < len(self.text):
            one = self.text[self.at]
            if one in " \t\n;&":
                break
            for start, piece in self.pieces(one, line, column):
                if piece:
                    runs += self.runs(length, start, start + len(piece))
                    pieces.append(piece)
                    length += len(piece)
        is_plain = len(runs) < 2 and all(run == Run(0, line, column) for run in runs)
        return Word("".join(pieces), line, column, () if is_plain else tuple(runs))

    def runs(self, length: int, start: int, end: int) -> Iterator[Run]:
        """Where a piece of the text stands, which is parted where the outer word is."""
        yield Run(length, *self.place(start))
        at = bisect.bisect_right(self.parted, start, key=lambda run: run.start)
        while at < len(self.parted) and self.parted[at].start < end:
            yield self.parted[at]._replace(start=length + self.parted[at].start - start)
            at += 1

    def pieces(self, one: str, line: int, column: int) -> Iterator[tuple[int, str]]:
        """What comes next as it stands in the text, and where; `line` and `column` are the word's."""
        if one in "'\"":
            yield from self.quote(one, line, column)
            return
        start = self.at
        if one == "\\":
            yield start + 1, self.escaped(line, column)
        elif self.text.startswith("$(", start) or one == "`":
            yield start, self.substitution()
        else:
            plain = _PLAIN.match(self.text, start)
            piece = one if plain is None else plain[0]
            self.at += len(piece)
            yield start, piece

    def substitution(self) -> str:
        """`$(…)`, `$((…))` or what stands between backticks, with its blanks as it is; where it is not closed, its first character."""
        found = _SUBSTITUTION.match(self.text, self.at)
        start = self.at
        self.at = start + 1 if found is None else found.end()
        return self.text[start : self.at]

    def escaped(self, line: int, column: int) -> str:
        following = self.text[self.at + 1 : self.at + 2]
        if not following:
            raise InputError(self.path, _UNCLOSED, line, column)
        self.at += 2
        return "" if following == "\n" else following

    def quote(self, mark: str, line: int, column: int) -> Iterator[tuple[int, str]]:
        ends = _ENDS[mark]
        self.at += 1
        while True:
            start, end = self.at, ends.search(self.text, self.at)
            if end is None:
                raise InputError(self.path, _UNCLOSED, line, column)
            yield start, self.text[start : end.start()]
            self.at = end.end()
            if end[0] == mark:
                return
            following = self.text[self.at : self.at + 1]
            if following == "\n":
                self.at += 1
            elif following in ('"', "\\", "$", "`"):
                yield self.at, following
                self.at += 1
            else:
                yield end.start(), "\\"


def shown(word: Word) -> str:
    """A word as an error names it."""
    return quoted(word.text)
