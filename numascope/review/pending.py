"""What a young rank's framework has yet to bind: modules, and main where no prefix of msrun binds it.

MindSpore binds its modules after the ranks started: at an actor set's fifth run, and when a pipeline starts.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from numascope.cpuset import CpuSet
from numascope.observe.sample import Sample, ThreadKey
from numascope.plan.dialects.mindspore import LATER_MODULES
from numascope.review.cast import Cast, Part

_MAIN: Final = "main"
"""Bound at the first run of a graph, but for a rank that msrun starts with its file, by a prefix (mindspore/runtime/executor.py)."""

_BY_PREFIX: Final = "MSRUN_BIND_FILE"

Module = tuple[int | None, str]
"""A rank's place in the report, and one of its modules."""


class Pending:
    """Which modules are yet to be bound, one sample after another; what was bound once is not pending again."""

    def __init__(self, pending_for_s: float) -> None:
        self._pending_for_s = pending_for_s
        self._bound: set[tuple[ThreadKey, str]] = set()
        """(rank's main thread, module) that were seen bound: what is on main's set after that was reset."""

    def forget(self, alive: Container[ThreadKey]) -> None:
        """Ranks whose main thread has ended."""
        self._bound = {(main, role) for main, role in self._bound if main in alive}

    def modules(self, sample: Sample, cast: Cast) -> frozenset[Module]:
        """The modules of young ranks that nobody has bound yet: all of their threads still have the set of main or of who started them."""
        young = {
            one.rank.pid: one.index
            for one in cast.ranks
            if one.framework == "mindspore" and self._is_young(sample, one.rank.pid)
        }
        if not young:
            return frozenset()
        threads = sample.threads
        mains: dict[int | None, int] = {
            young[key.pid]: row for row, key in enumerate(threads.keys) if key.tid == key.pid and key.pid in young
        }
        waiting = {(rank, _MAIN) for rank, row in mains.items() if self._may_be_bound(sample, row, cast.parts[row])}
        # A rank whose main thread left the set of its prefix was bound anew from outside: nothing is left to wait for.
        unmoved = {
            rank: row
            for rank, row in mains.items()
            if (rank, _MAIN) in waiting or _is_within(cast.parts[row], threads.allowed[row])
        }
        rows = [
            (row, part, unmoved[part.rank])
            for row, part in enumerate(cast.parts)
            if part.rank in unmoved and part.role.name in LATER_MODULES and part.target is not None
        ]
        held = {(part.rank, part.role.name, threads.allowed[row]) for row, part, _ in rows}
        for row, part, main in rows:
            allowed = threads.allowed[row]
            if allowed == threads.allowed[main] or _is_inherited(part, allowed, held):
                waiting.add((part.rank, part.role.name))
            else:
                self._bound.add((threads.keys[main], part.role.name))
        return frozenset((rank, role) for rank, role in waiting if not self._was_bound(threads.keys[mains[rank]], role))

    def _may_be_bound(self, sample: Sample, row: int, part: Part) -> bool:
        """Whether main still has more than what it will be bound to, and no prefix gave it that."""
        key, allowed = sample.threads.keys[row], sample.threads.allowed[row]
        process = sample.processes.get(key.pid)
        if part.target is None or allowed is None or process is None or process.environ is None:
            return False
        if allowed <= part.target.cpus:
            self._bound.add((key, _MAIN))
            return False
        return _BY_PREFIX not in process.environ and _reaches(allowed, part.target.cpus)

    def _was_bound(self, main: ThreadKey, role: str) -> bool:
        """Runtime comes after main: where that is bound, main's moment is past."""
        return (main, role) in self._bound or (role == _MAIN and (main, "runtime") in self._bound)

    def _is_young(self, sample: Sample, pid: int) -> bool:
        process = sample.processes.get(pid)
        return (
            process is not None
            and process.started_s is not None
            and sample.wall_s - process.started_s < self._pending_for_s
        )


def _is_inherited(part: Part, allowed: CpuSet | None, held: Container[tuple[int | None, str, CpuSet | None]]) -> bool:
    """Whether a thread that is off its target has what another module's thread has: in PyNative mode a bound queue starts the actors."""
    if part.target is None or allowed is None or allowed <= part.target.judged_by(allowed):
        return False
    return any((part.rank, other, allowed) in held for other in LATER_MODULES - {part.role.name})


def _reaches(allowed: CpuSet, target: CpuSet) -> bool:
    """Whether it has the whole target and more, as what nobody bound has."""
    return bool(target) and target <= allowed


def _is_within(part: Part, allowed: CpuSet | None) -> bool:
    """Whether a main thread has what its launcher gave it, or is not planned."""
    return part.target is None or (allowed is not None and allowed <= part.target.cpus)
