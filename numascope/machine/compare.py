"""What differs between two machines, or one before and after a change of its firmware: object by object, pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeVar

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.objects import Cache, Device, FrequencyPolicy, Group, Machine, Node

_Thing = TypeVar("_Thing")


class Difference(NamedTuple):
    """One fact of one object; `before` None: the object or fact is new, `after` None: it is gone."""

    kind: str
    name: str
    fact: str
    before: str | None
    after: str | None


def compare(before: Machine, after: Machine) -> tuple[Difference, ...]:
    """Every difference, from the machine down to its devices; free memory and other things that flow are left out."""
    return (
        *_facts("machine", "", _machine_facts(before), _machine_facts(after)),
        *_objects(
            "package", before.packages, after.packages, lambda one: str(one.id), lambda one: {"CPUs": str(one.cpus)}
        ),
        *_groups("die", before.dies, after.dies),
        *_groups("book", before.books, after.books),
        *_groups("drawer", before.drawers, after.drawers),
        *_objects("node", before.nodes, after.nodes, lambda one: str(one.id), _node_facts),
        *_sorts("cores", _core_sorts(before), _core_sorts(after)),
        *_sorts("clusters", _cluster_sorts(before), _cluster_sorts(after)),
        *_sorts("caches", _cache_sorts(before), _cache_sorts(after)),
        *_objects("device", before.devices, after.devices, lambda one: one.address, _device_facts),
        *_sorts("clocks", _clock_sorts(before), _clock_sorts(after)),
    )


def _machine_facts(machine: Machine) -> dict[str, str | None]:
    cpus = machine.cpus
    return {
        "architecture": machine.arch,
        "model": machine.model,
        "hypervisor": machine.platform.hypervisor,
        "online CPUs": str(cpus.online),
        "offline CPUs": str(cpus.offline),
        "isolated CPUs": str(cpus.isolated),
        "nohz_full CPUs": str(cpus.nohz_full),
        "rcu_nocbs CPUs": str(cpus.rcu_nocbs),
        "partitioned CPUs": str(cpus.partitioned),
    }


def _node_facts(node: Node) -> dict[str, str | None]:
    huge = "; ".join(f"{one.total} × {one.size_kib} KiB" for one in node.huge_pages)
    return {
        "CPUs": str(node.cpus),
        "memory": None if node.memory_kib is None else _memory(node.memory_kib),
        "kind": node.kind,
        "tier": None if node.tier is None else str(node.tier),
        "distances": " ".join(f"{other}:{distance}" for other, distance in node.distances.items()),
        "huge pages": huge,
    }


def _memory(kib: int) -> str:
    """To the GiB, or a tenth where there is little: what a kernel keeps for itself differs from boot to boot."""
    size = kib / (1 << 20)
    return f"{size:.0f} GiB" if size >= 16 else f"{size:.1f} GiB"


def _device_facts(device: Device) -> dict[str, str | None]:
    return {
        "kind": device.kind,
        "id": f"{device.vendor_id:04x}:{device.device_id:04x}",
        "node": "unknown" if device.node is None else str(device.node),
        "bridges": " ".join(device.path[:-1]),
    }


def _groups(kind: str, before: Iterable[Group], after: Iterable[Group]) -> Iterator[Difference]:
    def name(one: Group) -> str:
        return str(one.id) if one.package is None else f"{one.id} of package {one.package}"

    return _objects(kind, before, after, name, lambda one: {"CPUs": str(one.cpus)})


def _objects(
    kind: str,
    before: Iterable[_Thing],
    after: Iterable[_Thing],
    name: Callable[[_Thing], str],
    facts: Callable[[_Thing], dict[str, str | None]],
) -> Iterator[Difference]:
    """Objects of one kind with their facts, by name; those of the first machine first."""
    old, new = ({name(one): facts(one) for one in things} for things in (before, after))
    for key in dict.fromkeys([*old, *new]):
        if key in old and key in new:
            yield from _facts(kind, key, old[key], new[key])
        else:
            words = ", ".join(f"{fact} {value}" for fact, value in (old.get(key) or new[key]).items() if value)
            yield Difference(kind, key, "", words if key in old else None, words if key in new else None)


def _facts(
    kind: str, name: str, before: Mapping[str, str | None], after: Mapping[str, str | None]
) -> Iterator[Difference]:
    for fact, old in before.items():
        new = after.get(fact)
        if (old or None) != (new or None):
            yield Difference(kind, name, fact, old or None, new or None)


_Sorts = Mapping[str, tuple[int, CpuSet]]
"""What objects have in common → how many there are, and their CPUs."""


def _sorts(kind: str, before: _Sorts, after: _Sorts) -> Iterator[Difference]:
    """Objects that are many and have no names: by what they have in common."""
    for sort in dict.fromkeys([*before, *after]):
        old, new = before.get(sort), after.get(sort)
        if old != new:
            yield Difference(
                kind, sort, "", *(None if one is None else f"{one[0]} on CPUs {one[1]}" for one in (old, new))
            )


def _sorted_by(things: Iterable[tuple[str, CpuSet]]) -> _Sorts:
    counts: Counter[str] = Counter()
    cpus: dict[str, CpuSet] = {}
    for sort, own in things:
        counts[sort] += 1
        cpus[sort] = cpus.get(sort, EMPTY) | own
    return {sort: (counts[sort], cpus[sort]) for sort in counts}


def _core_sorts(machine: Machine) -> _Sorts:
    return _sorted_by(
        (f"{_threads(core.cpus)}{f', {core.kind}' if core.kind else ''}", core.cpus) for core in machine.cores
    )


def _cluster_sorts(machine: Machine) -> _Sorts:
    return _sorted_by((f"of {len(cluster.cpus)} CPUs", cluster.cpus) for cluster in machine.clusters)


def _threads(cpus: CpuSet) -> str:
    steps = ",".join(str(cpu - cpus.first) for cpu in cpus if cpu != cpus.first)
    return f"of {len(cpus)} threads (n, n+{steps.replace(',', ', n+')})" if steps else "of 1 thread"


_LETTER: Final = {"Data": "d", "Instruction": "i", "Unified": ""}


def _cache_sorts(machine: Machine) -> _Sorts:
    return _sorted_by((_cache_sort(cache), cache.cpus) for cache in machine.caches)


def _cache_sort(cache: Cache) -> str:
    side = "memory-side " if cache.memory_side else ""
    size = "size ?" if cache.size_kib is None else f"{cache.size_kib} KiB"
    return f"{side}L{cache.level}{_LETTER[cache.type]}, {size}, for {len(cache.cpus)} CPUs"


def _clock_sorts(machine: Machine) -> _Sorts:
    return _sorted_by((_clock_sort(policy), policy.cpus) for policy in machine.policies)


def _clock_sort(policy: FrequencyPolicy) -> str:
    return f"{policy.governor or 'governor ?'}, {policy.min_khz or '?'}-{policy.max_khz or '?'} kHz"
