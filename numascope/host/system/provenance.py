"""The files behind one object, as they stand: what a CPU's, a node's or a device's facts were read from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.host import parse
from numascope.host.pci.address import PCI_DIRECTORY, place_of
from numascope.host.root import HostRoot
from numascope.host.system.clocks import POLICIES
from numascope.host.system.lists import CPU_DIRECTORY, CPU_LISTS, NODE_DIRECTORY, numbers_of, read_value
from numascope.host.system.memory import TIERS
from numascope.host.text import safe_text

_MOST_CHARACTERS: Final = 400
_NODE_LISTS: Final = ("possible", "online", "has_cpu", "has_memory")
_CACHE_FILES: Final = ("level", "type", "size", "shared_cpu_list", "shared_cpu_map")
_CLOCK_FILES: Final = (
    "affected_cpus", "scaling_driver", "scaling_governor", "scaling_min_freq", "scaling_max_freq", "cpuinfo_max_freq",
)  # fmt: skip
_DEVICE_FILES: Final = ("class", "vendor", "device", "numa_node", "local_cpulist", "local_cpus")


class Evidence(NamedTuple):
    """A file and its content in one line, safe to print; None where it cannot be read."""

    path: str
    value: str | None


def evidence_of_cpu(root: HostRoot, cpu: int) -> tuple[Evidence, ...]:
    """The lists, the CPU's own directory with topology and caches, its clock, and the nodes that name it."""
    own = f"{CPU_DIRECTORY}/cpu{cpu}"
    paths = [f"{CPU_DIRECTORY}/{name}" for name in CPU_LISTS]
    paths += [f"{own}/{name}" for name in ("online", "cpu_capacity")]
    paths += [f"{own}/topology/{name}" for name in root.names(f"{own}/topology")]
    paths += [
        f"{own}/cache/index{index}/{name}"
        for index in numbers_of(root, f"{own}/cache", "index")
        for name in _CACHE_FILES
    ]
    paths += [
        f"{POLICIES}/policy{number}/{name}"
        for number in numbers_of(root, POLICIES, "policy")
        if cpu
        in (read_value(root, f"{POLICIES}/policy{number}/affected_cpus", parse.spaced_ids) or CpuSet.of([number]))
        for name in _CLOCK_FILES
    ]
    paths += [f"sys/devices/{pmu}/cpus" for pmu in ("cpu_core", "cpu_atom")]
    return (*_there(root, paths), *_nodes_naming(root, cpu))


def _nodes_naming(root: HostRoot, cpu: int) -> Iterator[Evidence]:
    for node in numbers_of(root, NODE_DIRECTORY, "node"):
        for name, parser in (("cpulist", parse.id_list), ("cpumap", parse.mask)):
            cpus = read_value(root, f"{NODE_DIRECTORY}/node{node}/{name}", parser)
            if cpus is not None:
                if cpu in cpus:
                    yield from _there(root, [f"{NODE_DIRECTORY}/node{node}/{name}"])
                break


def evidence_of_node(root: HostRoot, node: int) -> tuple[Evidence, ...]:
    """The node's own directory: CPUs, memory, distances, huge pages, access figures, memory-side caches; and its tier."""
    own = f"{NODE_DIRECTORY}/node{node}"
    paths = [f"{NODE_DIRECTORY}/{name}" for name in _NODE_LISTS]
    paths += [f"{own}/{name}" for name in ("cpulist", "cpumap", "distance")]
    for directory, files in (
        (f"{own}/hugepages", ("nr_hugepages", "free_hugepages")),
        (f"{own}/memory_side_cache", ("size", "line_size", "indexing")),
    ):
        paths += [f"{directory}/{name}/{file}" for name in root.names(directory) for file in files]
    for number in numbers_of(root, own, "access"):
        directory = f"{own}/access{number}/initiators"
        paths += [f"{directory}/{name}" for name in root.names(directory) if not name.startswith("node")]
    paths += [
        f"{TIERS}/{name}/nodelist"
        for name in root.names(TIERS)
        if node in (read_value(root, f"{TIERS}/{name}/nodelist", parse.id_list) or ())
    ]
    return (*_there(root, paths), *_memory(root, f"{own}/meminfo"))


def _memory(root: HostRoot, path: str) -> Iterator[Evidence]:
    """The two lines of a node's `meminfo` that are used."""
    for line in (root.read_if_there(path) or b"").splitlines():
        if b"MemTotal:" in line or b"MemFree:" in line:
            yield Evidence(f"/{path}", safe_text(b" ".join(line.split())))


def evidence_of_device(root: HostRoot, address: str) -> tuple[Evidence, ...]:
    """The files of a PCI device, where its link leads, and what the bridges above it say of their node, the nearest first."""
    directory = f"{PCI_DIRECTORY}/{address}"
    link = root.link(directory)
    told = [] if link is None else [Evidence(f"/{directory}", f"-> {safe_text(link)}")]
    paths = [f"{directory}/{name}" for name in _DEVICE_FILES]
    bridges = reversed(place_of(root, address).directories[:-1])
    paths += [f"{bridge}/{name}" for bridge in bridges for name in ("numa_node", "local_cpulist")]
    return (*told, *_there(root, paths))


def _there(root: HostRoot, paths: Iterable[str]) -> list[Evidence]:
    """These files, without those that are absent."""
    found = []
    for path in paths:
        raw = root.read_if_there(path, 1 << 16)
        if raw is not None:
            found.append(Evidence(f"/{path}", parse.text(b" ".join(raw.split()))[:_MOST_CHARACTERS]))
    return found
