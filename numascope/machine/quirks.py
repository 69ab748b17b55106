"""What firmware and kernels get wrong or leave out, one function each; each names the captured machine that proves it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from numascope.cpuset import EMPTY, CpuSet
from numascope.host.system.cpus import CpuRecord
from numascope.host.system.lists import CPU_DIRECTORY, NODE_DIRECTORY, NodeRecord
from numascope.machine.objects import Core, Device, Node, Package

NO_CLUSTER: Final = 65_535
"""The kernel's −1 in 16 bits: x86 firmware that tells no cluster."""

_NO_PACKAGE: Final = 65_535
_HIGHEST_PACKAGE: Final = (1 << 31) - 2
"""`physical_package_id` is an int (drivers/base/topology.c): its largest value and all above are −1 written without a sign."""


def online_from_directories(records: Iterable[CpuRecord]) -> CpuSet:
    """Takes each CPU's own `online` file where there is no list of them; CPU 0 often has none and is on (hwloc-16em64t-offlines)."""
    return CpuSet.of(record.number for record in records if record.online is not False)


def online_without_directory(listed: CpuSet | None, records: Iterable[CpuRecord]) -> str | None:
    """A copy of /sys may lack directories of CPUs that its lists name: left out, for nothing is known of them."""
    left = (listed or EMPTY) - CpuSet.of(record.number for record in records)
    if not left:
        return None
    verbs = "is online but has" if len(left) == 1 else "are online but have"
    return f"{named('CPU', left)} {verbs} no directory ({files(left, f'/{CPU_DIRECTORY}/cpu{{}}')}): left out"


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


def package_is_told(number: int | None) -> bool:
    """Says whether a package id is one: −1, also as 65535 or 4294967295, is firmware that does not tell."""
    return number is not None and number != _NO_PACKAGE and 0 <= number <= _HIGHEST_PACKAGE


def usable_package_ids(found: Sequence[tuple[int | None, CpuSet]], where: str = "") -> tuple[list[int], str | None]:
    """Gives packages numbers of their own where the kernel says −1 or the same number twice (lscpu-ppc64-POWER7-64cpu, lscpu-sparc64); ` (path)` is where."""
    usable = [number for number, _ in found if number is not None and package_is_told(number)]
    if len(usable) == len(found) and len(set(usable)) == len(usable):
        return usable, None
    return list(range(len(found))), f"the kernel gives no usable package numbers{where}: numbered here by lowest CPU"


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
    who = CpuSet.of(node.number for node in nodes if not twice.isdisjoint(node.cpus or EMPTY))
    where = files(who, f"/{NODE_DIRECTORY}/node{{}}/cpulist")
    count = "this CPU counts" if len(twice) == 1 else "these CPUs count"
    return f"nodes {who} all list {named('CPU', twice)} ({where}): contradictory, so {count} as of no node"


def cores_as_packages(
    packages: Sequence[Package], cores: Sequence[Core], nodes: Sequence[Node], records: Iterable[CpuRecord]
) -> str | None:
    """Firmware and hypervisors that number each core as a package (made-contradictory): kept, and said; packages that are numbered here are no claim of theirs."""
    if {package.id for package in packages} != {
        record.places["package"].id for record in records if "package" in record.places
    }:
        return None
    shared = any(len(node.packages) > 1 for node in nodes)
    if len(packages) < 3 or len(packages) != len(cores) or not shared:
        return None
    if {package.cpus for package in packages} != {core.cpus for core in cores}:
        return None
    where = files(first_cpus(packages), f"/{CPU_DIRECTORY}/cpu{{}}/topology/physical_package_id")
    return f"each of the {len(packages)} packages is one core ({where}): the firmware counts cores as packages"


def first_cpus(packages: Iterable[Package]) -> CpuSet:
    """The first CPU of each package."""
    return CpuSet.of(package.cpus.first for package in packages)


def named(what: str, numbers: CpuSet) -> str:
    """`CPU 3`, `CPUs 3-4`."""
    return f"{what if len(numbers) == 1 else what + 's'} {numbers}"


def files(numbers: CpuSet, pattern: str) -> str:
    """The first of the files behind a note, and how many more there are like it."""
    first = pattern.format(numbers.first)
    return first if len(numbers) == 1 else f"{first} and {len(numbers) - 1} more"


def cpus_that_are_off(nodes: Sequence[NodeRecord], online: CpuSet) -> str | None:
    """Old kernels and s390 list CPUs of a node that are offline or absent: left out (hwloc-16amd64-8n2c-cpusets, lscpu-s390-lpar-drawer)."""
    off, who = EMPTY, []
    for node in nodes:
        left = (node.cpus or EMPTY) - online
        off |= left
        who += [node.number] if left else []
    if not off:
        return None
    where = files(CpuSet.of(who), f"/{NODE_DIRECTORY}/node{{}}/cpulist")
    nodes_list = f"node {who[0]} lists" if len(who) == 1 else "nodes list"
    verb = "is" if len(off) == 1 else "are"
    return f"{nodes_list} {named('CPU', off)}, which {verb} not online ({where}): left out"


def cpus_of_no_node(node_of: Mapping[int, int], nodes: Sequence[NodeRecord], online: CpuSet) -> str | None:
    """CPUs that no node lists are in none: never put into the nearest by guess."""
    listed = CpuSet.of(node_of)
    for node in nodes:
        listed |= node.cpus or EMPTY
    left = online - listed
    if not left:
        return None
    verb, pronoun = ("is", "it") if len(left) == 1 else ("are", "them")
    return f"{named('CPU', left)} {verb} in no node (no /{NODE_DIRECTORY}/node*/cpulist lists {pronoun})"


def cpus_without_topology(records: Iterable[CpuRecord], online: CpuSet) -> str | None:
    """Online CPUs whose `topology/` files are absent (old kernels, trimmed captures), empty or unreadable are in no core and no package."""
    left = CpuSet.of(record.number for record in records if record.number in online and not record.places)
    if not left:
        return None
    where = files(left, f"/{CPU_DIRECTORY}/cpu{{}}/topology")
    has, whose = ("has", "its core and package are") if len(left) == 1 else ("have", "their cores and packages are")
    return f"{named('CPU', left)} {has} no readable topology files ({where}): {whose} unknown"


def distance_rows(nodes: Sequence[NodeRecord]) -> tuple[dict[int, dict[int, int]], str | None]:
    """Pairs each row of `distance` with the nodes that are online; a row of another length tells nothing."""
    numbers = [node.number for node in nodes]
    rows: dict[int, dict[int, int]] = {}
    misfits = []
    for node in nodes:
        if node.distances is not None and len(node.distances) == len(numbers):
            rows[node.number] = dict(zip(numbers, node.distances, strict=True))
        elif node.distances is not None:
            misfits.append(node.number)
    if not misfits:
        return rows, None
    where = files(CpuSet.of(misfits), f"/{NODE_DIRECTORY}/node{{}}/distance")
    has = "has" if len(misfits) == 1 else "have"
    return rows, f"{named('node', CpuSet.of(misfits))} {has} distances to another number of nodes ({where}): left out"


def devices_that_disagree(devices: Sequence[Device]) -> str | None:
    """Sources that name several nodes for one device, and devices below one root port that say they are near several (ghw-2socket-24)."""
    found = []
    below: dict[tuple[str, ...], list[Device]] = {}
    for device in devices:
        claims = [claim for claim in device.claims if claim.node is not None]
        if len({claim.node for claim in claims}) > 1:
            said = ", ".join(f"{claim.value} in {claim.path}" for claim in claims)
            found.append(f"{device.address} ({said}): taken as node {'?' if device.node is None else device.node}")
        if len(device.path) > 2 and device.node is not None:
            below.setdefault(device.path[:2], []).append(device)
    for (_, port), sharers in below.items():
        nodes: dict[int | None, Device] = {}
        for device in sharers:
            nodes.setdefault(device.node, device)
        if len(nodes) > 1:
            said = ", ".join(
                f"node {node} of {device.address} by {device.node_source}" for node, device in nodes.items()
            )
            found.append(f"what is below {port} ({said}): kept as told")
    return f"sources disagree on the node of {'; '.join(found)}" if found else None
