"""Everything that is wrong in one judged sample: each rule asked once, those that follow from masks alone only when these changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Protocol

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.observe.jobs import Job
from numascope.observe.rates import CpuShares, difference
from numascope.observe.sample import Sample, ThreadKey
from numascope.observe.strangers import Stranger
from numascope.plan.objects import Plan
from numascope.review import contention, plan_findings, strangers
from numascope.review.cast import Cast
from numascope.review.devices import far
from numascope.review.interrupts import interrupts_on_planned
from numascope.review.memory import spilling_nodes
from numascope.review.memory_findings import memory_findings
from numascope.review.report import CgroupRates, Finding, MemoryView, NodeRates, Placement, RankView
from numascope.review.thread_findings import thread_findings, worst_first
from numascope.review.throttled import throttled

_LASTING_NS: Final = 5_000_000_000
_TICKLESS_NS: Final = 3_000_000_000
"""On nohz_full CPUs the CPU time of a running thread was measured to stand still for a second at a time."""

_PLAINLY_HELD: Final = 20
"""Per cent of the periods: at ten periods a second one of them may be held back by chance."""


class Strangers(Protocol):
    """Who else uses the machine."""

    def scan(self, watched: frozenset[int], cpus: CpuSet) -> tuple[Stranger, ...]:
        """Busy processes and threads that are not watched, those on `cpus` at first sight."""
        ...


class IrqPlaces(NamedTuple):
    """Where interrupts go, and the node of their device, each None where that is not known."""

    cpus_of: Callable[[int], CpuSet | None]
    node_of: Callable[[int], int | None]


def _unknown(irq: int) -> None:
    del irq


NO_IRQS: Final = IrqPlaces(_unknown, _unknown)


@dataclass(frozen=True, slots=True)
class Scene:
    """What findings are made from: a sample, the ones that it is held against, and what was made of it so far."""

    sample: Sample
    before: Sample | None
    first: Sample
    cast: Cast
    placements: tuple[Placement, ...]
    ranks: tuple[RankView, ...]
    loads: Mapping[int, float | None]
    shares: Mapping[int, CpuShares]
    nodes: Mapping[int, NodeRates]
    cgroups: Mapping[str, CgroupRates]
    own_busy: float | None


_Basis = tuple[Cast, tuple[CpuSet | None, ...], tuple[tuple[str | None, str, MemoryView | None], ...]]
"""What standing findings follow from: who is who, the masks, and of each rank policy, verdict and place of its memory."""


class FindingMaker:
    """Makes the findings of one sample after another; remembers how long a condition has lasted."""

    def __init__(self, plan: Plan | None, source: Strangers, irqs: IrqPlaces) -> None:
        self._plan = plan
        self._source = source
        self._irqs = irqs
        self._runnable_since: dict[ThreadKey, tuple[int, int | None]] = {}
        self._since: dict[tuple[str, str], int] = {}
        self._standing: tuple[_Basis, list[Finding]] | None = None

    def find(self, scene: Scene, machine: Machine, jobs: Sequence[Job], *, judged: bool) -> tuple[Finding, ...]:
        """The findings, worst first; `judged` says whether any thread has a verdict that is worth one."""
        sample, placements, ranks = scene.sample, scene.placements, scene.ranks
        active = [one for one in placements if one.busy or one.wait_ms_per_s]
        found: list[Finding] = []
        if judged:
            found += thread_findings(placements, ranks, sample.processes, machine)
        starved = contention.starved(self._stuck(sample, placements, machine.cpus.nohz_full), active, ranks)
        found += starved
        found += contention.crowded(ranks, active, scene.loads, machine)
        found += spilling_nodes(scene.nodes)
        found += self._standing_findings(scene, machine, jobs)
        held = throttled(ranks, scene.cgroups, _cgroups_of(sample))
        found += [one for one in held if one.weight >= _PLAINLY_HELD]
        passing = [one for one in held if one.weight < _PLAINLY_HELD]
        for one, is_held in self._far(scene, active, machine):
            (found if is_held else passing).append(one)
        if self._plan is not None:
            starving = {key for one in starved for key in one.keys}
            passing += self._shared(scene, active, [one for one in placements if one.key in starving])
            found += interrupts_on_planned(ranks, sample.interrupts, self._irqs.cpus_of, self._irqs.node_of)
        found += self._only_lasting(passing, sample.monotonic_ns)
        return worst_first(found)

    def _far(self, scene: Scene, active: Sequence[Placement], machine: Machine) -> list[tuple[Finding, bool]]:
        """Ranks away from their device; on one node nobody is."""
        places = [one.place for one in scene.cast.ranks]
        if len(machine.nodes) < 2 or not any(places):
            return []
        members: list[list[Placement]] = [[] for _ in places]
        for one in active:
            if one.rank is not None:
                members[one.rank].append(one)
        return far(scene.ranks, places, members, machine)

    def _shared(self, scene: Scene, active: Sequence[Placement], hungry: Sequence[Placement]) -> list[Finding]:
        """Strangers on planned CPUs; they are looked for only where some are."""
        irq = {cpu: one.irq for cpu, one in scene.shares.items()}
        others = strangers.others_on(active, scene.loads, scene.own_busy or 0.0, irq, _unseen(scene))
        if not strangers.has_shared(scene.ranks, others, irq):
            return []
        used = CpuSet.of(cpu for cpu, share in others.items() if share + irq.get(cpu, 0.0) >= strangers.SHARED_LOAD)
        seen = self._source.scan(frozenset(scene.sample.processes), used)
        return strangers.shared(scene.ranks, active, hungry, others, seen, irq)

    def _only_lasting(self, passing: Sequence[Finding], now_ns: int) -> list[Finding]:
        """What passes by is a note; what lasts for five seconds is a warning, or what it is."""
        since = {
            (one.rule, one.subject): self._since.get((one.rule, one.subject), now_ns)
            for one in passing
            if one.severity != "info"
        }
        self._since = since
        return [
            replace(one, severity="info")
            if one.severity != "info" and now_ns - since[one.rule, one.subject] < _LASTING_NS
            else one
            for one in passing
        ]

    def _standing_findings(self, scene: Scene, machine: Machine, jobs: Sequence[Job]) -> list[Finding]:
        """Those that follow from masks, targets and where memory lies: looked for again only when one of these changed."""
        cast, ranks, placements = scene.cast, scene.ranks, scene.placements
        memory = tuple((rank.policy, rank.memory_verdict, rank.memory) for rank in ranks)
        basis = (cast, scene.sample.threads.allowed, memory)
        old = self._standing
        if old is not None and old[0][0] is cast and old[0][1:] == basis[1:]:
            return old[1]
        members = [[placements[row] for row in rows] for rows in cast.rank_rows]
        found = contention.collapsed(ranks, members, machine)
        found += plan_findings.cut_targets(placements, scene.sample.processes, machine)
        found += plan_findings.changed_plan(self._plan, jobs)
        found += memory_findings(ranks, self._plan, machine)
        self._standing = (basis, found)
        return found

    def _stuck(self, sample: Sample, placements: Sequence[Placement], tickless: CpuSet) -> list[contention.Stuck]:
        """Threads that were runnable in each sample for a while and got no CPU time."""
        since: dict[ThreadKey, tuple[int, int | None]] = {}
        stuck = []
        for row, state in enumerate(sample.threads.states):
            if state != "R":
                continue
            key, run_ns = sample.threads.keys[row], sample.threads.run_ns[row]
            began_ns, old_run_ns = self._runnable_since.get(key, (sample.monotonic_ns, run_ns))
            if run_ns is None or run_ns != old_run_ns:
                began_ns = sample.monotonic_ns
            since[key] = (began_ns, run_ns)
            for_ns = sample.monotonic_ns - began_ns
            if for_ns > (_TICKLESS_NS if sample.threads.cpus[row] in tickless else 0):
                stuck.append(contention.Stuck(placements[row], for_ns))
        self._runnable_since = since
        return stuck


def _cgroups_of(sample: Sample) -> Mapping[int, str]:
    return {pid: one.cgroup for pid, one in sample.processes.items() if one.cgroup is not None}


def _unseen(scene: Scene) -> Mapping[CpuSet, float]:
    """CPUs that short-lived threads of the job may have used → how much they used: these are no strangers."""
    interval_s = (scene.sample.monotonic_ns - scene.first.monotonic_ns) / 1e9
    mains = {one.key.pid: one.allowed for one in scene.placements if one.key.tid == one.key.pid}
    found: dict[CpuSet, float] = {}
    for pid, now_ns in scene.sample.unseen_ns.items():
        grown_ns = difference(scene.first.unseen_ns.get(pid), now_ns)
        allowed = mains.get(pid)
        if grown_ns and allowed is not None and interval_s > 0:
            found[allowed] = found.get(allowed, 0.0) + grown_ns / 1e9 / interval_s
    return found
