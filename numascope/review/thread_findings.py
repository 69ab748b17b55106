"""Verdicts become findings: threads of one rank with one verdict, target and mask are told together. Pure."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from numascope.machine.objects import Machine
from numascope.observe.sample import ProcessFacts
from numascope.review.causes import Around, Cause, around, causes
from numascope.review.report import Finding, Placement, RankView, Severity, Verdict

_TOLD: Final[tuple[Verdict, ...]] = ("blocked", "escaped", "astray", "loose", "narrow", "unknown")
UNTOLD: Final[frozenset[Verdict]] = frozenset({"pending", "unplanned", "ok"})
"""Verdicts of which no finding is made."""

_RANKED: Final[Mapping[Severity, int]] = {"error": 0, "warning": 1, "info": 2}


def thread_findings(
    placements: Sequence[Placement],
    ranks: Sequence[RankView],
    processes: Mapping[int, ProcessFacts],
    machine: Machine,
) -> list[Finding]:
    """One finding for each group of threads of a rank that are wrong in the same way."""
    groups: dict[tuple[object, ...], list[Placement]] = {}
    for one in placements:
        if one.verdict in _TOLD and one.severity is not None:
            target = None if one.target is None else one.target.cpus.bits
            allowed = None if one.allowed is None else one.allowed.bits
            groups.setdefault((one.verdict, one.rank, target, allowed), []).append(one)
    there = around(placements, ranks, processes, machine) if groups else None
    return [] if there is None else [_finding(members, ranks, there) for members in groups.values()]


def _weight(one: Placement) -> tuple[object, ...]:
    """Worst first: severity, then time outside, then how busy it is."""
    return (_RANKED[one.severity or "info"], -one.outside.min_ns, -one.outside.max_ns, -(one.busy or 0.0), one.key)


def _finding(
    members: list[Placement],
    ranks: Sequence[RankView],
    there: Around,
) -> Finding:
    members = sorted(members, key=_weight)
    worst = members[0]
    hints = causes(worst, there)
    owner = "" if worst.rank is None else f"{ranks[worst.rank].name} "
    more = "" if len(members) == 1 else f" and {len(members) - 1} more"
    return Finding(
        rule=worst.verdict,
        severity=worst.severity or "info",
        subject=f"{owner}{worst.label} {worst.key.tid}{more}",
        text=_text(worst),
        evidence=_evidence(worst, members, hints, there.machine),
        remedy=_remedy(worst, members, ranks, hints),
        keys=tuple(one.key for one in members),
        rank=worst.rank,
        weight=sum(one.outside.max_ns for one in members),
    )


def outside_text(placement: Placement) -> str:
    """The CPU time outside as bounds: exact, a range, up to, or none seen; in s from a tenth of a second on, else in ms."""
    low_ns, high_ns = placement.outside.min_ns, placement.outside.max_ns
    if high_ns == 0:
        return "0 ms"
    unit, scale, decimals = ("s", 1e9, 2) if high_ns >= 100_000_000 else ("ms", 1e6, 0)
    low, high = f"{low_ns / scale:.{decimals}f}", f"{high_ns / scale:.{decimals}f}"
    if float(high) == 0:
        return f"<1 {unit}"
    if low == high:
        return f"{high} {unit}"
    return f"≤{high} {unit}" if float(low) == 0 else f"{low}-{high} {unit}"


def _text(one: Placement) -> str:
    planned = "?" if one.target is None else str(one.target.cpus)
    if one.verdict == "escaped":
        where = one.outside.cpu if one.outside.cpu is not None else one.cpu
        node = "" if one.node is None else f" (N{one.node})"
        return f"ran {outside_text(one)} outside, last on CPU {where}{node}; planned {planned}"
    if one.verdict == "astray":
        return f"may run on {one.allowed} only; planned {planned}"
    if one.verdict == "loose":
        return f"may run on {one.allowed}; planned {planned}"
    if one.verdict == "narrow":
        return f"may use {one.allowed} only, of planned {planned}"
    return one.reason


def _evidence(one: Placement, members: Sequence[Placement], hints: Sequence[Cause], machine: Machine) -> str:
    parts = [_roles(members)]
    if one.target is not None:
        parts.append(f"{one.target.why}, {one.target.place}")
    if one.verdict == "escaped" and one.target is not None:
        parts.append(f"allowed {one.allowed}, seen outside in {one.outside.seen} of {one.outside.samples} samples")
        parts.append(_distance(one, machine))
    elif one.reason and one.verdict != "blocked":
        parts.append(one.reason)
    parts += [hint.text for hint in hints]
    if one.wait_ms_per_s is not None and one.wait_ms_per_s >= 50:
        parts.append(f"waits {one.wait_ms_per_s:.0f} ms/s")
    return "; ".join(part for part in parts if part)


def _distance(one: Placement, machine: Machine) -> str:
    """How far the thread ran from its plan, where the firmware says so."""
    if one.target is None or one.node is None or not one.target.cpus:
        return ""
    home = machine.node_of.get(one.target.cpus.first)
    if home is None or home == one.node:
        return ""
    distance = machine.distance(home, one.node)
    return f"distance N{home} to N{one.node} {'unknown' if distance is None else distance}"


def _remedy(one: Placement, members: Sequence[Placement], ranks: Sequence[RankView], hints: Sequence[Cause]) -> str:
    if one.target is None:
        return "run as the same user or as root to see more"
    if one.verdict == "blocked":
        return "bring the CPUs online, widen the cpuset, or plan other CPUs"
    lasting = next((hint.lasting for hint in hints if hint.lasting), "")
    return _apply(one, members, ranks) + (f"; lasting: {lasting}" if lasting else "")


def _apply(one: Placement, members: Sequence[Placement], ranks: Sequence[RankView]) -> str:
    """The command that puts them back: for their rank alone, as the device that the plan knows it by."""
    assert one.target is not None  # noqa: S101  (the caller tells of the others)
    view = None if one.rank is None else ranks[one.rank]
    whom = f"{one.key.pid}=scheduler" if view is None else f"{view.pid}=device{view.device}"
    inferred = " --inferred" if all(member.role.confidence == "inferred" for member in members) else ""
    return f"numascope apply {shlex.quote(one.target.place.path)} {whom}{inferred}"


def _roles(members: Sequence[Placement]) -> str:
    """Which roles these threads have and how sure that is: `runtime, named`, or `4 comm, main (named)`."""
    if len(members) == 1:
        return f"{members[0].role.name}, {members[0].role.confidence}"
    counts = Counter(one.role.name for one in members)
    sure = sorted({one.role.confidence for one in members})
    names = ", ".join(name if count == 1 else f"{count} {name}" for name, count in counts.most_common())
    return f"{names} ({', '.join(sure)})"


def worst_first(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """By severity, then by rule: starved before escaped before the rest; within a rule by time outside, then by rank."""
    rules = ("starved", "blocked", "escaped", "astray", "narrow", "loose", "collapsed", "crowded", "shared")
    order = {rule: at for at, rule in enumerate(rules)}
    return tuple(
        sorted(
            findings,
            key=lambda one: (_RANKED[one.severity], order.get(one.rule, len(rules)), -one.weight, one.rank or 0),
        )
    )
