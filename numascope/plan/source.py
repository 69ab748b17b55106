"""A plan's file while it is read: errors and notes that name a place in it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Final

from numascope.errors import InputError
from numascope.plan.objects import Place
from numascope.plan.positions import Entry, Value

MOST_NOTES: Final = 50
_LONGEST_NAME = 40


class Source:
    """The path of a plan and the notes gathered so far, of which at most `MOST_NOTES` are kept."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._notes: list[str] = []
        self._left_out = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes in the order of reading; the last one counts those that were left out."""
        if not self._left_out:
            return tuple(self._notes)
        return (*self._notes, f"{self.path}: {self._left_out} more notes, left out here")

    def place(self, where: Value | Entry) -> Place:
        """The place of a value, or of a key."""
        return Place(self.path, where.line, where.column)

    def wrong(self, where: Value | Entry, problem: str) -> InputError:
        """The error to raise for a value, or for a key."""
        return InputError(self.path, problem, where.line, where.column)

    def note(self, where: Value | Entry, text: str, name: str = "", known: Sequence[str] = ()) -> None:
        """Keeps a note on a value or a key, with the known name nearest to `name` as a guess."""
        if len(self._notes) >= MOST_NOTES:
            self._left_out += 1
            return
        self._notes.append(f"{self.place(where)}: {text}{nearest(name, known)}")


def nearest(name: str, known: Sequence[str]) -> str:
    """`, did you mean "main"` where a known name is like this one, else nothing."""
    if not known or len(name) > _LONGEST_NAME:
        return ""
    found = difflib.get_close_matches(name.lower(), known, n=1)
    return f', did you mean "{found[0]}"' if found else ""
