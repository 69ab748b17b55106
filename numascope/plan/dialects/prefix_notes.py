"""The kinds of notes on lines that begin with numactl or taskset."""

from __future__ import annotations

from typing import Final

from numascope.plan.objects import NoteKind

DEVICE_BY_PLACE: Final = NoteKind(
    "reading", "info", "write the number out, where the order of the lines is not the devices'"
)
ONE_LINE_FOR_ALL_RANKS: Final = NoteKind(
    "reading", "info", "bind each rank where they should not share: torchrun --numa-binding"
)
BESIDE_LAUNCHER: Final = NoteKind("reading", "warning", "bind by one of the two alone, or check the other by itself")
ONLY_LAST_HOLDS: Final = NoteKind("reading", "warning", "keep the one that is meant")
READ_AS_OCTAL: Final = NoteKind("reading", "warning", "write numbers without zeros before them")
RELATIVE_TO_CPUSET: Final = NoteKind(
    "reading", "info", "nothing to do where the job has this cpuset: else check with --allowed"
)
