"""What a look at the memory of a rank found, as samples keep it: where it lies, and the policies of its threads in sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from numascope.observe.share import MemoryShare

MOST_TIDS: Final = 6
"""Threads of one policy that are named; the rest is counted."""

MOST_POLICIES: Final = 32


class PolicyGroup(NamedTuple):
    """Threads of one memory policy: how many, and the first of them; policy None: it may not be read, or they were gone."""

    policy: str | None
    threads: int
    tids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SeenMemory:
    """One look at one process; `looked_ns` is by the clock of the samples."""

    starttime_ticks: int
    looked_ns: int
    share: MemoryShare
    policies: tuple[PolicyGroup, ...] = ()
    """The main thread's first; none where they were not looked at, as on a machine with one node."""

    @property
    def policy(self) -> str | None:
        """The policy of the main thread."""
        return self.policies[0].policy if self.policies else None


def grouped(policies: Mapping[int, str | None], main_tid: int) -> tuple[PolicyGroup, ...]:
    """The policies of threads in sum, the main thread's first, then by the lowest tid; at most 32 different ones."""
    if not policies:
        return ()
    groups: dict[str | None, list[int]] = {policies.get(main_tid): []}
    for tid, policy in sorted(policies.items()):
        groups.setdefault(policy, []).append(tid)
    found = [PolicyGroup(policy, len(tids), tuple(tids[:MOST_TIDS])) for policy, tids in groups.items() if tids]
    return tuple(found[:MOST_POLICIES])
