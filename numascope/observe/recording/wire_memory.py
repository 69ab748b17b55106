"""What the looks at memory and the settings of NUMA balancing are made of in a frame; `wire` has the rest."""

from __future__ import annotations

from typing import Annotated

import msgspec

from numascope.observe.recording.bounded import AN_ID, Id, Name, Natural

_Part = Annotated[float, msgspec.Meta(ge=0, le=1)]


class NodeShareRow(msgspec.Struct, frozen=True, array_like=True):
    """What lies on a node, with the fields of `NodeShare` in their order and those of its interval among them."""

    node: Id
    pages: Natural
    share: _Part
    low: _Part
    high: _Part
    kib: Natural


class ShareRow(msgspec.Struct, frozen=True, array_like=True):
    """Memory by node, with the fields of `Share` in their order; `worth` None is infinite."""

    pages_asked: Natural
    pages_resident: Natural
    resident_kib: Natural | None
    nodes: Annotated[list[NodeShareRow], AN_ID] | None
    worth: Annotated[float, msgspec.Meta(ge=0, lt=1e18)] | None
    missing: _Part


class KindRow(msgspec.Struct, frozen=True, array_like=True):
    """Memory of one kind: its name, the size of its huge pages, and where it lies."""

    name: Name
    page_kib: Natural | None
    share: ShareRow


class PolicyRow(msgspec.Struct, frozen=True, array_like=True):
    """Threads of one memory policy, with the fields of `PolicyGroup` in their order."""

    policy: Name | None
    threads: Natural
    tids: Annotated[list[Natural], msgspec.Meta(max_length=64)]


class MemoryRow(msgspec.Struct, frozen=True, array_like=True):
    """A look at a rank's memory, with the fields of `SeenMemory` and of `MemoryShare` in their order."""

    starttime_ticks: Natural
    looked_ns: Natural
    total: ShareRow
    kinds: Annotated[list[KindRow], msgspec.Meta(max_length=64)]
    source: Name
    reason: Name
    notes: Annotated[list[Name], msgspec.Meta(max_length=64)]
    cost_ns: Natural
    policies: Annotated[list[PolicyRow], msgspec.Meta(max_length=64)]


_PerSecond = Annotated[float, msgspec.Meta(ge=0, lt=1e18)]


class BalancingRow(msgspec.Struct, frozen=True, array_like=True):
    """Settings and rates, with the fields of `Balancing` in their order."""

    zone_reclaim_mode: Natural | None
    numa_balancing: Natural | None
    pte_updates_per_s: _PerSecond | None
    hint_faults_per_s: _PerSecond | None
    hint_faults_local_per_s: _PerSecond | None
    pages_migrated_per_s: _PerSecond | None
