"""Why memory lies on other nodes than the CPUs that use it, as far as it can be told from outside. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from numascope.cpuset import BadIdListError, CpuSet
from numascope.host.maps import FILE, SHARED, Kind
from numascope.host.system.node_memory import MemorySettings, NodeMemory
from numascope.observe.memory_look import RankMemory
from numascope.observe.seen_memory import SeenMemory
from numascope.observe.share import Share

OFF_SHARE: Final = 0.05
"""Of a rank's memory off its nodes: up to this nothing is asked for a reason (DESIGN: `spilled`)."""

_ROUNDING: Final = 1e-9

_FULL_SHARE: Final = 0.03
"""With less of it free a node is near its watermarks, and allocations pass it by."""

_FIRST_TOUCH: Final = frozenset({"default", "local"})


def reasons(
    memory: RankMemory | SeenMemory, home: CpuSet | None, nodes: Iterable[NodeMemory], settings: MemorySettings
) -> tuple[str, ...]:
    """What explains the share off `home` (the nodes that the memory belongs on), the surest first; empty where little is off, or all is unknown."""
    off = None if home is None else memory.share.off(home)
    if home is None or off is None or off.share < OFF_SHARE + _ROUNDING:
        return ()
    return tuple(_told(memory, home, list(nodes), settings))


def _told(
    memory: RankMemory | SeenMemory, home: CpuSet, nodes: list[NodeMemory], settings: MemorySettings
) -> Iterator[str]:
    placed = _placed(memory.policy)
    if placed is not None and not placed <= home:
        yield f"its policy is {memory.policy}: the kernel puts pages there as it was told"
    full = [one for one in nodes if one.node in home and is_full(one)]
    for one in full:
        yield _full_text(one, settings)
    by_kind = _off_kib(memory.share.kinds, home)
    everything = sum(by_kind.values()) or 1
    if by_kind.get(FILE, 0) > everything / 2:
        yield "most of it are file pages: a file lies where it was read first, by whichever process"
    if by_kind.get(SHARED, 0) > everything / 2:
        yield "most of it is shared memory: it lies where it was first written, perhaps by another process"
    private = everything - by_kind.get(FILE, 0) - by_kind.get(SHARED, 0)
    if memory.policy in _FIRST_TOUCH and not full and private > everything / 2:
        yield (
            f"its policy is {memory.policy}: a page lies where the thread ran that touched it first; "
            "these were touched while it, or its parent before it, ran elsewhere"
        )
        if settings.numa_balancing == 0:
            yield "NUMA balancing is off: nothing brings them after their threads"


def _placed(policy: str | None) -> CpuSet | None:
    """The nodes that a policy names; None where it names none."""
    try:
        return CpuSet.parse((policy or "").partition(":")[2]) or None
    except BadIdListError:
        return None


def is_full(node: NodeMemory) -> bool:
    """Whether a node has so little free that allocations pass it by."""
    return node.free_kib is not None and bool(node.total_kib) and node.free_kib < _FULL_SHARE * (node.total_kib or 0)


def _full_text(node: NodeMemory, settings: MemorySettings) -> str:
    parts = [f"node {node.node} is full: {_gib(node.free_kib)} of {_gib(node.total_kib)} free"]
    if node.foreign:
        parts.append(f"{node.foreign:,} pages meant for it went elsewhere since boot")
    if settings.zone_reclaim_mode == 0 and node.cache_kib:
        parts.append(f"with vm.zone_reclaim_mode 0 its {_gib(node.cache_kib)} of page cache are not dropped for it")
    return "; ".join(parts)


def _gib(kib: int | None) -> str:
    return "?" if kib is None else f"{kib / 2**20:.1f} GiB"


def _off_kib(kinds: Mapping[Kind, Share], home: CpuSet) -> dict[Kind, int]:
    """What lies off the nodes, by kind; kinds whose share is unknown are left out."""
    found: dict[Kind, int] = {}
    for kind, share in kinds.items():
        off = share.off(home)
        if off is not None and share.resident_kib is not None:
            found[kind] = round(off.share * share.resident_kib)
    return found
