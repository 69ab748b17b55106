"""Looks at the memory of ranks as rows of a frame, and back: only those that are new since the frame before. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping

from numascope.host.maps import Kind
from numascope.observe.interval import Interval
from numascope.observe.recording import wire, wire_memory
from numascope.observe.recording.format import DamagedError, printable
from numascope.observe.seen_memory import PolicyGroup, SeenMemory
from numascope.observe.share import MemoryShare, NodeShare, Share

_Seen = Mapping[int, SeenMemory]


def memory_rows(before: _Seen, after: _Seen) -> dict[int, wire_memory.MemoryRow | None]:
    """The ranks that were looked at since, by pid, and None for those that are gone."""
    if before is after:
        return {}
    changed = {pid: one for pid, one in after.items() if (old := before.get(pid)) is not one and old != one}
    rows: dict[int, wire_memory.MemoryRow | None] = {pid: _row(one) for pid, one in changed.items()}
    return rows | {pid: None for pid in before if pid not in after}


def seen_memory(before: _Seen, rows: Mapping[int, wire_memory.MemoryRow | None] | None) -> _Seen:
    """The looks after these rows; undoes `memory_rows`."""
    if not rows:
        return before
    found = {pid: one for pid, one in before.items() if pid not in rows}
    found |= {pid: _look(row) for pid, row in rows.items() if row is not None}
    if len(found) > wire.MOST_PROCESSES:
        raise DamagedError(f"it has the memory of {len(found)} processes")
    return dict(sorted(found.items()))


def _row(one: SeenMemory) -> wire_memory.MemoryRow:
    share = one.share
    return wire_memory.MemoryRow(
        starttime_ticks=one.starttime_ticks,
        looked_ns=one.looked_ns,
        total=_share_row(share.total),
        kinds=[wire_memory.KindRow(kind.name, kind.page_kib, _share_row(part)) for kind, part in share.kinds.items()],
        source=share.source,
        reason=share.reason,
        notes=list(share.notes),
        cost_ns=share.cost_ns,
        policies=[wire_memory.PolicyRow(group.policy, group.threads, list(group.tids)) for group in one.policies],
    )


def _share_row(one: Share) -> wire_memory.ShareRow:
    nodes = None
    if one.nodes is not None:
        nodes = [wire_memory.NodeShareRow(each.node, each.pages, *each.interval, each.kib) for each in one.nodes]
    worth = None if math.isinf(one.worth) else one.worth
    return wire_memory.ShareRow(one.pages_asked, one.pages_resident, one.resident_kib, nodes, worth, one.missing)


def _look(row: wire_memory.MemoryRow) -> SeenMemory:
    share = MemoryShare(
        total=_share(row.total),
        kinds={Kind(printable(one.name), one.page_kib): _share(one.share) for one in row.kinds},
        source=printable(row.source),
        reason=printable(row.reason),
        notes=tuple(map(printable, row.notes)),
        cost_ns=row.cost_ns,
    )
    policies = tuple(
        PolicyGroup(None if one.policy is None else printable(one.policy), one.threads, tuple(one.tids))
        for one in row.policies
    )
    return SeenMemory(row.starttime_ticks, row.looked_ns, share, policies)


def _share(row: wire_memory.ShareRow) -> Share:
    nodes = None
    if row.nodes is not None:
        nodes = tuple(
            NodeShare(one.node, one.pages, Interval(one.share, one.low, one.high), one.kib) for one in row.nodes
        )
    worth = math.inf if row.worth is None else row.worth
    return Share(row.pages_asked, row.pages_resident, row.resident_kib, nodes, worth, row.missing)
