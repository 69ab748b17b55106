"""Who shares the CPUs that a rank was planned to have for itself: exact in sum, named where a scan has a name. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from numascope.cpuset import CpuSet
from numascope.observe.strangers import Stranger
from numascope.review.report import Finding, Placement, RankView

SHARED_LOAD: Final = 0.1
_SHARED_WAIT_MS_PER_S: Final = 200.0
_UNATTRIBUTED: Final = 0.1
_MOST_NAMES: Final = 2
_SOFT_INTERRUPTS: Final = "ksoftirqd/"
_NONE_UNSEEN: Final[Mapping[CpuSet, float]] = MappingProxyType({})
_NONE_TOLD: Final[Mapping[int, float]] = MappingProxyType({})

_MOVED_BY: Final = (
    (_SOFT_INTERRUPTS, "smp_affinity_list in /proc/irq, or rps_cpus of a network queue, moves what ksoftirqd serves"),
    ("irq/", "smp_affinity_list in /proc/irq moves the thread of an interrupt"),
    ("kworker/u", "/sys/devices/virtual/workqueue/cpumask moves unbound work (kworker/u)"),
    ("kworker/", "bound work (kworker) moves with who queues it, mostly interrupts: smp_affinity_list in /proc/irq"),
    ("kswapd", "kswapd runs while its node is short of memory"),
    ("rcuc/", "rcu_nocbs= on the kernel's command line moves the callbacks of RCU"),
    ("migration/", "migration/ runs while threads are moved from this CPU"),
)
"""What a kernel thread's name starts with → what moves its work."""

_KERNEL_WORK: Final = "smp_affinity_list in /proc/irq and /sys/devices/virtual/workqueue/cpumask move most of such work"


def others_on(
    active: Sequence[Placement],
    loads: Mapping[int, float | None],
    own_busy: float,
    irq_share: Mapping[int, float] = _NONE_TOLD,
    unseen: Mapping[CpuSet, float] = _NONE_UNSEEN,
) -> dict[int, float]:
    """CPU → busy share that is certainly not the watched threads', nor numascope's (`own_busy`), nor interrupts' (`irq_share`).

    What a thread that moved used, or one that lived and died between two samples (`unseen`, by where it could run), is taken off every
    CPU that it may use, since no file splits its time by CPU.
    """
    settled: dict[int, float] = {}
    roaming: dict[CpuSet, float] = dict(unseen)
    for one in active:
        if not one.busy or one.cpu is None:
            continue
        if one.migrations_per_s == 0:
            settled[one.cpu] = settled.get(one.cpu, 0.0) + one.busy
        elif one.allowed is not None:
            roaming[one.allowed] = roaming.get(one.allowed, 0.0) + one.busy
    found = {}
    for cpu, load in loads.items():
        if load is not None:
            passing = sum(busy for allowed, busy in roaming.items() if cpu in allowed)
            ours = settled.get(cpu, 0.0) + passing + own_busy
            found[cpu] = max(0.0, load - ours - irq_share.get(cpu, 0.0))
    return found


def has_shared(
    ranks: Sequence[RankView], others: Mapping[int, float], irq_share: Mapping[int, float] = _NONE_TOLD
) -> bool:
    """Whether some planned CPU is used by others at all, so that looking for their names is worth its cost.

    The thread that serves interrupts late is one of these others, though /proc/stat has its time under interrupts.
    """
    return any(
        others.get(cpu, 0.0) + irq_share.get(cpu, 0.0) >= SHARED_LOAD for rank in ranks for cpu in rank.planned_cpus
    )


def shared(
    ranks: Sequence[RankView],
    active: Sequence[Placement],
    starving: Sequence[Placement],
    others: Mapping[int, float],
    strangers: Sequence[Stranger],
    irq_share: Mapping[int, float] = _NONE_TOLD,
) -> list[Finding]:
    """Strangers on the CPUs that a rank was planned to have for itself; interrupts are said beside them, and are none."""
    owners: dict[int, list[int]] = {}
    for index, rank in enumerate(ranks):
        for cpu in rank.planned_cpus:
            owners.setdefault(cpu, []).append(index)
    here: dict[int, list[Stranger]] = {}
    for one in strangers:
        here.setdefault(one.cpu, []).append(one)
    found = []
    for cpu, indexes in sorted(owners.items()):
        late = _served_late(here.get(cpu, ()), irq_share.get(cpu, 0.0))
        share, interrupts = others.get(cpu, 0.0) + late, irq_share.get(cpu, 0.0) - late
        if share >= SHARED_LOAD:
            text = f"others use {_percent(share)} of it: {_names(here.get(cpu, ()), share)}"
            text += f", {_percent(interrupts)} interrupts" if interrupts >= 0.005 else ""
            found.append(_shared_cpu(cpu, share, text, ranks, indexes, active, starving, here.get(cpu, ())))
    return found


def _served_late(here: Sequence[Stranger], irq_share: float) -> float:
    """How much of the time under interrupts is a thread's: that of ksoftirqd is counted there (`irqtime_account_process_tick`, kernel/sched/cputime.c)."""
    return min(
        irq_share, sum(one.busy or 0.0 for one in here if one.is_kernel and one.comm.startswith(_SOFT_INTERRUPTS))
    )


def _shared_cpu(
    cpu: int,
    share: float,
    text: str,
    ranks: Sequence[RankView],
    owners: Sequence[int],
    active: Sequence[Placement],
    starving: Sequence[Placement],
    here: Sequence[Stranger],
) -> Finding:
    here_now = (one for one in active if one.rank in owners and one.cpu == cpu)
    waiting = [one for one in here_now if round(one.wait_ms_per_s or 0.0)]
    worst = max(waiting, key=lambda one: one.wait_ms_per_s or 0.0, default=None)
    wait = 0.0 if worst is None else worst.wait_ms_per_s or 0.0
    hungry = next((one for one in starving if one.cpu == cpu), None)
    costs = hungry is not None or (wait >= _SHARED_WAIT_MS_PER_S and share >= 2 * SHARED_LOAD)
    return Finding(
        rule="shared",
        severity="warning" if costs else "info",
        subject=f"CPU {cpu} of {', '.join(ranks[owner].name for owner in owners)}",
        text=text,
        evidence=f"{hungry.label} {hungry.key.tid} starves there"
        if hungry is not None
        else f"{worst.label} {worst.key.tid} waits {wait:.0f} ms/s there"
        if worst is not None
        else "nobody of the job waits there",
        remedy=_remedy(_busiest(here)[:_MOST_NAMES]),
        keys=() if worst is None else (worst.key,),
        rank=owners[0],
    )


def _busiest(here: Sequence[Stranger]) -> list[Stranger]:
    return sorted(here, key=lambda one: -(one.busy or 0.0))


def _names(here: Sequence[Stranger], share: float) -> str:
    """`fluent-bit 2871 41 % busy, a 1 8 % busy and 2 more, 12 % unattributed`."""
    if not here:
        return "unattributed"
    busiest = _busiest(here)
    text = ", ".join(map(_words, busiest[:_MOST_NAMES]))
    if len(busiest) > _MOST_NAMES:
        text += f" and {len(busiest) - _MOST_NAMES} more"
    told = [one.busy for one in here if one.busy is not None]
    missing = share - sum(told)
    return f"{text}, {_percent(missing)} unattributed" if len(told) == len(here) and missing > _UNATTRIBUTED else text


def _words(one: Stranger) -> str:
    name = f"{'kernel thread ' if one.is_kernel else ''}{one.comm} {one.pid}"
    if one.tid is not None:
        name += " (main thread)" if one.tid == one.pid else f" (thread {one.thread} {one.tid})"
    return f"{name} runs here now" if one.busy is None else f"{name} {_percent(one.busy)} busy"


def _remedy(named: Sequence[Stranger]) -> str:
    """What can be done by hand: users' processes can be given other CPUs, a kernel thread goes where its work is."""
    pids = dict.fromkeys(one.pid for one in named if not one.is_kernel)
    work = dict.fromkeys(_moved_by(one.comm) for one in named if one.is_kernel)
    by_hand = "; ".join(f"taskset -acp CPUS {pid}" for pid in pids)
    return "not of this job, so numascope does not touch it" + "".join(
        [f"; by hand: {by_hand}" if pids else "", f"; kernel: {'; '.join(work)}" if work else ""]
    )


def _moved_by(comm: str) -> str:
    return next((words for start, words in _MOVED_BY if comm.startswith(start)), _KERNEL_WORK)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
