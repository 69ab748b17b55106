"""What a thread does beside using CPU time: how it is scheduled, switched and moved, and when its mask changed. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.host.parse_sched import Scheduling
from numascope.machine.objects import Machine
from numascope.observe.rates import difference
from numascope.observe.sample import Threads

MOST_MASK_CHANGES: Final = 8
"""So many changes of a thread's mask are remembered, the last ones."""


class Moves(NamedTuple):
    """How often a thread was seen on another CPU than at the look before, by how far: under the same L3, another L3, another node."""

    core: int = 0
    l3: int = 0
    node: int = 0

    @property
    def total(self) -> int:
        """All that were seen: the kernel's own count is higher where a thread moves more than once between two looks."""
        return sum(self)


class MaskChange(NamedTuple):
    """A thread's mask was another one than at the look before, whose wall-clock time is `since_s`; None is unknown."""

    since_s: float
    by_s: float
    before: CpuSet | None
    after: CpuSet | None


class Activity(NamedTuple):
    """Rates are per second over the last interval; None: unknown, or of a thread that was seen only once."""

    scheduling: Scheduling | None = None
    voluntary_per_s: float | None = None
    involuntary_per_s: float | None = None
    numa_faults_per_s: float | None = None
    numa_moved_per_s: float | None = None
    """Pages that NUMA balancing moved for it."""
    preferred_node: int | None = None
    """Where NUMA balancing would have it; None: nowhere in particular, or unknown."""
    moves: Moves = Moves()
    """Since it was first seen."""
    mask_changes: tuple[MaskChange, ...] = ()


IDLE: Final = Activity()


class Spots:
    """Where each CPU of a machine lies: its L3 and its node, as numbers that are equal where these are the same."""

    def __init__(self, machine: Machine) -> None:
        self._node_of: Mapping[int, int] = machine.node_of
        self._l3_of = {
            cpu: index for index, cache in enumerate(machine.caches) if cache.level == 3 for cpu in cache.cpus
        }

    def moved(self, moves: Moves, before: int | None, after: int | None) -> Moves:
        """With one more move, where these are two CPUs."""
        if before is None or after is None or before == after:
            return moves
        if self._node_of.get(before) != self._node_of.get(after):
            return moves._replace(node=moves.node + 1)
        if self._l3_of.get(before) != self._l3_of.get(after):
            return moves._replace(l3=moves.l3 + 1)
        return moves._replace(core=moves.core + 1)


class Kept(NamedTuple):
    """What is remembered of a thread for its activity."""

    moves: Moves = Moves()
    mask_changes: tuple[MaskChange, ...] = ()


def remembered(kept: Kept, change: MaskChange) -> Kept:
    """With one more change of the mask; the oldest are forgotten."""
    return kept._replace(mask_changes=(*kept.mask_changes, change)[-MOST_MASK_CHANGES:])


def activity_between(
    then: Threads | None, at: int | None, now: Threads, row: int, interval_s: float | None, kept: Kept
) -> Activity:
    """Of the thread in `row` now, which was in row `at` then."""
    counters = now.counters[row]
    preferred = None if counters.preferred_node is None or counters.preferred_node < 0 else counters.preferred_node
    if then is None or at is None or not interval_s:
        return Activity(now.scheduling[row], preferred_node=preferred, moves=kept.moves, mask_changes=kept.mask_changes)
    old, length_s = then.counters[at], interval_s

    def rate(before: int | None, after: int | None) -> float | None:
        grown = difference(before, after)
        return None if grown is None else grown / length_s

    return Activity(
        now.scheduling[row],
        rate(old.voluntary, counters.voluntary),
        rate(old.involuntary, counters.involuntary),
        rate(old.numa_faults, counters.numa_faults),
        rate(old.numa_pages_moved, counters.numa_pages_moved),
        preferred,
        kept.moves,
        kept.mask_changes,
    )
