"""NUMA nodes out of an hwloc XML file: memory, huge pages, distances, access, memory-side caches."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from numascope.cpuset import EMPTY, LARGEST_ID, BadIdListError, CpuSet
from numascope.errors import InputError
from numascope.machine.hwloc.locality import own_cpus, packages_of
from numascope.machine.hwloc.parse import MOST_BYTES, HwlocObject, Matrix, Topology
from numascope.machine.objects import Access, Cache, HugePages, Node

OWN_CPUS: Final = "NumascopeCpus"
"""Our own information on a node: the CPUs that are its own, where hwloc's cpuset must say those of its neighbours."""

OWN_DISTANCES: Final = "NumascopeDistances"
"""Our own information on a node: its distances (`0:10 1:21`) where hwloc takes no matrix of them, as of a single node."""

_PAIRS = re.compile(r"[0-9]{1,5}:[0-9]{1,9}(?: [0-9]{1,5}:[0-9]{1,9}){0,1023}")
_LATENCY: Final = 4
"""HWLOC_DISTANCES_KIND_MEANS_LATENCY: files of hwloc 2.0 give distances no name."""

_LARGEST_BASE_PAGE: Final = 65_536
_FROM_CPUS: Final = 1
"""hwloc's initiators are CPUs: the kernel's access class 1."""

_MEASURED: Final = frozenset({
    "Latency", "ReadLatency", "WriteLatency", "Bandwidth", "ReadBandwidth", "WriteBandwidth",
})  # fmt: skip
"""hwloc's memory attributes, in nanoseconds and MiB a second."""


def nodes_of(
    topology: Topology, online: CpuSet, package_of: Mapping[int, int]
) -> tuple[tuple[Node, ...], list[Cache], str | None]:
    """The nodes by number, their memory-side caches, and a note where whose the CPUs are had to be concluded."""
    objects: dict[int, HwlocObject] = {}
    for found in topology.objects:
        if found.type == "NUMANode":
            number = topology.number(found, "os_index")
            if number is None or number > LARGEST_ID or number in objects:
                raise InputError(
                    topology.name, f"a NUMA node needs an os_index of its own, up to {LARGEST_ID}", *found.at
                )
            objects[number] = found
    localities = {number: found.sets.get("cpuset", EMPTY) & online for number, found in objects.items()}
    told = {number: _told_cpus(topology, found) for number, found in objects.items()}
    cpus = own_cpus(localities.items())
    cpus |= {number: own & online for number, own in told.items() if own is not None}
    concluded = CpuSet.of(number for number, own in told.items() if own is None and localities[number] != cpus[number])
    distances = _distances(topology, objects)
    access = _access(topology, objects, cpus)
    nodes = tuple(
        Node(
            number,
            cpus[number],
            topology.kib(objects[number], "local_memory"),
            None,
            packages_of(cpus[number], package_of),
            distances=distances.get(number, {}),
            huge_pages=_huge_pages(topology, objects[number]),
            access=tuple(access.get(number, ())),
        )
        for number in sorted(objects)
    )
    sides = [side for number in sorted(objects) for side in _side_caches(topology, objects[number], cpus[number])]
    who = f"node {concluded} counts" if len(concluded) == 1 else f"nodes {concluded} count"
    note = f"{who} as without CPUs: the file gives CPUs there that another node has"
    return nodes, sides, note if concluded else None


def _told_cpus(topology: Topology, found: HwlocObject) -> CpuSet | None:
    text = found.infos.get(OWN_CPUS)
    try:
        return None if text is None else CpuSet.parse(text)
    except BadIdListError as error:
        raise InputError(topology.name, f"{OWN_CPUS}: {error.problem}", *found.at) from None


def _huge_pages(topology: Topology, found: HwlocObject) -> tuple[HugePages, ...]:
    """All sizes but the ordinary one, which is the smallest, and at most 64 KiB on any Linux."""
    for size, count in found.pages:
        if size * count > MOST_BYTES:
            problem = f"{count} pages of {size} bytes, more than any machine has ({MOST_BYTES} bytes)"
            raise InputError(topology.name, problem, *found.at)
    base = min((size for size, _ in found.pages), default=0)
    return tuple(
        HugePages(size // 1024, count, None)
        for size, count in sorted(found.pages)
        if size >= 1024 and not size == base <= _LARGEST_BASE_PAGE
    )


def _side_caches(topology: Topology, node: HwlocObject, cpus: CpuSet) -> list[Cache]:
    """The memory-side caches that a node stands in, the lowest level first."""
    found = []
    around = node.parent
    while around is not None and topology.objects[around].type == "MemCache":
        cache = topology.objects[around]
        level, size = topology.number(cache, "depth"), topology.kib(cache, "cache_size")
        found.append(Cache(1 if level is None else level, "Unified", size or None, cpus, memory_side=True))
        around = cache.parent
    return sorted(found, key=lambda side: side.level)


def _distances(topology: Topology, nodes: Mapping[int, HwlocObject]) -> dict[int, dict[int, int]]:
    """The firmware's distances by node and node, of the first matrix that holds them, else of the nodes themselves."""
    for matrix in topology.matrices:
        if matrix.type == "NUMANode" and (matrix.name == "NUMALatency" or (not matrix.name and matrix.kind & _LATENCY)):
            numbers = _numbered(topology, matrix, nodes)
            width = len(numbers)
            return {
                start: dict(zip(numbers, matrix.values[row * width : (row + 1) * width], strict=True))
                for row, start in enumerate(numbers)
            }
    return {number: _told_distances(topology, found) for number, found in nodes.items() if OWN_DISTANCES in found.infos}


def _told_distances(topology: Topology, found: HwlocObject) -> dict[int, int]:
    text = found.infos[OWN_DISTANCES]
    if not _PAIRS.fullmatch(text):
        raise InputError(topology.name, f'{OWN_DISTANCES}: expected pairs such as "0:10 1:21"', *found.at)
    return {int(node): int(distance) for node, distance in (pair.split(":") for pair in text.split(" "))}


def _numbered(topology: Topology, matrix: Matrix, nodes: Mapping[int, HwlocObject]) -> list[int]:
    """The nodes of a matrix; InputError where it is not square, or of nodes that there are not."""
    numbers = matrix.indexes
    if not matrix.by_os_index:
        by_gp_index = {topology.number(found, "gp_index"): number for number, found in nodes.items()}
        numbers = [by_gp_index.get(index, -1) for index in matrix.indexes]
    if len(matrix.values) != len(numbers) ** 2 or len(set(numbers)) != len(numbers) or not set(numbers) <= set(nodes):
        raise InputError(
            topology.name, "the distances are not those of the file's nodes, one for each pair", *matrix.at
        )
    return numbers


def _access(
    topology: Topology, objects: Mapping[int, HwlocObject], cpus: Mapping[int, CpuSet]
) -> dict[int, list[Access]]:
    """Latencies and bandwidths by node; the initiators are the nodes whose CPUs the file names."""
    by_gp_index = {found.attributes.get("gp_index"): number for number, found in objects.items()}
    values: dict[tuple[int, CpuSet], dict[str, int]] = {}
    for one in topology.memory_values:
        number = by_gp_index.get(one.target)
        if number is not None:
            values.setdefault((number, one.initiators), {})[one.name] = one.value
    found: dict[int, list[Access]] = {}
    for (number, initiators), named in values.items():
        if not set(named) & _MEASURED:
            continue
        starts = CpuSet.of(node for node, own in cpus.items() if own and own <= initiators)
        found.setdefault(number, []).append(
            Access(
                _FROM_CPUS,
                starts,
                named.get("ReadLatency", named.get("Latency")),
                named.get("WriteLatency", named.get("Latency")),
                named.get("ReadBandwidth", named.get("Bandwidth")),
                named.get("WriteBandwidth", named.get("Bandwidth")),
            )
        )
    return found
