"""The cores that a plan may give away: online, allowed, not isolated, not busy, by node and by the cache that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.objects import CoreKind, Machine
from numascope.plan.make.near import NO_NODE

_ROOMY: Final = 8
"""From so many cores of a node on, one is kept by default."""


class FreeCore(NamedTuple):
    """A core and its threads that may be planned; cores of one `group` share their last-level cache."""

    cpus: tuple[int, ...]
    node: int
    group: int
    speed: int = 0
    """Of its kind of core, by what the kernel says of kinds: the higher, the faster; 0 where all are alike."""


class Room(NamedTuple):
    """Node → its cores that may be given away, and those kept for the system, which hold no role."""

    free: Mapping[int, tuple[FreeCore, ...]]
    kept: Mapping[int, tuple[FreeCore, ...]]
    notes: tuple[str, ...]


def room_of(machine: Machine, allowed: CpuSet, busy: CpuSet, reserve: int | None) -> Room:
    """All cores with a CPU to plan, in the order of cache and number; `reserve` cores a node are kept, None: one where there are eight."""
    apart = machine.cpus.isolated | machine.cpus.partitioned
    usable = (machine.cpus.online & allowed) - apart
    notes = []
    if allowed & machine.cpus.online & apart:
        notes.append(
            f"isolated CPUs {allowed & apart & machine.cpus.online} are left out: no threads are balanced there"
        )
    free: dict[int, tuple[FreeCore, ...]] = {}
    kept: dict[int, tuple[FreeCore, ...]] = {}
    for node, cores in _cores_by_node(machine, usable, busy).items():
        wanted = (1 if len(cores) >= _ROOMY else 0) if reserve is None else reserve
        first = sorted(cores, key=lambda core: core.cpus)[:wanted]
        kept[node] = tuple(first)
        free[node] = tuple(core for core in cores if core not in first)
    if busy & usable:
        notes.append(f"busy CPUs {busy & usable} are left out with their whole cores")
    return Room(free, kept, tuple(notes))


def _cores_by_node(machine: Machine, usable: CpuSet, busy: CpuSet) -> dict[int, list[FreeCore]]:
    """By node, fastest kind first, then in the order of their caches; a core of which one CPU is busy is not there."""
    group_of = _groups(machine)
    speed = {cpu: _speed(kind) for kind in machine.kinds for cpu in kind.cpus}
    found: dict[int, list[FreeCore]] = {}
    for cpus in _cores(machine):
        here = cpus & usable
        if here and not cpus & busy:
            node = machine.node_of.get(here.first, NO_NODE)
            core = FreeCore(tuple(here), node, group_of.get(here.first, -1), speed.get(here.first, 0))
            found.setdefault(node, []).append(core)
    for cores in found.values():
        cores.sort(key=lambda core: (-core.speed, core.group, core.cpus))
    return dict(sorted(found.items()))


def _speed(kind: CoreKind) -> int:
    return kind.capacity or kind.max_khz or (1 if kind.kind == "P" else 0)


def _cores(machine: Machine) -> list[CpuSet]:
    """Every core's CPUs; a CPU of no known core is one of its own."""
    found, rest = [], machine.cpus.online
    for core in machine.cores:
        if core.cpus & rest:
            found.append(core.cpus & rest)
            rest -= core.cpus
    return [*found, *(CpuSet(1 << cpu) for cpu in rest)]


def _groups(machine: Machine) -> dict[int, int]:
    """CPU → the lowest CPU of the smallest cache that several cores share, of level 3 and above, else of a cluster; absent: of neither."""
    found: dict[int, int] = {}
    core_of = {cpu: core.cpus for core in machine.cores for cpu in core.cpus}

    def take(cpus: CpuSet) -> None:
        if cpus and not cpus <= core_of.get(cpus.first, EMPTY):
            for cpu in cpus:
                found.setdefault(cpu, cpus.first)

    for cache in sorted(machine.caches, key=lambda one: len(one.cpus)):
        if cache.level >= 3 and not cache.memory_side:
            take(cache.cpus)
    if not found:
        for cluster in machine.clusters:
            take(cluster.cpus)
    return found


def by_group(cores: Sequence[FreeCore]) -> list[list[FreeCore]]:
    """The cores in their order, those of one cache together."""
    groups: dict[tuple[int, int], list[FreeCore]] = {}
    for core in cores:
        groups.setdefault((core.node, core.group), []).append(core)
    return list(groups.values())
