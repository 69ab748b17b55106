"""Command lines and lists as text: words as a POSIX shell splits them, each with its line and column."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from numascope.errors import InputError
from numascope.plan.positions import quoted, universal_newlines

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
_TRAILING = re.compile(r"[ \t;&]*+#([^\n]*)")


class Word(NamedTuple):
    """One word without its quotes; line and column (from 1) of its first character."""

    text: str
    line: int
    column: int

    def assigned(self) -> tuple[str, str] | None:
        """Name and value where it is `NAME=value`."""
        found = _ASSIGNMENT.fullmatch(self.text)
        return None if found is None else (found[1], found[2])

    def part(self, start: int) -> Word:
        """The rest of it from a character on; without quotes in it the column is right to the character."""
        return Word(self.text[start:], self.line, self.column + start)


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
        raise InputError(path, f"is not UTF-8: save {what} as UTF-8", line, column) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(path, "has a zero byte in it: it is no text", line, 1)
    return text


def commands(path: str, text: str) -> Iterator[Command]:
    """The commands of a script, ended by line breaks, `;` and `&`; what the shell would expand stands as it is. InputError."""
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
    """One pass over the text; `at` only grows."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.at, self.line, self.line_start = 0, 1, 0

    def command(self) -> tuple[tuple[Word, ...], str, bool]:
        """The words up to the end of a command, the comment behind them, and whether the text ends there."""
        words: list[Word] = []
        while True:
            self.skip()
            one = self.text[self.at : self.at + 1]
            if not one or one == "\n":
                self.at += 1
                self.newline(self.at if one else None)
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
                self.newline(self.at)
            else:
                return

    def newline(self, start: int | None) -> None:
        if start is not None:
            self.line += 1
            self.line_start = start

    def comment(self) -> str:
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        found = self.text[self.at + 1 : end].strip()
        self.at = end
        return found

    def word(self) -> Word:
        line, column = self.line, self.at - self.line_start + 1
        pieces: list[str] = []
        while self.at < len(self.text):
            one = self.text[self.at]
            if one in " \t\n;&":
                break
            if one in "'\"":
                pieces.append(self.quote(one, line, column))
            elif one == "\\":
                pieces.append(self.escaped(line, column))
            elif self.text.startswith("$(", self.at) or one == "`":
                pieces.append(self.substitution())
            else:
                plain = _PLAIN.match(self.text, self.at)
                pieces.append(one if plain is None else plain[0])
                self.at += len(pieces[-1])
        return Word("".join(pieces), line, column)

    def substitution(self) -> str:
        """`$(…)`, `$((…))` or what stands between backticks, with its blanks as it is; where it is not closed, its first character."""
        found = _SUBSTITUTION.match(self.text, self.at)
        start = self.at
        self.at = start + 1 if found is None else found.end()
        return self.text[start : self.at]

    def escaped(self, line: int, column: int) -> str:
        following = self.text[self.at + 1 : self.at + 2]
        if not following:
            raise InputError(self.path, "a quote or backslash of the command line is not closed", line, column)
        self.at += 2
        if following == "\n":
            self.newline(self.at)
            return ""
        return following

    def quote(self, mark: str, line: int, column: int) -> str:
        pieces: list[str] = []
        self.at += 1
        while True:
            end = re.compile(r"['\\]" if mark == "'" else r'["\\]').search(self.text, self.at)
            if end is None:
                raise InputError(self.path, "a quote or backslash of the command line is not closed", line, column)
            pieces.append(self.text[self.at : end.start()])
            self.at = end.end()
            if end[0] == mark:
                break
            if mark == '"' and self.text[self.at : self.at + 1] in ('"', "\\", "$", "`"):
                pieces.append(self.text[self.at])
                self.at += 1
            else:
                pieces.append("\\")
        found = "".join(pieces)
        for at in range(found.count("\n")):
            del at
            self.newline(self.text.rfind("\n", 0, self.at) + 1)
        return found


def shown(word: Word) -> str:
    """A word as an error names it."""
    return quoted(word.text)
