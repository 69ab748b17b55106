"""A plan's file while it is read: errors and notes that name a place in it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from numascope.errors import InputError
from numascope.plan.json_reader import Entry, Value
from numascope.plan.notes import Notes
from numascope.plan.objects import Note, NoteKind, Place

_LONGEST_NAME = 40


class Source:
    """The path of a plan and the notes gathered so far."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._notes = Notes(path)

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes in the order of reading; the last one counts those that were left out."""
        return self._notes.all()

    def place(self, where: Value | Entry) -> Place:
        """The place of a value, or of a key."""
        return Place(self.path, where.line, where.column)

    def wrong(self, where: Value | Entry, problem: str) -> InputError:
        """The error to raise for a value, or for a key."""
        return InputError(self.path, problem, where.line, where.column)

    def note(self, where: Value | Entry, kind: NoteKind, text: str, name: str = "", known: Sequence[str] = ()) -> None:
        """Keeps a note on a value or a key, with the known name nearest to `name` as a guess."""
        self.note_at(self.place(where), kind, f"{text}{nearest(name, known)}")

    def note_at(self, place: Place, kind: NoteKind, text: str) -> None:
        """Keeps a note on a place in the file."""
        self._notes.add(place, kind, text)


def nearest(name: str, known: Sequence[str]) -> str:
    """`, did you mean "main"` where a known name is like this one, else nothing."""
    if not known or len(name) > _LONGEST_NAME:
        return ""
    found = difflib.get_close_matches(name.lower(), known, n=1)
    return f', did you mean "{found[0]}"' if found else ""
