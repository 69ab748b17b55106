"""Where pages lie, also those of which move_pages(2) does not tell while NUMA balancing watches them: such a page is there, and not gone."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Final, Protocol

from numascope.host.page_entries import ABSENT, SHARED
from numascope.observe.residence import Asker

HIDDEN: Final = -4097
"""In place of a node: the page is in memory and does not say where. No error number is so large (MAX_ERRNO of include/linux/err.h)."""

RETRY_AFTER_S: Final = (0.1, 0.3, 0.6, 1.0, 1.0, 1.0)
"""When to try again what could not be seen: whatever touches a page ends its being watched. What is cold stays so."""

LEAST_TRIES: Final = 3
"""So many of these are waited for; then a try that moves nothing is the last."""


class States(Protocol):
    """What PageEntries can do."""

    def states_of(self, addresses: Sequence[int]) -> bytes:
        """ABSENT, SHARED or ALONE for the page at each address."""
        ...


class PagePlaces:
    """Asks as PageNodes does. What is in memory all the same is looked for by its frame, and is HIDDEN where that may not be known."""

    def __init__(self, asker: Asker, states: States, frames: Asker) -> None:
        """`frames` is what HiddenPages is."""
        self._asker = asker
        self._states = states
        self._frames = frames
        self.by_frame = 0
        """Pages that were found by their frames so far: the kernel does not move them as long as they are watched."""

    def ask(self, addresses: Sequence[int]) -> list[int]:
        """The node of each page; HIDDEN, or another negative number where none is in memory or it is the page of zeros. DeniedError, AbsentError."""
        nodes = self._asker.ask(addresses)
        untold = [at for at, node in enumerate(nodes) if node < 0]
        if not untold:
            return nodes
        states = self._states.states_of([addresses[at] for at in untold])
        there = [at for at, state in zip(untold, states, strict=True) if _is_memory(state, nodes[at])]
        if there:
            found = self._frames.ask([addresses[at] for at in there])
            for at, node in zip(there, found, strict=True):
                nodes[at] = node if node >= 0 else HIDDEN
            self.by_frame += sum(node >= 0 for node in found)
        return nodes

    def seen(self) -> PagePlaces:
        """The same without frames: a node is told of what the kernel sees, and so can move, by now."""
        return PagePlaces(self._asker, self._states, self._asker)


def _is_memory(state: int, answer: int) -> bool:
    """Nobody has the page of zeros alone, and the kernel's answer for it is another one than for a watched page (`do_pages_stat_array` of mm/migrate.c)."""
    return state != ABSENT and (state != SHARED or answer == -errno.ENOENT)
