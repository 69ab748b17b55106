"""What is known of a thread and its process beside verdict and place: switches, moves, changes of its mask, cgroup, pressure."""

from __future__ import annotations

import time
from collections.abc import Iterator

from numascope.observe.facts import rebinding
from numascope.review.activity import Activity, MaskChange
from numascope.review.report import CgroupRates, Placement, Report
from numascope.show.canvas import fitted
from numascope.show.glyphs import FRAME
from numascope.show.ink import Line, Span


def activity_lines(report: Report, placement: Placement, width: int) -> Iterator[Line]:
    """The most telling first: a mask that changed, how it is switched, its process."""
    activity = placement.activity
    if activity.mask_changes:
        yield fitted([Span(" mask    ", "dim"), Span(_mask_words(activity.mask_changes), "warn")], width)
    if activity.scheduling is not None:
        yield fitted([Span(" sched   ", "dim"), Span(switch_words(activity, has_l3=_has_l3(report)))], width)
    words = process_words(report, placement.key.pid)
    if words:
        yield fitted([Span(" process ", "dim"), Span(words)], width)


def _has_l3(report: Report) -> bool:
    return any(cache.level == 3 for cache in report.machine.caches)


def _mask_words(changes: tuple[MaskChange, ...]) -> str:
    last = changes[-1]
    earlier = len(changes) - 1
    more = f", {earlier} change{'' if earlier == 1 else 's'} before that" if earlier else ""
    at = time.strftime("%H:%M:%S", time.localtime(last.by_s))
    return f"{_set(last.before)} {FRAME['change'][0]} {_set(last.after)} by {at}{more}"


def _set(cpus: object) -> str:
    return "?" if cpus is None else str(cpus) or "none"


def switch_words(activity: Activity, *, has_l3: bool = True) -> str:
    """`other; gave its CPU up 12/s, lost it 3/s; seen to move 10 under its L3, 2 to another L3, 1 to another node`.

    Where the machine tells of no L3 (`has_l3`), a move is one within a node or to another.
    """
    parts = [str(activity.scheduling or "?")]
    own, forced = (_rate(one) for one in (activity.voluntary_per_s, activity.involuntary_per_s))
    parts.append(f"gave its CPU up {own}, lost it {forced}")
    moves = activity.moves
    if moves.total:
        places = (
            (moves.core, "under its L3" if has_l3 else "within its node"),
            (moves.l3, "to another L3"),
            (moves.node, "to another node"),
        )
        parts.append("seen to move " + ", ".join(f"{count} {where}" for count, where in places if count))
    if activity.numa_faults_per_s or activity.numa_moved_per_s:
        moved = _rate(activity.numa_moved_per_s)
        home = "" if activity.preferred_node is None else f", prefers N{activity.preferred_node}"
        parts.append(f"NUMA balancing: {_rate(activity.numa_faults_per_s)} faults, {moved} pages moved{home}")
    return "; ".join(parts)


def _rate(value: float | None) -> str:
    if value is None:
        return "?"
    return f"{value:,.0f}/s" if value >= 10 or value == 0 else f"{max(value, 0.1):.1f}/s"


def process_words(report: Report, pid: int) -> str:
    """The process of a thread: its number in a container, what its cgroup keeps from it, where its memory may lie, what rebinds it."""
    process = report.sample.processes.get(pid)
    if process is None:
        return ""
    parts = [str(pid) if process.inner_pid is None else f"{pid}, {process.inner_pid} in its container"]
    nodes = {node.id for node in report.machine.nodes}
    if process.mems_allowed is not None and not nodes <= set(process.mems_allowed):
        parts.append(f"memory nodes {process.mems_allowed}")
    if process.cpuset is not None and process.cpuset != report.machine.cpus.online:
        parts.append(f"cpuset {process.cpuset}")
    rates = None if process.cgroup is None else report.cgroups.get(process.cgroup)
    parts.extend([] if rates is None else cgroup_words(rates))
    named = rebinding(process)
    return "; ".join([*parts, named] if named else parts)


def cgroup_words(rates: CgroupRates) -> list[str]:
    """Quota and pressure of a cgroup, as far as there is something to tell."""
    parts = []
    if rates.quota_cpus is not None:
        held = "?" if rates.throttled_share is None else f"{100 * rates.throttled_share:.0f} %"
        quota = f"{rates.quota_cpus:.1f}" if rates.quota_cpus >= 1 else f"{rates.quota_cpus:.2f}"
        parts.append(f"quota {quota} CPUs, held back in {held} of the periods")
    whose = "" if rates.pressure_is_own else " of the whole machine"
    for name, some in (("CPU", rates.cpu_some_ms_per_s), ("memory", rates.memory_some_ms_per_s)):
        if some is not None and some >= 1:
            parts.append(f"{name} pressure {some:.0f} ms/s{whose}")
    return parts
