"""The text and the document of `memory`: where the memory of a process lies, how sure that is, and what explains it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Final, NamedTuple

import numascope
from numascope.cpuset import CpuSet
from numascope.host.maps import Kind
from numascope.host.numa_maps import COST_MS_PER_GIB
from numascope.host.system.node_memory import MemorySettings, NodeMemory
from numascope.observe.interval import Interval
from numascope.observe.memory_look import RankMemory
from numascope.observe.share import Share
from numascope.show.document import Document, set_or_null
from numascope.show.ink import Line, Span

_MOST_TIDS: Final = 6


class Shown(NamedTuple):
    """A process, who it is, where its memory belongs (the nodes of the CPUs it may use; None: unknown), and what explains the rest."""

    memory: RankMemory
    name: str
    home: CpuSet | None
    why: tuple[str, ...]


def memory_lines(
    shown: Sequence[Shown], nodes: Sequence[NodeMemory], settings: MemorySettings, width: int, *, by_kind: bool
) -> list[Line]:
    """The whole text, at most `width` cells a line."""
    lines: list[Line] = []
    for one in shown:
        lines += [*_process(one, nodes, width, by_kind=by_kind), ()]
    return lines + _machine(nodes, settings, width)


def _process(one: Shown, nodes: Sequence[NodeMemory], width: int, *, by_kind: bool) -> list[Line]:
    home = "" if one.home is None else f", on CPUs of {_nodes_text(one.home)}"
    lines: list[Line] = [(Span(one.name, bold=True), Span(home))]
    lines += _wrapped(policies_text(one.memory), width)
    share = one.memory.share
    if share.nodes is None:
        lines += _wrapped(f"? where its memory lies: {share.reason}", width)
    else:
        lines += _wrapped(_how(one.memory), width, dim=True)
        lines += _table(share.total, one.home, nodes)
        if by_kind:
            lines += _kinds(one.memory, width)
    for text in one.why:
        lines += _wrapped(f"why: {text}", width, indent="     ")
    for note in share.notes:
        lines += _wrapped(f"note: {note}", width, indent="      ", dim=True)
    return lines


def _nodes_text(nodes: CpuSet) -> str:
    return f"node {nodes}" if len(nodes) == 1 else f"nodes {nodes or 'none'}"


def policies_text(memory: RankMemory) -> str:
    """`policy default, 212 threads; bind:1, 3 threads (41233, 41234, 41240)`: the main thread's first, then who differs."""
    groups: dict[str | None, list[int]] = {memory.policy: []}
    for tid, policy in sorted(memory.policies.items()):
        groups.setdefault(policy, []).append(tid)
    parts = []
    for number, (policy, tids) in enumerate(groups.items()):
        count = f"{len(tids)} thread{'' if len(tids) == 1 else 's'}"
        listed = ", ".join(map(str, tids[:_MOST_TIDS])) + (", …" if len(tids) > _MOST_TIDS else "")
        parts.append(f"{policy or '?'}, {count}" + (f" ({listed})" if number else ""))
    return f"policy {'; '.join(parts)}"


def _how(memory: RankMemory) -> str:
    share = memory.share
    size = f"{gib(share.total.resident_kib)} in memory"
    if not share.pages_asked:
        return f"{size}, every page counted by {share.source}"
    said = f"{share.pages_resident:,} of {share.pages_asked:,} random pages answered"
    if math.isinf(share.total.worth):
        said = f"all {share.pages_resident:,} pages answered"
    elif share.total.worth < 0.95 * share.pages_resident:
        said += f", worth {share.total.worth:,.0f}"
    missed = f"; {100 * share.total.missing:.0f} % of it was not found" if share.total.missing else ""
    return f"about {size}; {said} ({share.source}, {memory.share.cost_ns / 1e6:.0f} ms of CPU){missed}"


def gib(kib: int | None) -> str:
    """A size as people say it; unknown is `?`."""
    if kib is None:
        return "?"
    return f"{kib / 2**20:.1f} GiB" if kib >= 1 << 20 else f"{kib / 2**10:.1f} MiB"


def percent(one: Interval | None) -> tuple[str, str]:
    """A share and its interval: `12.4 %` and `10.6 – 14.3 %`; unknown is `?`."""
    if one is None:
        return "?", ""
    if one.low == one.high:
        return f"{100 * one.share:.1f} %", "counted"
    return f"{100 * one.share:.1f} %", f"{100 * one.low:.1f} – {100 * one.high:.1f} %"


def _table(share: Share, home: CpuSet | None, nodes: Sequence[NodeMemory]) -> list[Line]:
    lines: list[Line] = [(Span(f"  {'node':<12}{'share':>9}   {'95 % interval':<17}{'size':>11}", "dim"),)]
    sizes = {one.node: one.kib for one in share.nodes or ()}
    for number in sorted({*sizes, *(one.node for one in nodes if one.total_kib)}):
        is_home = home is not None and number in home
        name = f"N{number}{' home' if is_home else ''}"
        lines.append((Span(_row(name, share.on(CpuSet.of([number])), sizes.get(number, 0))),))
    off = None if home is None or len(home) >= len(nodes) else share.off(home)
    if off is not None and share.resident_kib is not None:
        lines.append((Span(_row("off home", off, round(off.share * share.resident_kib)), bold=True),))
    return lines


def _row(name: str, share: Interval | None, kib: int) -> str:
    part, interval = percent(share)
    return f"  {name:<12}{part:>9}   {interval:<17}{gib(kib):>11}"


def _kinds(memory: RankMemory, width: int) -> list[Line]:
    lines: list[Line] = [(), (Span(f"  {'kind':<14}{'size':>10}   where", "dim"),)]
    for kind, share in memory.share.kinds.items():
        if share.nodes is None:
            where = f"? ({share.pages_resident} pages answered, 100 are needed)"
        else:
            parts = ((one, *percent(share.on(CpuSet.of([one.node])))) for one in share.nodes)
            where = ", ".join(f"N{one.node} {part} ({interval})" for one, part, interval in parts)
        head = f"  {kind_text(kind):<14}{gib(share.resident_kib):>10}   "
        pieces = textwrap.wrap(where, max(20, width - len(head)), break_on_hyphens=False) or [""]
        lines.append((Span(head + pieces[0]),))
        lines += [(Span(" " * len(head) + piece),) for piece in pieces[1:]]
    return lines


def kind_text(kind: Kind) -> str:
    """`anonymous`, `huge 2 MiB`."""
    if kind.page_kib is None:
        return kind.name
    size = f"{kind.page_kib >> 20} GiB" if kind.page_kib >= 1 << 20 else f"{kind.page_kib / 1024:g} MiB"
    return f"{kind.name} {size if kind.page_kib >= 1 << 10 else f'{kind.page_kib} KiB'}"


def _machine(nodes: Sequence[NodeMemory], settings: MemorySettings, width: int) -> list[Line]:
    lines: list[Line] = []
    if nodes:
        head = f"  {'node':<6}{'free':>11}{'of':>11}{'page cache':>13}   passed by since boot"
        lines.append((Span(head, "dim"),))
    for one in nodes:
        foreign = "?" if one.foreign is None else f"{one.foreign:,} pages meant for it"
        sizes = f"{gib(one.free_kib):>11}{gib(one.total_kib):>11}{gib(one.cache_kib):>13}"
        lines.append((Span(f"  {f'N{one.node}':<6}{sizes}   {foreign}"),))
    return lines + _wrapped(settings_text(settings), width, dim=True)


def settings_text(settings: MemorySettings) -> str:
    """What the kernel is told, and what NUMA balancing did since boot."""
    reclaim = "?" if settings.zone_reclaim_mode is None else str(settings.zone_reclaim_mode)
    if settings.numa_balancing is None:
        return f"vm.zone_reclaim_mode {reclaim}; this kernel has no NUMA balancing"
    if not settings.numa_balancing:
        return f"vm.zone_reclaim_mode {reclaim}; NUMA balancing is off"
    names = {"numa_pte_updates": "looked at", "numa_hint_faults": "faulted", "numa_hint_faults_local": "of these local"}
    counts = [f"{settings.balancing[key]:,} {name}" for key, name in names.items() if key in settings.balancing]
    moved = settings.balancing.get("numa_pages_migrated")
    parts = [*counts, *([] if moved is None else [f"{moved:,} moved"])]
    said = f": {', '.join(parts)} (pages since boot)" if parts else ""
    return f"vm.zone_reclaim_mode {reclaim}; NUMA balancing {settings.numa_balancing}{said}"


def full_cost_text(pid: int, resident_kib: int | None) -> str:
    """What a full walk would cost the target, in words."""
    if resident_kib is None:
        return f"numa_maps of {pid}: how much is in memory is not known, nor what a walk costs"
    low, high = (resident_kib / 2**20 * cost for cost in COST_MS_PER_GIB)
    return (
        f"numa_maps of {pid}: {gib(resident_kib)} in memory, about {low:.0f} to {high:.0f} ms under its mmap lock; "
        "a thread of it that faults or maps meanwhile may wait as long"
    )


def _wrapped(text: str, width: int, *, indent: str = "", dim: bool = False) -> list[Line]:
    pieces = textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
    return [(Span(piece, "dim" if dim else "text"),) for piece in pieces]


def memory_document(shown: Sequence[Shown], nodes: Sequence[NodeMemory], settings: MemorySettings) -> Document:
    """The document `numascope.memory/1`."""
    return {
        "schema": "numascope.memory/1",
        "numascope": numascope.__version__,
        "source": {"machine": "live"},
        "partial": not all(map(is_known, shown)),
        "notes": [],
        "processes": [_process_document(one) for one in shown],
        "nodes": [one._asdict() for one in nodes],
        "settings": {**settings._asdict(), "balancing": dict(settings.balancing)},
    }


def is_known(one: Shown) -> bool:
    """Whether all of it could be read: its policy, and where its memory lies."""
    return one.memory.share.nodes is not None and one.memory.policy is not None


def _process_document(one: Shown) -> Document:
    share = one.memory.share
    groups: dict[str | None, list[int]] = {}
    for tid, policy in sorted(one.memory.policies.items()):
        groups.setdefault(policy, []).append(tid)
    off = None if one.home is None else share.off(one.home)
    return {
        "pid": one.memory.pid,
        "starttime": one.memory.starttime_ticks,
        "name": one.name,
        "policy": one.memory.policy,
        "policies": [{"policy": policy, "threads": tids} for policy, tids in groups.items()],
        "home_nodes": set_or_null(one.home),
        "method": share.source or None,
        "reason": share.reason or None,
        **_share_document(share.total),
        "off_home": None if off is None else off._asdict(),
        "kinds": [
            {"kind": kind.name, "page_kib": kind.page_kib, **_share_document(part)}
            for kind, part in share.kinds.items()
        ],
        "why": list(one.why),
        "notes": list(share.notes),
        "cost_ns": share.cost_ns,
    }


def _share_document(share: Share) -> Document:
    nodes = None
    if share.nodes is not None:
        nodes = [
            {"node": one.node, "pages": one.pages, "kib": one.kib, **one.interval._asdict()} for one in share.nodes
        ]
    return {
        "pages_asked": share.pages_asked,
        "pages_resident": share.pages_resident,
        "resident_kib": share.resident_kib,
        "worth_pages": None if math.isinf(share.worth) else share.worth,
        "missing": share.missing,
        "nodes": nodes,
    }
