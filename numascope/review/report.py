"""What a review says: a verdict for each thread, conditions, findings, and the counts that screens and exit codes read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.observe.interval import Interval
from numascope.observe.jobs import Job
from numascope.observe.rates import CpuShares
from numascope.observe.roles import Role
from numascope.observe.sample import NodeCounters, Sample, ThreadKey
from numascope.observe.seen_memory import SeenMemory
from numascope.plan.objects import Plan, Target
from numascope.review.activity import IDLE, Activity

Verdict = Literal["ok", "narrow", "loose", "astray", "escaped", "pending", "unplanned", "blocked", "unknown"]
Severity = Literal["error", "warning", "info"]

VERDICTS_WORST_FIRST: tuple[Verdict, ...] = (
    "blocked", "escaped", "astray", "loose", "narrow", "pending", "unknown", "unplanned", "ok",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outside:
    """CPU time spent outside the target since the thread's mask and target are what they are: bounds in ns.

    `seen` of `samples` intervals ended with the thread outside after it ran; `cpu` is where it was last seen so.
    """

    min_ns: int = 0
    max_ns: int = 0
    seen: int = 0
    samples: int = 0
    cpu: int | None = None
    migrations: int = 0
    last_min_ns: int = 0
    last_max_ns: int = 0


@dataclass(frozen=True, slots=True)
class Placement:
    """One thread, against its target. `busy` is CPUs used (1.0 = one whole CPU) in the last interval; None: unknown yet."""

    key: ThreadKey
    comm: str
    label: str
    """How screens name it: `ActorThread_1`, `main`, `loader 2`, `loader 2 helper`."""
    role: Role
    rank: int | None
    """Index into `Report.ranks`; None for launcher, scheduler and other processes."""
    target: Target | None
    allowed: CpuSet | None
    cpu: int | None
    cpu_stale: bool
    """It has not run since its mask changed or since it was first seen, so `cpu` proves nothing."""
    node: int | None
    state: str
    verdict: Verdict
    severity: Severity | None
    busy: float | None
    wait_ms_per_s: float | None
    migrations_per_s: float | None
    outside: Outside
    reason: str
    """Why the verdict is what it is, in a few words; empty where the verdict says it all."""
    activity: Activity = IDLE


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to know or to mend: rule id, subject, severity, evidence and remedy, each one line of text."""

    rule: str
    severity: Severity
    subject: str
    text: str
    evidence: str
    remedy: str
    keys: tuple[ThreadKey, ...] = ()
    rank: int | None = None
    weight: int = 0
    """How bad it is among findings of its rule: ns of CPU time outside, per cent of the periods held back."""


@dataclass(frozen=True, slots=True)
class MemoryView:
    """Where a rank's memory lies, by the last look at it, against where it belongs."""

    seen: SeenMemory
    home: CpuSet
    """The nodes where it belongs: those that the plan binds, else of its planned CPUs, else of the CPUs in use."""
    off: Interval | None
    """The share on other nodes; None: unknown, or there is no other node that has memory (`is_everywhere`)."""
    is_everywhere: bool
    off_own: Interval | None = None
    """The same share of what is no file, which verdicts rest on: where a file lies is not the policy's doing."""
    trend: int = 0
    """1 where more is off than at the look before, -1 where less, beyond both intervals; else 0."""
    why: tuple[str, ...] = ()
    """What explains the share that is off, the surest first."""

    @property
    def resident_kib(self) -> int | None:
        """How much of the process is in memory."""
        return self.seen.share.total.resident_kib

    @property
    def is_unread(self) -> bool:
        """Nothing could be read: a right is missing, or this kernel does not tell."""
        return not self.seen.share.source and not self.is_everywhere

    def away(self) -> list[tuple[int, int]]:
        """Nodes where it does not belong, and KiB there, most first."""
        found = [(one.node, one.kib) for one in self.seen.share.nodes or () if one.node not in self.home]
        return sorted(found, key=lambda one: -one[1])


@dataclass(frozen=True, slots=True)
class RankView:
    """A rank's line: letter, counts of verdicts, and what it costs and waits for in the last interval."""

    letter: str
    name: str
    pid: int
    number: int | None
    device: int | None
    device_node: int | None
    planned_nodes: CpuSet
    planned_cpus: CpuSet
    counts: Mapping[Verdict, int]
    busy: float | None
    wait_ms_per_s: float | None
    wait_label: str
    migrations_per_s: float | None
    policy: str | None
    policy_source: str
    memory_verdict: str
    """`ok`, `unbound`, `elsewhere`, `spilled`, `unknown`; empty where the plan asks nothing of its memory."""
    threads: int
    memory: MemoryView | None = None
    """None as long as it was not looked at, or was not recorded."""


@dataclass(frozen=True, slots=True)
class NodeRates:
    """A node's `numastat` counters as pages per second over the last interval, and its free memory now."""

    free_kib: int | None
    hit: float | None
    miss: float | None
    foreign: float | None
    other_node: float | None
    cache_kib: int | None = None
    """Page cache now."""


class CgroupRates(NamedTuple):
    """What a cgroup was kept waiting in one interval; None: unknown, or without a quota nothing to tell.

    `throttled_ms_per_s` is summed over CPUs, so it may be more than 1,000; `throttled_share` is of the periods, 0 to 1.
    Throttling is of the cgroup with the tightest quota (`quota_path` names its file), pressure of the whole machine
    where not `pressure_is_own`.
    """

    name: str
    quota_cpus: float | None
    quota_path: str
    throttled_ms_per_s: float | None
    throttled_share: float | None
    cpu_some_ms_per_s: float | None
    memory_some_ms_per_s: float | None
    memory_full_ms_per_s: float | None
    pressure_is_own: bool


@dataclass(frozen=True)
class Report:
    """One judged sample: what every screen, text and document is made from."""

    title: str
    """`msrun 41200`, `torchrun 51877`, `python 812`."""
    machine: Machine
    plan: Plan | None
    plan_source: str
    """Where the plan came from, or why there is none."""
    jobs: tuple[Job, ...]
    sample: Sample
    interval_s: float | None
    """Length of the last interval; None at the first sample."""
    placements: tuple[Placement, ...]
    ranks: tuple[RankView, ...]
    findings: tuple[Finding, ...]
    """Worst first."""
    counts: Mapping[Verdict, int]
    loads: Mapping[int, float | None]
    """CPU → busy share of the last interval, 0 to 1; None: unknown."""
    nodes: Mapping[int, NodeRates]
    partial: bool
    notes: tuple[str, ...]
    ended: bool = False
    since_first_s: float = 0.0
    shares: Mapping[int, CpuShares] = field(default_factory=dict)
    """CPU → what it did with the last interval; a CPU of which that is unknown is not in it."""
    cgroups: Mapping[str, CgroupRates] = field(default_factory=dict)
    """The cgroups of the watched processes, by `ProcessFacts.cgroup`."""
    own_cpu_share: float | None = None
    """CPU that numascope itself used in the last interval, 1.0 = one CPU."""
    is_awaited: bool = False
    """It has ended, and is waited for: it may be started again."""


__all__ = [
    "VERDICTS_WORST_FIRST", "CgroupRates", "Finding", "MemoryView", "NodeCounters", "NodeRates", "Outside", "Placement", "RankView", "Report",
    "Severity", "Verdict",
]  # fmt: skip
