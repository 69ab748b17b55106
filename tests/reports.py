"""Machines and reports made by hand: what screens are drawn from in tests, no kernel asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from shapes import Shape, machine

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.observe.interval import share_interval
from numascope.observe.jobs import Job, Rank
from numascope.observe.roles import Role
from numascope.observe.sample import NOBODY, ProcessFacts, Sample, ThreadKey
from numascope.observe.seen_memory import PolicyGroup, SeenMemory
from numascope.observe.share import MemoryShare, NodeShare, Share
from numascope.plan.objects import Place, Plan, Target
from numascope.review.memory_findings import memory_findings
from numascope.review.report import Finding, MemoryView, NodeRates, Outside, Placement, RankView, Report, Verdict

NOWHERE = Place("bind.json", 34, 18)


def placement(
    tid: int, label: str, role: str, rank: int | None, planned: str | None, allowed: str | None, cpu: int | None,
    verdict: Verdict = "ok", busy: float | None = 0.5, wait: float | None = 1.0, pid: int | None = None,
    node: int | None = None, confidence: str = "named",
) -> Placement:  # fmt: skip
    """One thread; `planned` None is a thread that no rule covers."""
    target = None
    if planned is not None:
        cpus = CpuSet.parse(planned)
        target = Target(cpus, cpus, NOWHERE, f"{role} of device{rank}")
    severity = {
        "escaped": "error",
        "astray": "error",
        "blocked": "error",
        "loose": "warning",
        "narrow": "warning",
        "ok": None,
    }
    outside = (
        Outside(930_000_000, 930_000_000, 1, 1, cpu, 0, 930_000_000, 930_000_000) if verdict == "escaped" else Outside()
    )
    return Placement(
        ThreadKey(pid or tid, tid, 8_841_207, 0), label, label, Role(role, confidence, f'comm "{label}"'), rank, target,  # type: ignore[arg-type]
        None if allowed is None else CpuSet.parse(allowed), cpu, cpu_stale=False, node=node,
        state="R" if busy else "S", verdict=verdict, severity=severity.get(verdict, "info"), busy=busy,  # type: ignore[arg-type]
        wait_ms_per_s=wait, migrations_per_s=0.2, outside=outside, reason="",
    )  # fmt: skip


def lies(
    home: str, off: float, away: int, gib: float = 41.3, trend: int = 0, why: tuple[str, ...] = (), policy: str = "bind"
) -> MemoryView:
    """Memory of which that share lies on another node, by 1,280 pages; no share where it belongs nowhere in particular."""
    nodes = CpuSet.parse(home)
    kib = round(gib * 2**20)
    shares = {nodes.first: 1.0 - off, away: off} if off else {nodes.first: 1.0}
    rows = [
        NodeShare(node, round(1280 * part), share_interval(part, 1280), round(kib * part))
        for node, part in sorted(shares.items())
    ]
    share = MemoryShare(Share(1280, 1280, kib, tuple(rows), 1280.0), source="PAGEMAP_SCAN")
    seen = SeenMemory(8_841_207, 0, share, (PolicyGroup(policy, 12, ()),))
    astray = share.off(nodes)
    return MemoryView(seen, nodes, astray, is_everywhere=False, off_own=astray, trend=trend, why=why)


def rank_view(
    letter: str, pid: int, number: int, cpus: str, threads: Sequence[Placement], device_node: int | None, nodes: str
) -> RankView:
    """A rank's line, counted from its threads."""
    waits = [one.wait_ms_per_s or 0 for one in threads]
    worst = max(threads, key=lambda one: one.wait_ms_per_s or 0, default=None)
    return RankView(
        letter, f"rank {number}", pid, number, number, device_node, CpuSet.parse(nodes), CpuSet.parse(cpus),
        Counter(one.verdict for one in threads), sum(one.busy or 0 for one in threads), max(waits, default=None),
        worst.label if worst else "", 14.0, "bind", "numa_maps", "ok", len(threads),
        lies(nodes, 0.002, 9) if nodes else None,
    )  # fmt: skip


def escape_of(one: Placement) -> Finding:
    """The finding of an escaped thread."""
    planned = "?" if one.target is None else str(one.target.cpus)
    text = f"ran {one.busy or 0:.2f} s outside, last on CPU {one.cpu} (N{one.node}); planned {planned}"
    evidence = f"{one.role.name}, named; allowed {one.allowed}, seen outside in 1 of 1 samples"
    subject = f"rank {one.rank} {one.label} {one.key.tid}"
    return Finding(
        "escaped", "error", subject, text, evidence, f"taskset -cp {planned} {one.key.tid}", (one.key,), one.rank
    )


def sample(number: int = 7, *, ended: bool = False) -> Sample:
    """An instant with no columns: screens read placements."""
    columns = NOBODY
    return Sample(number, 1_000_000_000 * number, 1_700_000_000.0 + number, columns, {}, {}, {}, ended=ended)


def report(
    title: str, on: Machine, placements: Sequence[Placement], ranks: Sequence[RankView],
    findings: Sequence[Finding] = (), loads: Mapping[int, float | None] | None = None, plan: Plan | None = None,
) -> Report:  # fmt: skip
    """A whole report; a CPU's load is what its threads use where none is given."""
    busy: dict[int, float] = dict.fromkeys(on.cpus.online, 0.0)
    for one in placements:
        if one.cpu is not None and one.busy:
            busy[one.cpu] = min(1.0, busy[one.cpu] + one.busy)
    nodes = {node.id: NodeRates(node.free_kib, 100.0, 0.0, 0.0, 0.0) for node in on.nodes}
    job = Job("msrun", 41200, tuple(Rank(one.pid, one.number, one.number, one.device, "env") for one in ranks))
    return Report(
        title, on, plan, "bind.json" if plan else "no plan: none was given and the job names none", (job,), sample(), 1.0,
        tuple(placements), tuple(ranks), tuple(findings), Counter(one.verdict for one in placements),
        loads if loads is not None else dict(busy), nodes, partial=False, notes=(), own_cpu_share=0.018,
    )  # fmt: skip


def plan() -> Plan:
    """A plan by name; its rules are not asked by screens."""
    return Plan(
        "bind.json",
        "MindSpore",
        "8f3c21d0" + "0" * 56,
        "8f3c21d0" + "0" * 56,
        "cpu",
        "numa",
        fixed_actors=True,
        rules=(),
        memory=(),
    )


_HOME = (6, 1, 4, 3, 2, 5, 0, 7)
"""The node of each rank of the eight-rank job."""
_NPU_NODE = (6, 6, 4, 4, 2, 2, 0, 0)
_ACTORS = ("ActorThread_0", "ActorThread_1", "infer_queue", "resize_queue", "launch_queue")


def _rank_threads(rank: int, on: Machine) -> list[Placement]:
    base = _HOME[rank] * 24
    pid = 41227 + 4 * rank
    tid = 43000 + 60 * rank
    found = [
        placement(
            pid,
            "main",
            "main",
            rank,
            f"{base + 13}-{base + 19}",
            f"{base + 13}-{base + 19}",
            base + 13,
            busy=0.96,
            wait=3,
        )
    ]
    for at, name in enumerate(_ACTORS):
        cpu = str(base + 8 + at)
        found.append(placement(tid + at, name, "runtime", rank, cpu, cpu, base + 8 + at, busy=0.65 - 0.1 * at, pid=pid))
    for at in range(8):
        cpus = f"{base}-{base + 7}"
        found.append(
            placement(
                tid + 10 + at,
                f"loader {at}",
                "minddata",
                rank,
                cpus,
                cpus,
                base + at,
                busy=0.9 - 0.05 * at,
                confidence="inferred",
            )
        )
    pool = f"{base + 13}-{base + 19}"
    found += [
        placement(tid + 30 + at, f"KernelThread_{at}", "kernel", rank, None, pool, base + 13 + at, "unplanned",
                  busy=0.3 - 0.05 * at, wait=4, pid=pid)
        for at in range(6)
    ]  # fmt: skip
    return [replace(one, node=on.node_of.get(one.cpu) if one.cpu is not None else None) for one in found]


def eight_ranks() -> Report:
    """Eight ranks on 192 CPUs, one thread escaped to CPU 37, one loader crammed on CPU 0."""
    on = machine(Shape(4, 2, 1, 24, cluster=4), devices=_NPU_NODE)
    placements: list[Placement] = []
    ranks = []
    for rank, home in enumerate(_HOME):
        threads = _rank_threads(rank, on)
        if rank == 5:
            threads[2] = placement(
                42317, "ActorThread_1", "runtime", 5, "129", "0-191", 37, "escaped", 0.93, 2, 41247, 1
            )
        if rank == 6:
            threads[8] = placement(47312, "loader 2", "minddata", 6, "0-7", "0", 0, "narrow", 0.51, 490, 41251, 0)
        placements.extend(threads)
        base = home * 24
        ranks.append(
            rank_view(
                "ABCDEFGH"[rank], 41227 + 4 * rank, rank, f"{base}-{base + 19}", threads, _NPU_NODE[rank], str(home)
            )
        )
    placements.append(placement(41210, "scheduler", "main", None, "20-23", "20-23", 20, busy=0.04, node=0))
    placements.append(placement(41200, "msrun", "main", None, None, "0-191", 45, "unplanned", busy=0.0, wait=0, node=1))
    findings = (
        Finding("escaped", "error", "rank 5 ActorThread_1 42317", "ran 0.93 s outside, last on CPU 37 (N1); planned 129",
                "runtime, named; runtime[1] of device5, bind.json:34:18; allowed 0-191; distance N5 to N1 24", "taskset -cp 129 42317",
                (placements[5 * 20 + 2].key,), 5),
        Finding("narrow", "warning", "rank 6 loader 2 47312", "may use 0 only, of planned 0-7",
                "OMP_PROC_BIND=true, libgomp mapped; waits 490 ms/s", "taskset -cp 0-7 47312; lasting: start without OMP_PROC_BIND", (placements[6 * 20 + 8].key,), 6),
        Finding("far", "info", "rank 1", "its CPUs are on N1, its NPU is at N6", "distance N6 to N1 24",
                "swap the lists of device1 and device7", (), 1),
    )  # fmt: skip
    return report("msrun 41200", on, placements, ranks, findings, plan=plan())


def remote_memory() -> Report:
    """The same, rank 3's memory to a third on node 2, more than a minute ago; rank 7's has come back."""
    shown = eight_ranks()
    why = ("its policy is default: a page lies where the thread ran that touched it first",)
    places = {3: lies("3", 0.31, 2, 41.4, 1, why, "default"), 7: lies("7", 0.004, 6, 0.3, -1)}
    ranks = tuple(replace(one, memory=places.get(at, one.memory)) for at, one in enumerate(shown.ranks))
    ranks = (*ranks[:3], replace(ranks[3], memory_verdict="", policy="default"), *ranks[4:])
    findings = memory_findings(ranks, None, shown.machine)
    return replace(shown, ranks=ranks, findings=(*shown.findings[:2], *findings, *shown.findings[2:]))


def two_cpus() -> Report:
    """Two ranks on two CPUs; a loader of rank 0 is a guest on rank 1's CPU."""
    on = machine(Shape(1, 1, 1, 2))
    threads = [
        placement(100, "main", "main", 0, "0", "0", 0, busy=0.4, node=0),
        placement(101, "loader 0", "loader", 0, "0", "0", 0, busy=0.13, pid=100, node=0),
        placement(102, "loader 1", "loader", 0, "0", "0-1", 1, "escaped", busy=0.3, pid=100, node=0),
        placement(200, "main", "main", 1, "1", "1", 1, busy=0.69, node=0),
    ]
    ranks = [
        rank_view("A", 100, 0, "0", threads[:3], None, "0"),
        rank_view("B", 200, 1, "1", threads[3:], None, "0"),
    ]
    lone = replace(lies("0", 0.0, 0, 0.3), off=None, is_everywhere=True)
    ranks = [replace(one, memory=lone) for one in ranks]
    finding = Finding(
        "escaped", "error", "rank 0 loader 1 102", "ran 0.30 s outside, last on CPU 1 (N0); planned 0", "loader, named; allowed 0-1",
        "taskset -cp 0 102", (threads[2].key,), 0,
    )  # fmt: skip
    return report("torchrun 99", on, threads, ranks, [finding], plan=plan())


def smt_machine() -> Report:
    """Two packages of 16 cores and 32 threads each; a thread of rank A is on B's CPU 21."""
    on = machine(Shape(2, 1, 1, 16, threads=2), devices=(0, 1))
    found: list[Placement] = []
    ranks = []
    for rank, base in enumerate((0, 16)):
        mine = []
        for at in range(16):
            role = "main" if at < 8 else "minddata"
            cpu = base + at
            mine.append(
                placement(
                    500 + cpu, f"{role} {at}", role, rank, str(cpu), str(cpu), cpu, busy=0.9 - at * 0.04, node=rank
                )
            )
        if rank == 0:
            mine[6] = placement(506, "main 6", "main", 0, "6", "0-63", 21, "escaped", 0.8, node=1)
        found.extend(mine)
        ranks.append(rank_view("AB"[rank], 500 + base, rank, f"{base}-{base + 15}", mine, rank, str(rank)))
    return report("torchrun 499", on, found, ranks, [escape_of(found[6])], plan=plan())


def epyc() -> Report:
    """Two packages of 96 cores, 12 L3s and 192 threads each; eight ranks, three L3s each."""
    on = machine(Shape(2, 1, 12, 8, threads=2), devices=(0, 0, 0, 0, 1, 1, 1, 1))
    found: list[Placement] = []
    ranks = []
    for rank in range(8):
        base = rank * 24
        cpus = f"{base}-{base + 23}"
        mine = [
            placement(
                1000 + base + at,
                f"loader {at}",
                "loader",
                rank,
                cpus,
                cpus,
                base + at,
                busy=0.9 - at * 0.02,
                node=rank // 4,
            )
            for at in range(20)
        ]
        if rank == 1:
            mine[4] = placement(1028, "main", "main", 1, "45", "0-383", 131, "escaped", 0.9, node=1)
        found.extend(mine)
        ranks.append(rank_view("ABCDEFGH"[rank], 1000 + base, rank, cpus, mine, rank // 4, str(rank // 4)))
    return report("torchrun 999", on, found, ranks, [escape_of(found[24])], plan=plan())


def unplanned() -> Report:
    """A plain process on the eight-node machine: no plan, letters only where it ran."""
    on = machine(Shape(4, 2, 1, 24, cluster=4))
    threads = [
        placement(800 + at, f"worker {at}", "unnamed", 0, None, "0-191", at * 11, "unplanned", 0.7, node=at * 11 // 24)
        for at in range(16)
    ]
    return report("python 800", on, threads, [rank_view("A", 800, 0, "", threads, None, "")])


def ended(of: Report) -> Report:
    """The report's last state, its target gone."""
    return replace(of, ended=True)


def own(report: Report, uid: int = 1004) -> Report:
    """The report with processes of that user."""
    pids = {one.key.pid for one in report.placements}
    facts = {pid: ProcessFacts(pid, 1, 8_841_207, pid, "python", ("python",), None, uid) for pid in pids}
    return replace(report, sample=replace(report.sample, processes=facts))
