"""What is wrong with the memory of ranks: a policy that is not the planned one, pages on other nodes. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.observe.interval import Interval
from numascope.plan.objects import Plan, Subject
from numascope.review.memory import SPILLED_SHARE
from numascope.review.report import Finding, MemoryView, RankView, Severity

REMOTE_SHARE: Final = 0.2
"""Without a plan for its memory a rank has more than that off its nodes, surely, before anything is said."""

_LITTLE_KIB: Final = 64 << 10
"""Less than that on other nodes is told as a note: what an interpreter touches while it starts, wherever it then starts."""

_NOT_FROM_OUTSIDE: Final = "the policy of a running process cannot be set from outside"


def memory_findings(ranks: Sequence[RankView], plan: Plan | None, machine: Machine) -> list[Finding]:
    """One finding a rank at most; on a machine with one node a policy makes no difference, and is a note."""
    is_one = sum(1 for node in machine.nodes if node.memory_kib != 0) < 2
    found = []
    for index, rank in enumerate(ranks):
        off = None if rank.memory is None else rank.memory.off
        if rank.memory_verdict == "unknown":
            found.append(_unknown(rank, index))
        elif rank.memory_verdict in ("unbound", "elsewhere"):
            found.append(_policy(rank, index, is_one=is_one))
        elif rank.memory is not None and off is not None:
            if rank.memory_verdict == "spilled":
                found.append(_spilled(rank, rank.memory, off, index))
            elif not rank.memory_verdict and _is_over(rank.memory, REMOTE_SHARE):
                found.append(_remote(rank, rank.memory, off, index, plan))
    return found


def _is_over(view: MemoryView, share: float) -> bool:
    """Whether surely more than that is off, files left out."""
    return view.off_own is not None and view.off_own.low > share


def _severity(view: MemoryView, off: Interval) -> Severity:
    """A note where it is little; of unknown size it is not."""
    return "info" if view.resident_kib is not None and view.resident_kib * off.share < _LITTLE_KIB else "warning"


def share_words(one: Interval) -> str:
    """`31.0 ±1.4` in per cent, the wider side of the interval; `31.0` where every page was counted."""
    half = max(one.high - one.share, one.share - one.low)
    return f"{100 * one.share:.1f}" + (f" ±{100 * half:.1f}" if half else "")


def place_words(view: MemoryView) -> str:
    """`31.0 ±1.4 % of 41.4 GiB off N3, 12.8 GiB on N2`; empty where the share is unknown, or nothing can be off."""
    if view.off is None:
        return ""
    off = f"{share_words(view.off)} % of {size_words(view.resident_kib)} off N{view.home}"
    away = view.away()[:2]
    return ", ".join([off, *(f"{size_words(kib)} on N{node}" for node, kib in away)])


def size_words(kib: int | None) -> str:
    """`41.4 GiB`, `310.2 MiB`; unknown is `?`."""
    if kib is None:
        return "?"
    return f"{kib / 2**20:.1f} GiB" if kib >= 1 << 20 else f"{kib / 2**10:.1f} MiB"


def how_words(view: MemoryView) -> str:
    """`1,280 of 1,280 random pages (PAGEMAP_SCAN)`, or by what all of it was counted."""
    share = view.seen.share
    if not share.pages_asked:
        return f"counted by {share.source}"
    which = "all" if math.isinf(share.total.worth) else f"{share.pages_resident:,} of {share.pages_asked:,} random"
    return f"{which} pages ({share.source})"


def _policy(rank: RankView, index: int, *, is_one: bool) -> Finding:
    """A policy that is not the planned one, and what came of it."""
    said = (
        f"policy {rank.policy}"
        if rank.memory_verdict == "elsewhere"
        else "default policy: its pages go where there is room"
    )
    place = "" if rank.memory is None else place_words(rank.memory)
    told = () if rank.memory is None or not place else (how_words(rank.memory), *rank.memory.why)
    is_far = rank.memory is not None and _is_over(rank.memory, SPILLED_SHARE)
    lasting = "start it under numactl --membind"
    beside = ("one memory node: no difference here",) if is_one else told
    return Finding(
        rule=rank.memory_verdict,
        severity="info" if is_one else "warning",
        subject=f"memory of {rank.name}",
        text="; ".join(filter(None, [said, f"planned {_nodes(rank.planned_nodes)}", place])),
        evidence="; ".join([rank.policy_source, *beside]),
        remedy=_move(rank.pid, rank.memory, lasting) if is_far else f"{_NOT_FROM_OUTSIDE}: {lasting}",
        rank=index,
    )


def _spilled(rank: RankView, view: MemoryView, off: Interval, index: int) -> Finding:
    """The policy is right, and pages lie elsewhere all the same."""
    return Finding(
        rule="spilled",
        severity=_severity(view, off),
        subject=rank.name,
        text=f"{place_words(view)}, though its policy is {rank.policy}",
        evidence="; ".join([how_words(view), *_own_words(view), *view.why]),
        remedy=_move(rank.pid, view),
        rank=index,
        weight=round(100 * off.share),
    )


def _remote(rank: RankView, view: MemoryView, off: Interval, index: int, plan: Plan | None) -> Finding:
    """Nothing is planned for its memory, and much of it is not where it runs."""
    subject = None if plan is None or rank.device is None else Subject(rank.device)
    lacks = plan is not None and plan.memory_mode != "none" and subject in plan.subjects()
    entry = [f"{plan.path} binds no memory of {subject}"] if plan is not None and lacks else []
    lasting = f"bind the memory of {subject} in the plan" if entry else f"start it under numactl --membind={view.home}"
    return Finding(
        rule="remote-memory",
        severity=_severity(view, off),
        subject=rank.name,
        text=place_words(view),
        evidence="; ".join([how_words(view), *_own_words(view), *entry, *view.why]),
        remedy=_move(rank.pid, view, lasting),
        rank=index,
        weight=round(100 * off.share),
    )


def _own_words(view: MemoryView) -> list[str]:
    """How much is off of what is no file, where that is another share."""
    return [] if view.off_own in (None, view.off) else [f"files left out {share_words(view.off_own)} %"]


def _move(pid: int, view: MemoryView | None, lasting: str = "") -> str:
    """The command that shows what could be moved to where it belongs, and what will hold."""
    home = "" if view is None else str(view.home)
    move = f"numascope apply --memory move {pid} --to {home} --dry-run"
    return f"{move}; lasting: {lasting}" if lasting else move


def _unknown(rank: RankView, index: int) -> Finding:
    return Finding(
        rule="unknown",
        severity="info",
        subject=f"memory of {rank.name}",
        text=f"policy unknown; planned {_nodes(rank.planned_nodes)}",
        evidence=rank.policy_source,
        remedy="run as the job's owner or as root to see it",
        rank=index,
    )


def _nodes(nodes: CpuSet) -> str:
    return f"node {nodes}" if len(nodes) == 1 else f"nodes {nodes or 'none'}"
