"""What a CPU, or several, did with the last interval: in words, and as rows of the document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from numascope.observe.balancing import Balancing
from numascope.observe.rates import CpuShares
from numascope.review.report import Report
from numascope.show.document import Document

_PARTS = ("user", "system", "irq", "iowait", "steal")


def load_words(report: Report, cpus: Sequence[int]) -> str:
    """`93 % busy: user 80, system 10, irq 3  2.40 GHz`; of several their mean; what is unknown is left out."""
    busy = [load for cpu in cpus if (load := report.loads.get(cpu)) is not None]
    if not busy:
        return "load ?"
    mean = f"{round(100 * sum(busy) / len(busy))} % busy"
    shares = [one for cpu in cpus if (one := report.shares.get(cpu)) is not None]
    words = _parts_words(shares)
    clocks = [khz for cpu in cpus if (khz := report.sample.clocks_khz.get(cpu)) is not None]
    clock = f"  {sum(clocks) / len(clocks) / 1e6:.2f} GHz" if clocks else ""
    return f"{mean}{words}{clock}"


def _parts_words(shares: Sequence[CpuShares]) -> str:
    if not shares:
        return ""
    means = {name: sum(getattr(one, name) for one in shares) / len(shares) for name in _PARTS}
    told = [f"{name} {round(100 * share)}" for name, share in means.items() if round(100 * share) > 0]
    return f": {', '.join(told)}" if told and told != [f"user {round(100 * means['user'])}"] else ""


def interrupt_words(report: Report, cpus: Sequence[int]) -> str:
    """The device that interrupts these CPUs most often, and how often; empty where none does."""
    here = [one for one in report.sample.interrupts if one.cpu in cpus]
    if not here:
        return ""
    worst = max(here, key=lambda one: one.per_s)
    more = f" +{len(here) - 1}" if len(here) > 1 else ""
    return f"irq {worst.irq} {worst.name} {worst.per_s:,.0f}/s{more}"


def balancing_words(told: Balancing) -> str:
    """`balancing: 1,200 faults/s, 85 % local, 30 pages/s moved`, of the whole machine; empty where NUMA balancing is off or unknown."""
    if not told.numa_balancing or told.hint_faults_per_s is None:
        return ""
    parts = [f"{told.hint_faults_per_s:,.0f} faults/s"]
    if told.hint_faults_per_s and told.hint_faults_local_per_s is not None:
        parts.append(f"{100 * told.hint_faults_local_per_s / told.hint_faults_per_s:.0f} % local")
    if told.pages_migrated_per_s is not None:
        parts.append(f"{told.pages_migrated_per_s:,.0f} pages/s moved")
    return f"NUMA balancing: {', '.join(parts)}"


def mean_shares(report: Report, cpus: Iterable[int]) -> Document:
    """What several CPUs did with the last interval, on average: `busy` and its parts, 0 to 1; null is unknown."""
    here = list(cpus)
    busy = [load for cpu in here if (load := report.loads.get(cpu)) is not None]
    shares = [one for cpu in here if (one := report.shares.get(cpu)) is not None]
    return {
        "busy": sum(busy) / len(busy) if busy else None,
        **{name: sum(getattr(one, name) for one in shares) / len(shares) if shares else None for name in _PARTS},
    }


def l3_rows(report: Report) -> list[Document]:
    """Every L3 of the document, with the node of its CPUs where that is one."""
    rows = []
    for cache in report.machine.caches:
        if cache.level == 3 and cache.cpus and not cache.memory_side:
            nodes = {report.machine.node_of.get(cpu) for cpu in cache.cpus}
            node = nodes.pop() if len(nodes) == 1 else None
            rows.append({"cpus": str(cache.cpus), "node": node, **mean_shares(report, cache.cpus)})
    return rows


def cpu_rows(report: Report) -> list[Document]:
    """Every CPU of the document: its shares (0 to 1), clock and device interrupts; null is unknown."""
    per_s: dict[int, float] = {}
    for one in report.sample.interrupts:
        per_s[one.cpu] = per_s.get(one.cpu, 0.0) + one.per_s
    return [
        {
            "cpu": cpu,
            "node": report.machine.node_of.get(cpu),
            "busy": report.loads.get(cpu),
            **{name: getattr(shares, name, None) for name in _PARTS},
            "clock_khz": report.sample.clocks_khz.get(cpu),
            "interrupts_per_s": per_s.get(cpu, 0.0 if report.sample.interrupts else None),
        }
        for cpu in sorted(report.sample.cpu_ticks)
        for shares in (report.shares.get(cpu),)
    ]
