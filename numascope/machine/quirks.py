"""What firmware and kernels get wrong or leave out, one function each; each names the captured machine that proves it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from numascope.cpuset import EMPTY, CpuSet
from numascope.host.sysfs import CpuRecord, NodeRecord

NO_CLUSTER: Final = 65_535
"""The kernel's −1 in 16 bits: x86 firmware that tells no cluster."""


def online_from_directories(records: Iterable[CpuRecord]) -> CpuSet:
    """Takes each CPU's own `online` file where there is no list of them; CPU 0 often has none and is on (hwloc-16em64t-offlines)."""
    return CpuSet.of(record.number for record in records if record.online is not False)


def online_without_directory(listed: CpuSet | None, records: Iterable[CpuRecord]) -> str | None:
    """A copy of /sys may lack directories of CPUs that its lists name: left out, for nothing is known of them."""
    left = (listed or EMPTY) - CpuSet.of(record.number for record in records)
    return f"CPUs {left} are online but have no directory: left out" if left else None


def level_is_told(level: str, number: int | None) -> bool:
    """Says whether an id means something: clusters of id 65535 (iree-ryzen7950x) and dies of id −1 (lscpu-arm-A510-A710-A715-X3) are not told."""
    if level == "cluster" and number == NO_CLUSTER:
        return False
    return level in ("core", "package") or (number is not None and number >= 0)


def sharers_of_cache(cpu: int, told: CpuSet | None) -> CpuSet:
    """Itanium kernels write an empty mask for a cache that one CPU has alone (misc-ia64-56cpu); no file at all tells nothing."""
    if told is None:
        return EMPTY
    return told or CpuSet.of([cpu])


def usable_package_ids(found: Sequence[tuple[int | None, CpuSet]]) -> tuple[list[int], str | None]:
    """Gives packages numbers of their own where the kernel says −1 or the same number twice (lscpu-ppc64-POWER7-64cpu, lscpu-sparc64)."""
    told = [number for number, _ in found if number is not None and number >= 0]
    if len(told) == len(found) and len(set(told)) == len(told):
        return told, None
    return list(range(len(found))), "the kernel gives no usable package numbers: numbered here by lowest CPU"


def implicit_node() -> str:
    """A kernel without NUMA support has no node directory: one node 0 with every CPU stands for it, as hwloc does (misc-ia64-56cpu, lscpu-sparc64)."""
    return "the kernel lists no NUMA nodes: node 0 stands for the whole machine"


def nodes_that_overlap(nodes: Sequence[NodeRecord], online: CpuSet) -> str | None:
    """Firmware that puts every CPU in every node contradicts itself: kept as told, but no CPU gets a node (hwloc-8em64t-buggynuma)."""
    seen, twice = EMPTY, EMPTY
    for node in nodes:
        cpus = (node.cpus or EMPTY) & online
        twice |= seen & cpus
        seen |= cpus
    if not twice:
        return None
    return f"several nodes list CPUs {twice}: contradictory, so these CPUs count as of no node"


def cpus_that_are_off(nodes: Sequence[NodeRecord], online: CpuSet) -> str | None:
    """Old kernels and s390 list CPUs of a node that are offline or absent: left out (hwloc-16amd64-8n2c-cpusets, lscpu-s390-lpar-drawer)."""
    off = EMPTY
    for node in nodes:
        off |= (node.cpus or EMPTY) - online
    return f"nodes list CPUs {off}, which are not online: left out" if off else None


def cpus_of_no_node(node_of: Mapping[int, int], nodes: Sequence[NodeRecord], online: CpuSet) -> str | None:
    """CPUs that no node lists are in none: never put into the nearest by guess."""
    listed = CpuSet.of(node_of)
    for node in nodes:
        listed |= node.cpus or EMPTY
    left = online - listed
    return f"CPUs {left} are in no node" if left else None


def cpus_without_topology(records: Iterable[CpuRecord], online: CpuSet) -> str | None:
    """Online CPUs without `topology/` files (old kernels, trimmed captures) are in no core and no package."""
    left = CpuSet.of(record.number for record in records if record.number in online and not record.places)
    return f"CPUs {left} have no topology files: their cores and packages are unknown" if left else None


def distance_rows(nodes: Sequence[NodeRecord]) -> tuple[dict[int, dict[int, int]], str | None]:
    """Pairs each row of `distance` with the nodes that are online; a row of another length tells nothing."""
    numbers = [node.number for node in nodes]
    rows: dict[int, dict[int, int]] = {}
    odd = []
    for node in nodes:
        if node.distances is not None and len(node.distances) == len(numbers):
            rows[node.number] = dict(zip(numbers, node.distances, strict=True))
        elif node.distances is not None:
            odd.append(node.number)
    note = f"nodes {CpuSet.of(odd)} have distances to another number of nodes: left out" if odd else None
    return rows, note
