"""What a reader found odd in a plan, as values: where, in words, and what kind of oddity it is; and the kinds that readers share."""

from __future__ import annotations

from typing import Final

from numascope.plan.objects import Note, NoteKind, Place

MOST_NOTES: Final = 50


class Notes:
    """The notes on one file in the order of reading, of which at most `MOST_NOTES` are kept."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._kept: list[Note] = []
        self._left_out = 0

    def add(self, place: Place, kind: NoteKind, text: str) -> None:
        """Keeps a note; beyond the fiftieth they are counted."""
        if len(self._kept) < MOST_NOTES:
            self._kept.append(Note(place, text, kind))
        else:
            self._left_out += 1

    def all(self) -> tuple[Note, ...]:
        """The notes; the last one counts those that were left out."""
        if not self._left_out:
            return tuple(self._kept)
        return (*self._kept, Note(self.path, f"{self._left_out} more notes, left out here", _MORE))


_MORE: Final = NoteKind("reading", "info", "mend the first ones, and check again")

UNKNOWN_NAME: Final = NoteKind("unknown-key", "warning", "mend its name, or remove it: it is ignored")

IDS_NOT_USABLE: Final = NoteKind(
    "reading", "warning", "plan CPUs and nodes that are there and allowed",
    told_by=("cpu-", "node-", "mem-", "numactl-refuses"),
)  # fmt: skip

BACKWARDS_TO_NUMACTL: Final = NoteKind("reading", "warning", "write the smaller number first")
"""numactl starts, with the first number of the range alone (numactl 2.0.16)."""
