"""Devices that interrupt the CPUs of a rank: told from rates by CPU, at most once a rank. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from numascope.cpuset import CpuSet
from numascope.observe.interrupts import Interrupt
from numascope.review.report import Finding, RankView

_TOLD_PER_S: Final = 100.0
_MANY_PER_S: Final = 10_000.0
_NAMED: Final = 3
"""Interrupts that one finding names; the others are counted."""


def interrupts_on_planned(
    ranks: Sequence[RankView],
    interrupts: Sequence[Interrupt],
    affinity_of: Callable[[int], CpuSet | None],
    node_of: Callable[[int], int | None],
) -> list[Finding]:
    """A finding for each rank of whose planned CPUs devices interrupt one 100 times a second; a warning from 10,000 on.

    A CPU of several ranks is told with the first. `affinity_of` and `node_of` tell where an IRQ goes and the node of its
    device, and are asked only for the one that the finding is about.
    """
    rows: dict[int, list[Interrupt]] = {}
    for one in interrupts:
        rows.setdefault(one.cpu, []).append(one)
    planned = {cpu for rank in ranks for cpu in rank.planned_cpus}
    rows = {cpu: found for cpu, found in rows.items() if cpu in planned and _sum_per_s(found) >= _TOLD_PER_S}
    findings = []
    for index, rank in enumerate(ranks):
        here = [rows.pop(cpu) for cpu in rank.planned_cpus if cpu in rows]
        if here:
            findings.append(_of_rank(index, ranks, here, affinity_of, node_of))
    return findings


def _sum_per_s(found: Sequence[Interrupt]) -> float:
    return sum(one.per_s for one in found)


def _of_rank(
    index: int,
    ranks: Sequence[RankView],
    by_cpu: Sequence[Sequence[Interrupt]],
    affinity_of: Callable[[int], CpuSet | None],
    node_of: Callable[[int], int | None],
) -> Finding:
    busiest = max(by_cpu, key=_sum_per_s)
    worst = max(busiest, key=lambda one: one.per_s)
    others = sorted((one for found in by_cpu for one in found if one is not worst), key=lambda one: -one.per_s)
    owners = ", ".join(rank.name for rank in ranks if worst.cpu in rank.planned_cpus)
    total = _sum_per_s(busiest)
    goes, node = affinity_of(worst.irq), node_of(worst.irq)
    evidence = [
        f"irq {worst.irq} goes to CPU {'?' if goes is None else goes}",
        *([] if len(busiest) == 1 else [f"{total:,.0f}/s on CPU {worst.cpu} in all"]),
        *(f"{one.name} (irq {one.irq}) {one.per_s:,.0f}/s on CPU {one.cpu}" for one in others[: _NAMED - 1]),
    ]
    where = "where LIST is CPUs that no rank needs" + ("" if node is None else f", best of its node {node}")
    return Finding(
        rule="interrupts",
        severity="warning" if total >= _MANY_PER_S else "info",
        subject=f"CPU {worst.cpu} of {owners}",
        text=f"{worst.name} (irq {worst.irq}) interrupts it {worst.per_s:,.0f} times a second"
        + (f", and {len(others)} more on CPU {CpuSet.of(one.cpu for one in others)}" if others else ""),
        evidence="; ".join(evidence),
        remedy=f"as root: echo LIST > /proc/irq/{worst.irq}/smp_affinity_list, {where}; irqbalance may undo it, and the kernel"
        " refuses it for queues that it places itself",
        rank=index,
    )
