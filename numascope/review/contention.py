"""Conditions beside the verdicts: who waits for a CPU, who crowds on one, and which rank collapsed onto one. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.review.report import Finding, Placement, RankView, Severity

_STARVED_NS: Final = 500_000_000
_STARVED_WAIT_MS_PER_S: Final = 900.0
_STARVED_BUSY: Final = 0.1
_CROWDED_WAIT_MS_PER_S: Final = 200.0
_IDLE_LOAD: Final = 0.2
_USED: Final = 0.02
_COLLAPSED_THREADS: Final = 4


class Stuck(NamedTuple):
    """How long a thread has been runnable without a single ns of CPU time."""

    placement: Placement
    for_ns: int


def starved(stuck: Sequence[Stuck], active: Sequence[Placement], ranks: Sequence[RankView]) -> list[Finding]:
    """Threads that want a CPU and get none: runnable all along without CPU time, or waiting nine tenths of the time."""
    found = {
        one.placement.key: _starved(one.placement, ranks, f"runnable for {one.for_ns / 1e9:.1f} s without CPU time")
        for one in stuck
        if one.for_ns >= _STARVED_NS
    }
    for one in active:
        if one.busy is None or one.wait_ms_per_s is None or one.key in found:
            continue
        if one.wait_ms_per_s >= _STARVED_WAIT_MS_PER_S and one.busy <= _STARVED_BUSY:
            text = f"waits {one.wait_ms_per_s:.0f} ms/s for a CPU and gets {1000 * one.busy:.0f}"
            found[one.key] = _starved(one, ranks, text)
    return list(found.values())


def _starved(one: Placement, ranks: Sequence[RankView], text: str) -> Finding:
    owner = "" if one.rank is None else f"{ranks[one.rank].name} "
    where = "?" if one.cpu is None else str(one.cpu)
    return Finding(
        rule="starved",
        severity="error" if one.role.confidence == "named" and one.target is not None else "warning",
        subject=f"{owner}{one.label} {one.key.tid}",
        text=text,
        evidence=f"queued on CPU {where}, allowed {one.allowed}",
        remedy=f"see who runs there: ps -eLo pid,tid,psr,stat,cls,rtprio,pcpu,comm | awk '$3 == {where} && $4 ~ /^R/'",
        keys=(one.key,),
        rank=one.rank,
    )


def crowded(
    ranks: Sequence[RankView], active: Sequence[Placement], loads: Mapping[int, float | None], machine: Machine
) -> list[Finding]:
    """More runnable threads of a rank than the CPUs that they use, while other CPUs open to them idle."""
    groups: dict[tuple[int, CpuSet], list[Placement]] = {}
    for placement in active:
        if placement.rank is not None and placement.allowed and placement.busy is not None:
            groups.setdefault((placement.rank, placement.allowed), []).append(placement)
    found = []
    for (rank, allowed), members in groups.items():
        runnable = sum((one.busy or 0.0) + (one.wait_ms_per_s or 0.0) / 1000 for one in members)
        wait = sum(one.wait_ms_per_s or 0.0 for one in members)
        used = {one.cpu for one in members if one.cpu is not None and (one.busy or 0.0) > _USED}
        idle = [
            cpu
            for cpu in allowed & machine.cpus.online
            if cpu not in used and (loads.get(cpu) or 0.0) < _IDLE_LOAD and loads.get(cpu) is not None
        ]
        if used and idle and wait >= _CROWDED_WAIT_MS_PER_S and runnable > len(used) + 0.5:
            isolated = bool(CpuSet.of(used) & machine.cpus.isolated)
            severity: Severity = "warning" if wait >= 2 * _CROWDED_WAIT_MS_PER_S else "info"
            found.append(
                Finding(
                    rule="crowded",
                    severity=severity,
                    subject=ranks[rank].name,
                    text=f"{runnable:.1f} runnable threads on CPU {CpuSet.of(used)}, while {CpuSet.of(idle)} idles",
                    evidence=f"{len(members)} threads allowed {allowed} wait {wait:.0f} ms/s"
                    + ("; isolated CPUs are not balanced" if isolated else ""),
                    remedy="give each its own CPU: the kernel does not spread threads over isolated CPUs"
                    if isolated
                    else "watch it: the kernel may still spread them",
                    keys=tuple(one.key for one in members if (one.busy or 0.0) > _USED),
                    rank=rank,
                )
            )
    return found


def collapsed(ranks: Sequence[RankView], members: Sequence[Sequence[Placement]], machine: Machine) -> list[Finding]:
    """A rank of many threads (`members`, by rank) that may use one CPU only, where its plan gives it more or there is none."""
    if machine.cpus.allowed is not None and len(machine.cpus.allowed) < 2:
        return []
    found = []
    for rank, (view, threads) in enumerate(zip(ranks, members, strict=True)):
        sets = {id(one.allowed): one.allowed for one in threads if one.allowed is not None}
        bits = 0
        for allowed in sets.values():
            bits |= allowed.bits
        if len(threads) >= _COLLAPSED_THREADS and bits.bit_count() == 1 and len(view.planned_cpus) != 1:
            found.append(_collapsed(view, rank, CpuSet(bits), threads))
    return found


def _collapsed(view: RankView, rank: int, allowed: CpuSet, threads: Sequence[Placement]) -> Finding:
    planned = view.planned_cpus
    return Finding(
        rule="collapsed",
        severity="warning",
        subject=view.name,
        text=f"all {len(threads)} threads may use CPU {allowed} only",
        evidence=f"planned {planned}" if planned else "nothing is planned; the machine has more CPUs",
        remedy="look for OMP_PROC_BIND, GOMP_CPU_AFFINITY, taskset or a cpuset in how it was started",
        keys=tuple(one.key for one in threads),
        rank=rank,
    )
