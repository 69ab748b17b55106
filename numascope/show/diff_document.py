"""The `diff` document: everything that was judged, as plain values for JSON; unknown is null, sets are range strings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numascope
from numascope.observe.facts import binding_environ, rebinding
from numascope.observe.jobs import Job
from numascope.observe.sample import ProcessFacts, Sample
from numascope.review.activity import Activity
from numascope.review.report import (
    VERDICTS_WORST_FIRST,
    CgroupRates,
    Finding,
    Placement,
    RankView,
    Report,
)
from numascope.show.cpu_words import cpu_rows, l3_rows, mean_shares
from numascope.show.document import Document, set_or_null
from numascope.show.memory_part import memory_part

SCHEMA: Final = "numascope.diff/1"


def diff_document(report: Report) -> Document:
    """The whole document of one report."""
    return {
        **_envelope(report),
        "plan": None
        if report.plan is None
        else {
            "path": report.plan.path,
            "dialect": report.plan.dialect,
            "sha256": report.plan.sha256,
            "source": report.plan_source,
        },
        "summary": _summary(report),
        "jobs": [_job(job, report) for job in report.jobs],
        "ranks": [_rank(rank, report.sample) for rank in report.ranks],
        "nodes": [_node(number, report) for number in sorted(report.nodes)],
        "balancing": report.sample.balancing._asdict(),
        "l3": l3_rows(report),
        "cpus": cpu_rows(report),
        "cgroups": [_cgroup(report.cgroups[name]) for name in sorted(report.cgroups)],
        "interrupts": [
            {"irq": one.irq, "name": one.name, "cpu": one.cpu, "per_s": one.per_s} for one in report.sample.interrupts
        ],
        "processes": [_process(one, report) for one in report.sample.processes.values()],
        "threads": [_thread(one, report.ranks) for one in report.placements],
        "findings": [_finding(one) for one in report.findings],
    }


def delta_document(before: Report, after: Report) -> Document:
    """What changed since the report before: the summary, the rows that differ, and all findings where any differs."""
    old = {one.key: one for one in before.placements}
    changed = [
        _thread(one, after.ranks)
        for one in after.placements
        if one is not old.get(one.key) and _differs(old.get(one.key), one)
    ]
    present = {one.key for one in after.placements}
    return {
        **_envelope(after),
        "delta": True,
        "summary": _summary(after),
        "ranks": [_rank(rank, after.sample) for rank, was in _pairs(after.ranks, before.ranks) if rank != was],
        "threads": changed,
        "gone": [
            {"pid": key.pid, "tid": key.tid, "starttime": key.starttime_ticks} for key in old if key not in present
        ],
        "findings": [_finding(one) for one in after.findings] if after.findings != before.findings else None,
    }


def _envelope(report: Report) -> Document:
    return {
        "schema": SCHEMA,
        "numascope": numascope.__version__,
        "source": {
            "machine": report.machine.source,
            "target": report.title,
            "wall_s": report.sample.wall_s,
            "interval_s": report.interval_s,
        },
        "partial": report.partial,
        "notes": list(report.notes),
        "ended": report.ended,
    }


def _summary(report: Report) -> Mapping[str, int]:
    return {verdict: report.counts.get(verdict, 0) for verdict in reversed(VERDICTS_WORST_FIRST)}


def _pairs(new: tuple[RankView, ...], old: tuple[RankView, ...]) -> list[tuple[RankView, RankView | None]]:
    return [(rank, old[at] if at < len(old) else None) for at, rank in enumerate(new)]


def _differs(before: Placement | None, after: Placement) -> bool:
    """Whether a row says something new; figures that always move (busy, wait) do not count by themselves."""
    if before is None:
        return True
    return (
        before.verdict, before.allowed, before.target, before.cpu, before.comm, before.outside.max_ns,
        before.activity.scheduling,
    ) != (
        after.verdict, after.allowed, after.target, after.cpu, after.comm, after.outside.max_ns,
        after.activity.scheduling,
    )  # fmt: skip


def _job(job: Job, report: Report) -> Document:
    processes = report.sample.processes
    head = next((processes[pid] for pid in job.pids() if pid in processes), None)
    return {
        "launcher": job.launcher,
        "scheduler": job.scheduler,
        "framework": job.framework,
        "ranks": [rank.pid for rank in job.ranks],
        "plan": job.plan_path,
        "plan_source": job.plan_source,
        "cpuset": None if head is None else set_or_null(head.cpuset),
    }


def _rank(rank: RankView, sample: Sample) -> Document:
    off = None if rank.memory is None else rank.memory.off
    return {
        "pid": rank.pid,
        "rank": rank.number,
        "device": rank.device,
        "planned_nodes": set_or_null(rank.planned_nodes),
        "policy": rank.policy,
        "policy_source": rank.policy_source,
        "share_off": None if off is None else off.share,
        "share_interval": None if off is None else [off.low, off.high],
        "verdict": rank.memory_verdict or None,
        "evidence": rank.policy_source,
        "memory": None if rank.memory is None else memory_part(rank.memory, sample),
        "busy": rank.busy,
        "wait_ms_per_s": rank.wait_ms_per_s,
        "migrations_per_s": rank.migrations_per_s,
    }


def _node(number: int, report: Report) -> Document:
    """Memory, page cache, and the node's own allocation counters, in pages per second."""
    node, there = report.nodes[number], report.machine.node(number)
    return {
        "id": number,
        "total_kib": None if there is None else there.memory_kib,
        "free_kib": node.free_kib,
        "cache_kib": node.cache_kib,
        "hit_per_s": node.hit,
        "miss_per_s": node.miss,
        "foreign_per_s": node.foreign,
        "other_node_per_s": node.other_node,
        **mean_shares(report, () if there is None else there.cpus),
    }


def _cgroup(one: CgroupRates) -> Document:
    """What a cgroup was kept waiting: ms per second, summed over CPUs where it is its quota's."""
    return {
        "name": one.name,
        "quota_cpus": one.quota_cpus,
        "quota_path": one.quota_path or None,
        "throttled_share": one.throttled_share,
        "throttled_ms_per_s": one.throttled_ms_per_s,
        "cpu_some_ms_per_s": one.cpu_some_ms_per_s,
        "memory_some_ms_per_s": one.memory_some_ms_per_s,
        "memory_full_ms_per_s": one.memory_full_ms_per_s,
        "pressure_is_own": one.pressure_is_own,
    }


def _process(one: ProcessFacts, report: Report) -> Document:
    """A watched process; `unseen_ns` is CPU time of threads that no look has, as they ended between two."""
    return {
        "pid": one.pid,
        "inner_pid": one.inner_pid,
        "ppid": one.ppid,
        "comm": one.comm,
        "uid": one.uid,
        "cgroup": one.cgroup,
        "cpuset": set_or_null(one.cpuset),
        "mems_allowed": set_or_null(one.mems_allowed),
        "policy": one.policy,
        "rebinding": rebinding(one),
        "environ": binding_environ(one),
        "unseen_ns": report.sample.unseen_ns.get(one.pid),
    }


def _thread(one: Placement, ranks: tuple[RankView, ...]) -> Document:
    rank = None if one.rank is None else ranks[one.rank]
    return {
        "pid": one.key.pid,
        "tid": one.key.tid,
        "starttime": one.key.starttime_ticks,
        "comm": one.comm,
        "label": one.label,
        "role": one.role.name,
        "confidence": one.role.confidence,
        "rank": None if rank is None else rank.number,
        "device": None if rank is None else rank.device,
        "planned": None if one.target is None else str(one.target.planned),
        "target": None if one.target is None else str(one.target.cpus),
        "planned_by": None if one.target is None else str(one.target.place),
        "allowed": set_or_null(one.allowed),
        "cpu": one.cpu,
        "cpu_stale": one.cpu_stale,
        "node": one.node,
        "verdict": one.verdict,
        "severity": one.severity,
        "outside_ns": [one.outside.min_ns, one.outside.max_ns],
        "busy": one.busy,
        "wait_ms_per_s": one.wait_ms_per_s,
        "migrations_per_s": one.migrations_per_s,
        **_activity(one.activity),
        "evidence": _evidence(one),
    }


def _activity(one: Activity) -> Document:
    """Scheduling, switches, moves as far as seen, NUMA balancing, and the changes of its mask that were seen."""
    return {
        "scheduling": None
        if one.scheduling is None
        else {"policy": one.scheduling.policy, "rt_priority": one.scheduling.rt_priority, "nice": one.scheduling.nice},
        "voluntary_per_s": one.voluntary_per_s,
        "involuntary_per_s": one.involuntary_per_s,
        "moves_seen": {"core": one.moves.core, "l3": one.moves.l3, "node": one.moves.node},
        "numa_faults_per_s": one.numa_faults_per_s,
        "numa_moved_per_s": one.numa_moved_per_s,
        "preferred_node": one.preferred_node,
        "mask_changes": [
            {
                "since_s": change.since_s,
                "by_s": change.by_s,
                "before": set_or_null(change.before),
                "after": set_or_null(change.after),
            }
            for change in one.mask_changes
        ],
    }


def _evidence(one: Placement) -> str:
    """Why the verdict is what it is: what was seen outside, the reason, or by what the role is known."""
    if one.outside.seen:
        return f"seen outside in {one.outside.seen} of {one.outside.samples} samples, last on CPU {one.outside.cpu}"
    return one.reason or one.role.evidence


def _finding(one: Finding) -> Document:
    return {
        "rule": one.rule,
        "severity": one.severity,
        "subject": one.subject,
        "text": one.text,
        "evidence": one.evidence,
        "remedy": one.remedy,
        "threads": [key.tid for key in one.keys],
    }
