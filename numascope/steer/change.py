"""Which threads a plan would change: pure, from one report. The list of a dry run is the list that is done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.observe.facts import openmp_runtimes, rebinding
from numascope.review.change import Change, Fragile, LeftAlone, ProcessMark, Result, Selection
from numascope.review.report import Placement, RankView, Report, Verdict

__all__ = ["Change", "LeftAlone", "OldMain", "ProcessMark", "Result", "Selection", "select_changes"]

_WRONG: Final[frozenset[Verdict]] = frozenset({"escaped", "astray", "loose", "narrow"})
_MOST_EXAMPLES: Final = 4

_AS_PLANNED: Final = "as planned already"
_UNPLANNED: Final = "not in the plan; they keep their parent's set"
_WITHIN: Final = "not in the plan, on its main thread's CPUs already"
_INFERRED: Final = "role told by evidence, not by name: --inferred takes them"
_UNSEEN: Final = "its process could not be read"


class OldMain(NamedTuple):
    """The set that a process's main thread had before it was changed, and the one that it was given."""

    before: CpuSet
    after: CpuSet


def select_changes(
    report: Report,
    *,
    inferred: bool = False,
    everything: bool = False,
    old_mains: Mapping[tuple[int, int], OldMain] | None = None,
) -> Selection:
    """The threads of planned roles that are not in place, and those that share the old set of a main thread that moves.

    `old_mains` tells, by (pid, start of the process), of main threads that earlier passes have changed.
    """
    return _Selector(report, dict(old_mains or {}), inferred=inferred or everything, everything=everything).select()


class _Selector:
    """One report being sorted into changes and reasons."""

    def __init__(
        self, report: Report, old_mains: dict[tuple[int, int], OldMain], *, inferred: bool, everything: bool
    ) -> None:
        self.report = report
        self.inferred = inferred
        self.everything = everything
        self.old_mains = old_mains
        self.main_targets = _main_targets(report) if everything else {}
        self.changes: list[Change] = []
        self.left: dict[str, Counter[str]] = {}
        self.in_place = 0
        self.marks: dict[int, ProcessMark | None] = {}

    def select(self) -> Selection:
        for one in self.report.placements:
            if one.key.pid == one.key.tid and (mark := self.mark_of(one)) is not None and self.is_due(one):
                assert one.allowed is not None  # noqa: S101  (the verdict of a thread without a known set is `unknown`)
                assert one.target is not None  # noqa: S101  (… and without a target `unplanned`)
                self.old_mains[mark.pid, mark.starttime_ticks] = OldMain(one.allowed, one.target.cpus)
        for one in self.report.placements:
            self.sort(one)
        left = tuple(
            LeftAlone(sum(names.values()), reason, _examples(names)) for reason, names in _largest_first(self.left)
        )
        if self.in_place:
            left = (LeftAlone(self.in_place, _AS_PLANNED), *left)
        return Selection(tuple(self.changes), left, len(self.report.placements), self.fragile())

    def fragile(self) -> tuple[Fragile, ...]:
        """The processes on the list that bind their own threads."""
        processes = (self.report.sample.processes[pid] for pid in sorted({one.key.pid for one in self.changes}))
        return tuple(
            Fragile(one.pid, bound, runtimes[0])
            for one in processes
            if (bound := rebinding(one)) and (runtimes := openmp_runtimes(one))
        )

    def is_due(self, one: Placement) -> bool:
        """Whether the plan names the thread and it is not in place; a role that is not needed to find its target may be unknown."""
        named = self.inferred or one.role.confidence != "inferred"
        if not named or one.target is None or one.allowed is None or one.verdict not in _WRONG:
            return False
        # One that is within its target now, and is told only for where it was, needs nothing.
        return bool(one.target.cpus) and (one.verdict == "narrow" or not one.allowed <= one.target.cpus)

    def sort(self, one: Placement) -> None:
        mark = self.mark_of(one)
        if mark is None:
            self.leave(one, _UNSEEN)
        elif one.target is None:
            self.sort_unplanned(one, mark)
        elif self.is_due(one):
            self.change(one, mark, one.target.cpus, one.reason)
        elif one.verdict in _WRONG:
            self.leave(one, _INFERRED)
        elif one.verdict == "ok":
            self.in_place += 1
        else:
            self.leave(one, f"{one.verdict}: {one.reason}" if one.reason else one.verdict)

    def sort_unplanned(self, one: Placement, mark: ProcessMark) -> None:
        if one.allowed is None or one.verdict == "unknown":
            self.leave(one, f"unknown: {one.reason}" if one.reason else "unknown")
            return
        old = self.old_mains.get((mark.pid, mark.starttime_ticks))
        if old is not None and one.allowed == old.before and one.allowed != old.after:
            self.change(one, mark, old.after, "has its main thread's old set")
            return
        wanted = self.main_targets.get(one.rank) if one.rank is not None else None
        if wanted and not one.allowed <= wanted:
            self.change(one, mark, wanted, "not in the plan, taken by --all")
            return
        self.leave(one, _WITHIN if wanted else _UNPLANNED)

    def change(self, one: Placement, mark: ProcessMark, after: CpuSet, reason: str) -> None:
        before = one.allowed
        if before is None or before == after:
            self.in_place += 1
            return
        rank = "" if one.rank is None else _rank_name(self.report.ranks[one.rank])
        role, verdict = one.role.name, one.verdict
        self.changes.append(Change(one.key, one.comm, one.label, rank, role, before, after, verdict, reason, mark))

    def leave(self, one: Placement, reason: str) -> None:
        self.left.setdefault(reason, Counter())[one.label.rstrip("0123456789_ ") or one.label] += 1

    def mark_of(self, one: Placement) -> ProcessMark | None:
        pid = one.key.pid
        if pid not in self.marks:
            process = self.report.sample.processes.get(pid)
            self.marks[pid] = (
                None
                if process is None
                else ProcessMark(process.pid, process.starttime_ticks, process.cmdline, process.start_stack)
            )
        return self.marks[pid]


def _main_targets(report: Report) -> dict[int, CpuSet]:
    """Rank index → the target of the main thread of the rank's own process."""
    return {
        one.rank: one.target.cpus
        for one in report.placements
        if one.rank is not None and one.target is not None and one.key.tid == one.key.pid == report.ranks[one.rank].pid
    }


def _rank_name(rank: RankView) -> str:
    return rank.name if rank.device is None else f"{rank.name} d{rank.device}"


def _largest_first(left: Mapping[str, Counter[str]]) -> list[tuple[str, Counter[str]]]:
    return sorted(left.items(), key=lambda item: -sum(item[1].values()))


def _examples(names: Counter[str]) -> str:
    common = names.most_common(_MOST_EXAMPLES)
    rest = sum(names.values()) - sum(count for _, count in common)
    words = [f"{count} {name}" for name, count in common]
    return ", ".join([*words, f"{rest} more"] if rest else words)
