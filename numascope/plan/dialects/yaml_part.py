"""The part of a YAML file below one key, with lines and columns: block and flow mappings, lists, plain and quoted scalars.

What a bind setting needs of YAML 1.2 and no more: an anchor, a tag or a text over several lines is an error and not a guess.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from numascope.errors import InputError
from numascope.plan.positions import DEEPEST_NESTING, MOST_VALUES, Entry, Value, quoted

_KEY = re.compile(r"""(?P<key>"[^"\n]*"|'[^'\n]*'|[^\s'"#,\[\]{}&*!|>%@`:-][^:#\n]*?)\s*:(?=\s|$)\s*""")
_SCALAR = re.compile(r"""\s*("(?:[^"\\\n]|\\.)*"|'(?:[^'\n]|'')*'|[^,\[\]{}#\n]+)""")
_FLOW_KEY = re.compile(r"""\s*("[^"\n]*"|'[^'\n]*'|[^\s'",\[\]{}#:]+)\s*:\s*""")
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_WORDS: Final = {"true": True, "false": False, "null": None, "~": None, "": None}


class _Line(NamedTuple):
    number: int
    indent: int
    text: str


def find_key(text: str, key: str) -> int | None:
    """The number of the first line (from 1) that begins with this key of a block mapping; None where there is none."""
    found = re.search(rf"^[ ]*{re.escape(key)}[ ]*:(?=\s|$)", text, re.MULTILINE)
    return None if found is None else text.count("\n", 0, found.start()) + 1


def read_below(path: str, text: str, key: str) -> Value | None:
    """The value of that key, None where the text has no such key; InputError."""
    number = find_key(text, key)
    if number is None:
        return None
    lines = _lines(path, text, number)
    reader = _Reader(path, lines)
    first = lines[0]
    matched = _KEY.match(first.text)
    if matched is None:
        raise InputError(path, f"{quoted(first.text)}: expected {key}: and its value", number, first.indent + 1)
    return reader.after_key(first, matched.end())


def _lines(path: str, text: str, number: int) -> list[_Line]:
    """The line of the key and those that belong to it: comments left out, until one is not indented deeper."""
    found: list[_Line] = []
    for at, raw in enumerate(text.split("\n")[number - 1 :], number):
        stripped = raw.lstrip(" ")
        indent = len(raw) - len(stripped)
        if not stripped.strip() or stripped.startswith("#"):
            continue
        if stripped.startswith("\t"):
            raise InputError(path, "a tab indents this line: YAML takes spaces only", at, indent + 1)
        if found and indent <= found[0].indent and not stripped.startswith(("]", "}")):
            break
        found.append(_Line(at, indent, stripped.rstrip()))
        if len(found) > MOST_VALUES:
            raise InputError(path, f"more than {MOST_VALUES} lines, far too many for a bind plan", at, 1)
    return found


class _Reader:
    """Reads lines one after another; `at` is the next one."""

    def __init__(self, path: str, lines: Sequence[_Line]) -> None:
        self.path, self.lines, self.at = path, lines, 0

    def wrong(self, line: int, column: int, problem: str) -> InputError:
        return InputError(self.path, problem, line, column)

    def after_key(self, line: _Line, start: int, depth: int = 1) -> Value:
        """What stands behind a key on its line, or is indented below it."""
        if depth > DEEPEST_NESTING:
            raise self.wrong(
                line.number, 1, f"nested deeper than {DEEPEST_NESTING} levels, far too deep for a bind plan"
            )
        self.at += 1
        rest = line.text[start:]
        if rest and not rest.startswith("#"):
            return self.flow(_Line(line.number, line.indent + start, rest))
        if self.at < len(self.lines) and self.lines[self.at].indent > line.indent:
            return self.block(depth + 1)
        if (
            self.at < len(self.lines)
            and self.lines[self.at].text.startswith("- ")
            and self.lines[self.at].indent == line.indent
        ):
            return self.block(depth + 1)
        return Value(None, line.number, line.indent + 1)

    def block(self, depth: int) -> Value:
        """The mapping or list whose first line is next."""
        first = self.lines[self.at]
        if first.text.startswith("- ") or first.text == "-":
            return self.items(first)
        entries: dict[str, Entry] = {}
        while self.at < len(self.lines) and self.lines[self.at].indent >= first.indent:
            line = self.lines[self.at]
            matched = _KEY.match(line.text)
            if matched is None or line.indent != first.indent:
                raise self.wrong(
                    line.number,
                    line.indent + 1,
                    f"{quoted(line.text)}: expected a key, indented as in line {first.number}",
                )
            key = matched["key"].strip("'\"")
            if key in entries:
                raise self.wrong(
                    line.number,
                    line.indent + 1,
                    f"the key {quoted(key)} is there twice, first in line {entries[key].line}: keep one",
                )
            entries[key] = Entry(line.number, line.indent + 1, self.after_key(line, matched.end(), depth))
        return Value(entries, first.number, first.indent + 1)

    def items(self, first: _Line) -> Value:
        """A block list, of scalars and flow values."""
        values: list[Value] = []
        while self.at < len(self.lines) and self.lines[self.at].indent == first.indent:
            line = self.lines[self.at]
            if not line.text.startswith("- "):
                break
            self.at += 1
            text = line.text[2:].lstrip()
            values.append(self.flow(_Line(line.number, line.indent + len(line.text) - len(text), text)))
        return Value(tuple(values), first.number, first.indent + 1)

    def flow(self, line: _Line) -> Value:
        """A scalar, or a flow list or mapping, which may go on over several lines."""
        text, at = line.text, line.number
        while text[:1] in "[{" and text.count("[") + text.count("{") > text.count("]") + text.count("}"):
            if self.at == len(self.lines):
                raise self.wrong(line.number, line.indent + 1, 'a "[" or "{" is not closed')
            following = self.lines[self.at]
            text, at = f"{text} {following.text}", following.number
            self.at += 1
        flow = _Flow(self, Value(None, line.number, line.indent + 1), text, is_one_line=at == line.number)
        value = flow.value(1)
        rest = text[flow.at :].strip()
        if rest and not rest.startswith("#"):
            raise flow.wrong(f"found {quoted(rest)} behind the value")
        return value


class _Flow:
    """One flow value; its columns are right where it stands on one line, else those of its beginning."""

    def __init__(self, reader: _Reader, start: Value, text: str, *, is_one_line: bool) -> None:
        self.reader, self.start, self.text, self.is_one_line = reader, start, text, is_one_line
        self.at = 0

    def here(self) -> tuple[int, int]:
        return self.start.line, self.start.column + (self.at if self.is_one_line else 0)

    def wrong(self, problem: str) -> InputError:
        return self.reader.wrong(*self.here(), problem)

    def skip(self) -> str:
        while self.text[self.at : self.at + 1] == " ":
            self.at += 1
        return self.text[self.at : self.at + 1]

    def value(self, depth: int) -> Value:
        if depth > DEEPEST_NESTING:
            raise self.wrong(f"nested deeper than {DEEPEST_NESTING} levels, far too deep for a bind plan")
        first = self.skip()
        line, column = self.here()
        if first == "[":
            return Value(self.list(depth), line, column)
        if first == "{":
            return Value(self.mapping(depth), line, column)
        return Value(self.scalar(), line, column)

    def ends(self, bracket: str) -> bool:
        """Steps over the closing bracket (True) or over a comma (False)."""
        found = self.skip()
        if found not in (bracket, ",") or not found:
            raise self.wrong(f'found {quoted(self.text[self.at : self.at + 20])}: expected "," or "{bracket}"')
        self.at += 1
        if found == "," and self.skip() == bracket:
            self.at += 1
            return True
        return found == bracket

    def list(self, depth: int) -> tuple[Value, ...]:
        values: list[Value] = []
        self.at += 1
        if self.skip() == "]":
            self.at += 1
            return ()
        while True:
            values.append(self.value(depth + 1))
            if self.ends("]"):
                return tuple(values)

    def mapping(self, depth: int) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        self.at += 1
        if self.skip() == "}":
            self.at += 1
            return entries
        while True:
            self.skip()
            line, column = self.here()
            matched = _FLOW_KEY.match(self.text, self.at)
            if matched is None or matched[1].strip("'\"") in entries:
                raise self.wrong(
                    f"found {quoted(self.text[self.at : self.at + 20])}: expected a key that is not there yet"
                )
            self.at = matched.end()
            entries[matched[1].strip("'\"")] = Entry(line, column, self.value(depth + 1))
            if self.ends("}"):
                return entries

    def scalar(self) -> str | int | bool | None:
        found = _SCALAR.match(self.text, self.at)
        if found is None:
            raise self.wrong(f"found {quoted(self.text[self.at : self.at + 20])}: expected a value")
        self.at = found.end()
        text = found[1].strip()
        if text[:1] in ("'", '"'):
            return text[1:-1]
        if text[:1] in ("&", "*", "!", "|", ">"):
            raise self.wrong(f"{quoted(text)}: numascope reads no anchors, tags and long texts, write the value itself")
        if _NUMBER.fullmatch(text):
            return int(text)
        return _WORDS.get(text.lower(), text)
