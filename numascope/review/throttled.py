"""What the cgroups of the ranks keep from them: CPU time beyond their quota, and memory that they stand waiting for. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from numascope.cpuset import EMPTY, LARGEST_ID, CpuSet
from numascope.host.system.cgroup_load import CgroupLoad
from numascope.review.report import CgroupRates, Finding, RankView

_THROTTLED_SHARE: Final = 0.05
_MOSTLY_THROTTLED_SHARE: Final = 0.5
_MEMORY_MS_PER_S: Final = 100.0
_MOST_NAMES: Final = 4

_RAISE: Final = "raise its CPU limit (Kubernetes: limits.cpu, docker: --cpus); numascope does not"


def rates_between(name: str, before: CgroupLoad, after: CgroupLoad, interval_s: float) -> CgroupRates:
    """What happened to the cgroup of that name between two looks; None where they count different things or one ran backward."""
    same_quota = before.quota_path == after.quota_path
    same_pressure = before.pressure_is_own == after.pressure_is_own

    def rate(then_us: int | None, now_us: int | None, *, same: bool) -> float | None:
        grown_us = _grown(then_us, now_us) if same else None
        return None if grown_us is None or interval_s <= 0 else grown_us / 1000 / interval_s

    return CgroupRates(
        name=name,
        quota_cpus=after.quota_cpus,
        quota_path=after.quota_path,
        throttled_ms_per_s=rate(before.throttled_us, after.throttled_us, same=same_quota),
        throttled_share=_share(before, after) if same_quota else None,
        cpu_some_ms_per_s=rate(before.cpu_some_us, after.cpu_some_us, same=same_pressure),
        memory_some_ms_per_s=rate(before.memory_some_us, after.memory_some_us, same=same_pressure),
        memory_full_ms_per_s=rate(before.memory_full_us, after.memory_full_us, same=same_pressure),
        pressure_is_own=after.pressure_is_own,
    )


def throttled(
    ranks: Sequence[RankView], loads: Mapping[str, CgroupRates], cgroup_of_pid: Mapping[int, str]
) -> list[Finding]:
    """Quotas that hold ranks back or are smaller than their plan, one finding each; cgroups of ranks that wait for memory."""
    by_quota: dict[str, list[int]] = {}
    by_cgroup: dict[str, list[int]] = {}
    for index, rank in enumerate(ranks):
        rates = loads.get(cgroup_of_pid.get(rank.pid, ""))
        if rates is None:
            continue
        by_cgroup.setdefault(rates.name, []).append(index)
        if rates.quota_cpus is not None:
            by_quota.setdefault(rates.quota_path, []).append(index)
    found: list[Finding] = []
    for indexes in by_quota.values():
        # Cgroups below one quota have one count of it, read a moment apart.
        rates = max((loads[cgroup_of_pid[ranks[index].pid]] for index in indexes), key=_most_throttled)
        found += _of_quota(rates, [ranks[index] for index in indexes], indexes[0])
    for name, indexes in by_cgroup.items():
        found += _memory(loads[name], [ranks[index] for index in indexes], indexes[0])
    return found


def _of_quota(rates: CgroupRates, ranks: Sequence[RankView], first: int) -> Iterable[Finding]:
    planned = EMPTY
    for rank in ranks:
        planned |= rank.planned_cpus
    quota = _cpus(rates.quota_cpus or 0.0)
    directory, _, file = rates.quota_path.rpartition("/")
    busy = [rank.busy for rank in ranks if rank.busy is not None]
    use = f"{len(ranks)} ranks use" if len(ranks) > 1 else "the rank uses"
    evidence = f"{file} {quota} CPUs in {directory}, {use} {_cpus(sum(busy)) if len(busy) == len(ranks) else '?'}"
    if rates.throttled_share is not None and rates.throttled_share >= _THROTTLED_SHARE:
        lost = (
            "" if rates.throttled_ms_per_s is None else f": {rates.throttled_ms_per_s:.0f} ms/s of CPU time kept back"
        )
        yield Finding(
            rule="throttled",
            severity="error" if rates.throttled_share >= _MOSTLY_THROTTLED_SHARE else "warning",
            subject=_names(ranks),
            text=f"throttled in {100 * rates.throttled_share:.0f} % of the periods{lost}",
            evidence=evidence,
            remedy=_RAISE,
            rank=first,
            weight=round(100 * rates.throttled_share),
        )
    if rates.quota_cpus is not None and rates.quota_cpus < len(planned):
        yield Finding(
            rule="quota",
            severity="info",
            subject=_names(ranks),
            text=f"quota of {quota} CPUs, planned {len(planned)}",
            evidence=evidence,
            remedy=f"plan no more CPUs than the quota gives, or {_RAISE}",
            rank=first,
        )


def _memory(rates: CgroupRates, ranks: Sequence[RankView], first: int) -> Iterable[Finding]:
    some = rates.memory_some_ms_per_s
    if some is None or some < _MEMORY_MS_PER_S or not rates.pressure_is_own:
        return
    full = "?" if rates.memory_full_ms_per_s is None else f"{rates.memory_full_ms_per_s:.0f}"
    yield Finding(
        rule="memory-pressure",
        severity="info",
        subject=_names(ranks),
        text=f"waits for memory {some:.0f} ms/s in its cgroup",
        evidence=f"memory.pressure of {rates.name}: some {some:.0f} ms/s, all at once {full}",
        remedy="raise its memory limit (memory.high, memory.max) or use less; numascope does not",
        rank=first,
    )


def _share(before: CgroupLoad, after: CgroupLoad) -> float | None:
    """Of the periods that ended in between; where none did, nobody ran and nobody was held back."""
    periods = _grown(before.periods, after.periods)
    held = _grown(before.throttled_periods, after.throttled_periods)
    if periods is None or held is None:
        return None
    return min(1.0, held / periods) if periods else 0.0


def _grown(then: int | None, now: int | None) -> int | None:
    return None if then is None or now is None or now < then else now - then


def _most_throttled(rates: CgroupRates) -> float:
    return -1.0 if rates.throttled_share is None else rates.throttled_share


def _names(ranks: Sequence[RankView]) -> str:
    """`ranks 0-7`; the name where it is one, where numbers are unknown, or where two jobs have the same."""
    numbers = {rank.number for rank in ranks if rank.number is not None and 0 <= rank.number <= LARGEST_ID}
    if len(ranks) > 1 and len(numbers) == len(ranks):
        return f"ranks {CpuSet.of(numbers)}"
    names = ", ".join(rank.name for rank in ranks[:_MOST_NAMES])
    return names if len(ranks) <= _MOST_NAMES else f"{names} and {len(ranks) - _MOST_NAMES} more"


def _cpus(count: float) -> str:
    """`8.0`, and of less than one CPU two digits."""
    return f"{count:.1f}" if count >= 1 else f"{count:.2f}"
