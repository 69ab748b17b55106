"""From an hwloc XML file (version 2, as `lstopo --of xml` writes it) to a Machine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from numascope.cpuset import EMPTY, LARGEST_ID, CpuSet
from numascope.errors import InputError
from numascope.host.text import safe_text
from numascope.machine import quirks
from numascope.machine.hwloc.devices import pci_devices
from numascope.machine.hwloc.locality import by_cpu, core_at, nodes_by_cpu
from numascope.machine.hwloc.nodes import nodes_of
from numascope.machine.hwloc.parse import HwlocObject, Topology, decimal, parse_hwloc
from numascope.machine.objects import Cache, Core, CoreKind, Cpus, Group, Machine, Node, Package

_CACHE = re.compile(r"L([1-5])(i?)Cache")
_CACHE_TYPES: Final = {"0": "Unified", "1": "Data", "2": "Instruction"}
_KINDS: Final = {"IntelCore": "P", "IntelAtom": "E"}
"""hwloc's CoreType, and numascope's words for the same."""

TELLS_NOT: Final = "an hwloc file tells neither isolated CPUs nor free memory"
"""The note of every machine that was read from such a file."""


def read_hwloc_xml(data: bytes, name: str, *, io: bool = False) -> Machine:
    """The machine that an hwloc 2 XML file describes, with `io` its NICs and NVMe drives too; InputError (with line and column) where it is none, is hostile or too large."""
    topology = parse_hwloc(data, name)
    cpus, cpu_note = _cpus(topology)
    objects = [found for found in topology.objects if found.sets.get("cpuset", EMPTY) & cpus.online]
    packages, package_note = _packages(topology, objects, cpus.online)
    package_of = {cpu: package.id for package in packages for cpu in package.cpus}
    dies = _groups(topology, objects, "Die", cpus.online, package_of)
    nodes, sides, node_note = nodes_of(topology, cpus.online, package_of)
    _check_threads(topology)
    caches = (*_caches(topology, objects, cpus.online), *sides)
    kinds = _kinds(topology, cpus.online)
    root, numbers = topology.objects[0], CpuSet.of(node.id for node in nodes)
    allowed = root.sets.get("allowed_nodeset")
    nodes_offline = root.sets.get("complete_nodeset", EMPTY) - numbers
    has_pci = any(found.type == "PCIDev" for found in topology.objects)
    missing = [
        None if caches else "the file describes no caches",
        None if has_pci else "no PCI devices in the file (lstopo --whole-io writes them): accelerators are unknown",
    ]
    notes = [
        package_note,
        node_note,
        cpu_note,
        _note_of_left("nodes", nodes_offline, all_allowed=allowed == numbers),
        *missing,
        TELLS_NOT,
    ]
    return Machine(
        source=name,
        arch=_info(topology, "Architecture"),
        model=_info(topology, "CPUModel"),
        cpus=cpus,
        packages=packages,
        dies=dies,
        clusters=_groups(topology, objects, "Cluster", cpus.online, package_of),
        books=_groups(topology, objects, "Book", cpus.online, {}),
        drawers=_groups(topology, objects, "Drawer", cpus.online, {}),
        nodes=nodes,
        nodes_allowed=None if allowed is None else allowed & numbers,
        caches=caches,
        cores=_cores(topology, objects, cpus.online, (packages, dies, nodes), kinds),
        kinds=kinds,
        devices=pci_devices(topology, nodes, io=io),
        notes=tuple(note for note in notes if note is not None),
        partial=any(missing),
        nodes_offline=nodes_offline,
        untold=("isolated", "nohz_full", "rcu_nocbs", "partitioned"),
        node_of=nodes_by_cpu(nodes),
    )


def _cpus(topology: Topology) -> tuple[Cpus, str | None]:
    """The root's sets; what it lacks of its complete set hwloc found offline, or left out because it was not allowed."""
    root = topology.objects[0]
    online = root.sets.get("cpuset", EMPTY)
    if not online:
        raise InputError(topology.name, "the root object has no CPU in its cpuset", *root.at)
    present = root.sets.get("complete_cpuset", online) | online
    allowed = root.sets.get("allowed_cpuset")
    allowed = None if allowed is None else allowed & online
    left = present - online
    return Cpus(present, present, online, left, allowed, EMPTY), _note_of_left(
        "CPUs", left, all_allowed=allowed == online
    )


def _check_threads(topology: Topology) -> None:
    """InputError where a PU has no number that a CPU may have, or where the file has no PU at all."""
    threads = [found for found in topology.objects if found.type == "PU"]
    if not threads:
        raise InputError(
            topology.name, "no object of type PU: it describes no hardware thread", *topology.objects[0].at
        )
    for found in threads:
        number = topology.number(found, "os_index")
        if number is None or number > LARGEST_ID:
            raise InputError(topology.name, f"a PU needs an os_index, up to {LARGEST_ID}", *found.at)


def _note_of_left(what: str, left: CpuSet, *, all_allowed: bool) -> str | None:
    """Where the file holds nothing that is not allowed, what it leaves out may be just that."""
    if not left or not all_allowed:
        return None
    return f"{what} {left} count as offline; where lstopo ran without --disallowed they may only be not allowed"


def _packages(
    topology: Topology, objects: Sequence[HwlocObject], online: CpuSet
) -> tuple[tuple[Package, ...], str | None]:
    found = _by_lowest_cpu(objects, online, "Package")
    numbers, note = quirks.usable_package_ids([(topology.number(one, "os_index"), cpus) for cpus, one in found])
    packages = [Package(number, cpus) for number, (cpus, _) in zip(numbers, found, strict=True)]
    return tuple(sorted(packages, key=lambda package: package.id)), note


def _groups(
    topology: Topology, objects: Sequence[HwlocObject], kind: str, online: CpuSet, package_of: dict[int, int]
) -> tuple[Group, ...]:
    """Dies, and groups of one subtype; without a number of their own they are numbered within their package."""
    seen: dict[int | None, int] = {}
    groups = []
    for cpus, found in _by_lowest_cpu(objects, online, kind):
        package = package_of.get(cpus.first)
        number = topology.number(found, "os_index")
        groups.append(Group(package, seen.get(package, 0) if number is None else number, cpus))
        seen[package] = seen.get(package, 0) + 1
    return tuple(
        sorted(groups, key=lambda group: (-1 if group.package is None else group.package, group.id, group.cpus.first))
    )


def _caches(topology: Topology, objects: Sequence[HwlocObject], online: CpuSet) -> list[Cache]:
    found: dict[tuple[int, str, int], Cache] = {}
    for one in objects:
        named = _CACHE.fullmatch(one.type)
        if named is None:
            continue
        level, cpus = int(named[1]), one.sets["cpuset"] & online
        kind = "Instruction" if named[2] else _CACHE_TYPES.get(one.attributes.get("cache_type", "0"), "Unified")
        size = topology.kib(one, "cache_size")
        found.setdefault((level, kind, cpus.bits), Cache(level, kind, size or None, cpus))
    return sorted(found.values(), key=lambda cache: (cache.level, cache.type, cache.cpus.first, len(cache.cpus)))


def _cores(
    topology: Topology,
    objects: Sequence[HwlocObject],
    online: CpuSet,
    around: tuple[Sequence[Package], Sequence[Group], Sequence[Node]],
    kinds: Sequence[CoreKind],
) -> tuple[Core, ...]:
    packages, dies = by_cpu(around[0]), by_cpu(around[1])
    numbered = {node.id: node for node in around[2]}
    nodes = {cpu: numbered[number] for cpu, number in nodes_by_cpu(around[2]).items()}
    return tuple(
        core_at(
            cpus,
            packages,
            dies,
            nodes,
            topology.number(found, "os_index"),
            next((kind.kind for kind in kinds if cpus.first in kind.cpus), None),
        )
        for cpus, found in _by_lowest_cpu(objects, online, "Core")
    )


def _kinds(topology: Topology, online: CpuSet) -> tuple[CoreKind, ...]:
    """The kinds of cores by lowest CPU; one kind alone says that all are alike."""
    found = []
    for kind in topology.kinds:
        capacity, mhz = (
            decimal(topology.name, kind.at, name, kind.infos[name]) if name in kind.infos else None
            for name in ("LinuxCapacity", "FrequencyMaxMHz")
        )
        if kind.cpus & online:
            found.append(
                CoreKind(
                    kind.cpus & online,
                    _KINDS.get(kind.infos.get("CoreType", "")),
                    capacity,
                    None if mhz is None else mhz * 1000,
                )
            )
    return tuple(sorted(found, key=lambda kind: kind.cpus.first)) if len(found) > 1 else ()


def _by_lowest_cpu(objects: Sequence[HwlocObject], online: CpuSet, kind: str) -> list[tuple[CpuSet, HwlocObject]]:
    """The objects of one type, or groups of one subtype, each set of online CPUs once."""
    found: dict[int, tuple[CpuSet, HwlocObject]] = {}
    for one in objects:
        if kind in (one.type, one.attributes.get("subtype") if one.type == "Group" else None):
            cpus = one.sets["cpuset"] & online
            found.setdefault(cpus.bits, (cpus, one))
    return sorted(found.values(), key=lambda pair: (pair[0].first, len(pair[0])))


def _info(topology: Topology, name: str) -> str | None:
    """An information that the root or the first package gives."""
    given = (one.infos.get(name) for one in topology.objects if one.type in ("Machine", "Package"))
    return next((safe_text(" ".join(text.split())) for text in given if text and text.strip()), None)
