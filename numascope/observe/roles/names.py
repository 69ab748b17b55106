"""Tables of thread names: the start of a name tells the role; the longest start that fits holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from numascope.host.text import safe_text

COMM_BYTES: Final = 15
"""The kernel keeps 15 bytes of a thread's name and a zero (TASK_COMM_LEN in include/linux/sched.h)."""


EVERYWHERE: Final = "names"
"""The section of a user's names that hold in every process."""


class Name(NamedTuple):
    """The start of a thread's name as its framework sets it, which the kernel may cut; its role, and who sets it."""

    start: str
    role: str
    source: str

    @property
    def seen(self) -> str:
        """What is left of the start in the kernel, 15 bytes, as a name is shown."""
        return safe_text(self.start.encode()[:COMM_BYTES].decode(errors="ignore"))


class NameTable:
    """Looks names up in one step a length of start, however many rows there are; of equal starts the first row holds."""

    def __init__(self, names: Iterable[Name]) -> None:
        self._names: dict[str, Name] = {}
        for one in names:
            self._names.setdefault(one.seen, one)
        self._lengths = sorted({len(start) for start in self._names}, reverse=True)

    def find(self, comm: str) -> Name | None:
        """The row of the longest start that a name has; None where no row fits."""
        for length in self._lengths:
            found = self._names.get(comm[:length])
            if found is not None:
                return found
        return None


class OwnNames:
    """A user's names by section, a framework or EVERYWHERE, ready to be looked up for each framework."""

    def __init__(self, sections: Mapping[str, Iterable[Name]]) -> None:
        self._sections = {section: tuple(names) for section, names in sections.items()}
        self._tables: dict[str, NameTable] = {}

    @property
    def rows(self) -> dict[str, list[tuple[str, str]]]:
        """Section → start and role of each name, as a recording keeps them."""
        return {section: [(one.start, one.role) for one in names] for section, names in self._sections.items()}

    def table(self, framework: str) -> NameTable:
        """The names that hold in processes of a framework."""
        found = self._tables.get(framework)
        if found is None:
            names = (*self._sections.get(framework, ()), *self._sections.get(EVERYWHERE, ()))
            found = self._tables[framework] = NameTable(names)
        return found
