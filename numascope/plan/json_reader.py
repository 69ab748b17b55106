"""A JSON reader (RFC 8259) that knows the line and column of every key and value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from numascope.errors import InputError
from numascope.host.text import safe_text

LARGEST_FILE_BYTES: Final = 4 << 20
DEEPEST_NESTING: Final = 32
MOST_VALUES: Final = 10_000
"""A thousand devices with every module are 7,000 values."""

_LONGEST_NUMBER = 300
_LONGEST_QUOTE = 60
_SPACE = re.compile(r"[ \t\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?")
_WORD = re.compile(r"-?[A-Za-z_]{1,20}")
_WORDS: Final[Mapping[str, bool | None]] = {"true": True, "false": False, "null": None}
_BAD_TEXT: Final[Mapping[str, str]] = {
    "Unterminated": "this text has no closing quote",
    "control": "a line break or control character within a text: close its quote before",
    "escape": r"a backslash that JSON does not know: write \\ for a backslash itself",
}
_STRINGS = json.JSONDecoder()


class Entry(NamedTuple):
    """The value of one key of an object, with the line and column of the key (from 1)."""

    line: int
    column: int
    value: Value


@dataclass(frozen=True, slots=True)
class Value:
    """A JSON value and where its first character stands (from 1); a list is a tuple, an object maps key to `Entry`."""

    data: str | int | float | bool | tuple[Value, ...] | Mapping[str, Entry] | None
    line: int
    column: int

    def __str__(self) -> str:
        """The value as an error names it: short, on one line, safe to print."""
        if isinstance(self.data, str):
            return quoted(self.data)
        if isinstance(self.data, tuple):
            return "a list"
        if isinstance(self.data, Mapping):
            return "an object"
        return json.dumps(self.data)[:40]


def quoted(text: str) -> str:
    """A text in double quotes, safe to print and cut after 60 characters."""
    return f'"{safe_text(text[:_LONGEST_QUOTE])}{"…" if len(text) > _LONGEST_QUOTE else ""}"'


def read_json(path: str, data: bytes) -> Value:
    """Reads a whole JSON file (UTF-8, a byte order mark is let pass); InputError with line and column, also on a repeated key."""
    if len(data) > LARGEST_FILE_BYTES:
        raise InputError(path, f"is over {LARGEST_FILE_BYTES >> 20} MiB, far too large for a bind plan")
    return _Reader(path, _decoded(path, data)).document()


def read_json_text(path: str, text: str, where: Callable[[int], tuple[int, int]]) -> Value:
    """Reads JSON that stands within a file of another kind, `where` says at which line and column of it; InputError."""
    return _Reader(path, text, where).document()


def universal_newlines(data: bytes) -> bytes:
    r"""The bytes with `\r\n` and `\r` as `\n`, as Python's text mode reads them."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _decoded(path: str, data: bytes) -> str:
    plain = universal_newlines(data)
    try:
        return plain.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as failure:
        before = plain[: failure.start].decode().removeprefix("\ufeff")
        where = _line_and_column(before, len(before))
        if plain[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError(path, "is UTF-16 text: save it as UTF-8", *where) from None
        found = f"byte 0x{plain[failure.start]:02x} is not UTF-8"
        raise InputError(path, f"{found}: save the file as UTF-8", *where) from None


def _line_and_column(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


class _Reader:
    """One pass over one text; `at` only grows, so that places cost no second pass."""

    def __init__(self, path: str, text: str, where: Callable[[int], tuple[int, int]] | None = None) -> None:
        self.path = path
        self.text = text
        self.where = where
        self.whole = "file" if where is None else "text"
        self.at = 0
        self.values = 0
        self.placed = 0
        self.line = 1
        self.line_start = 0

    def document(self) -> Value:
        self.skip_space()
        if self.at == len(self.text):
            raise self.wrong(self.at, f"the {self.whole} is empty: expected a JSON object")
        found = self.value(1)
        self.skip_space()
        if self.at < len(self.text):
            raise self.wrong(self.at, f"found {self.here()} after the end of the JSON value: remove it")
        return found

    def value(self, depth: int) -> Value:
        self.values += 1
        if self.values > MOST_VALUES:
            raise self.wrong(self.at, f"more than {MOST_VALUES} values, far too many for a bind plan")
        if depth > DEEPEST_NESTING:
            raise self.wrong(self.at, f"nested deeper than {DEEPEST_NESTING} levels, far too deep for a bind plan")
        line, column = self.place()
        first = self.peek()
        if first == "{":
            return Value(self.object(depth), line, column)
        if first == "[":
            return Value(self.list(depth), line, column)
        if first == '"':
            return Value(self.string(), line, column)
        return Value(self.number() if first in "-0123456789" and first else self.word(), line, column)

    def object(self, depth: int) -> Mapping[str, Entry]:
        entries: dict[str, Entry] = {}
        self.step()
        if self.peek() == "}":
            self.at += 1
            return entries
        while True:
            line, column = self.place()
            key = self.key(entries)
            if self.peek() != ":":
                raise self.wrong(self.at, f'found {self.here()}: expected ":" after the key {quoted(key)}')
            self.step()
            entries[key] = Entry(line, column, self.value(depth + 1))
            if self.ends("}"):
                return entries

    def key(self, entries: Mapping[str, Entry]) -> str:
        start = self.at
        if self.peek() != '"':
            raise self.wrong(start, f"found {self.here()}: expected a key in double quotes{self.hint()}")
        key = self.string()
        if key in entries:
            before = entries[key]
            raise self.wrong(start, f"the key {quoted(key)} is there twice, first in line {before.line}: keep one")
        self.skip_space()
        return key

    def list(self, depth: int) -> tuple[Value, ...]:
        values: list[Value] = []
        self.step()
        if self.peek() == "]":
            self.at += 1
            return ()
        while True:
            values.append(self.value(depth + 1))
            if self.ends("]"):
                return tuple(values)

    def ends(self, bracket: str) -> bool:
        """Steps over the closing bracket (True) or over the comma to what follows it (False)."""
        self.skip_space()
        comma = self.at
        if self.peek() == bracket:
            self.at += 1
            return True
        if self.peek() != ",":
            raise self.wrong(comma, f'found {self.here()}: expected "," or "{bracket}"{self.hint()}')
        self.step()
        if self.peek() == bracket:
            raise self.wrong(comma, f'a "," before the closing "{bracket}": remove it')
        return False

    def string(self) -> str:
        try:
            text, self.at = _STRINGS.raw_decode(self.text, self.at)
        except json.JSONDecodeError as failure:
            problem = next((ours for theirs, ours in _BAD_TEXT.items() if theirs in failure.msg), failure.msg)
            raise self.wrong(failure.pos, problem) from None
        return str(text)

    def number(self) -> int | float | bool | None:
        found = _NUMBER.match(self.text, self.at)
        if found is None:
            return self.word()
        end = found.end()
        if end - self.at > _LONGEST_NUMBER:
            raise self.wrong(self.at, f"a number of {end - self.at} characters: expected at most {_LONGEST_NUMBER}")
        if found[0] in ("0", "-0") and self.text[end : end + 1].isdigit():
            raise self.wrong(self.at, "a number must not begin with 0: remove the zero")
        self.at = end
        return int(found[0]) if found[1] is None and found[2] is None else float(found[0])

    def word(self) -> bool | None:
        found = _WORD.match(self.text, self.at)
        if found is None or found[0] not in _WORDS:
            raise self.wrong(self.at, f"found {self.here()}: expected a value{self.hint()}")
        self.at = found.end()
        return _WORDS[found[0]]

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def step(self) -> None:
        self.at += 1
        self.skip_space()

    def skip_space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = self.at if found is None else found.end()

    def place(self) -> tuple[int, int]:
        if self.where is not None:
            return self.where(self.at)
        newlines = self.text.count("\n", self.placed, self.at)
        if newlines:
            self.line += newlines
            self.line_start = self.text.rfind("\n", self.placed, self.at) + 1
        self.placed = self.at
        return self.line, self.at - self.line_start + 1

    def here(self) -> str:
        word = _WORD.match(self.text, self.at)
        found = self.peek() if word is None else word[0]
        if found == '"':
            return "a text in quotes"
        return quoted(found) if found else f"the end of the {self.whole}"

    def hint(self) -> str:
        rest = self.text[self.at : self.at + 9]
        if rest.startswith("'"):
            return " (JSON has no single quotes)"
        if rest.startswith(("//", "#", "/*")):
            return " (JSON has no comments)"
        if rest.startswith(("NaN", "Infinity", "-Infinity")):
            return " (JSON has no NaN and no Infinity)"
        if rest.startswith(("True", "False", "None")):
            return " (JSON writes true, false, null)"
        return ""

    def wrong(self, at: int, problem: str) -> InputError:
        place = _line_and_column(self.text, at) if self.where is None else self.where(at)
        return InputError(self.path, problem, *place)
