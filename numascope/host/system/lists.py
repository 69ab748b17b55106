"""The lists of CPUs, the NUMA nodes and /proc/cpuinfo, not yet made consistent; and how a value is read out of a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

from numascope.cpuset import EMPTY, LARGEST_ID, CpuSet
from numascope.host import parse
from numascope.host.root import HostRoot

CPU_DIRECTORY: Final = "sys/devices/system/cpu"
NODE_DIRECTORY: Final = "sys/devices/system/node"

_Value = TypeVar("_Value")
_NUMBERED = re.compile(r"([a-z]+)([0-9]{1,5})")


class CpuLists(NamedTuple):
    """The lists of /sys/devices/system/cpu; None where there is no such file, or none that can be."""

    possible: CpuSet | None
    present: CpuSet | None
    online: CpuSet | None
    isolated: CpuSet | None
    nohz_full: CpuSet | None


class NodeRecord(NamedTuple):
    """One `nodeN` directory; memory-side cache sizes in KiB."""

    number: int
    cpus: CpuSet | None
    memory: parse.Memory
    distances: tuple[int, ...] | None
    side_caches: tuple[tuple[int, int | None], ...]
    is_listed: bool = True
    """Whether `cpulist` told the CPUs; else the mask did, or links, or nothing."""


CPU_LISTS: Final = {
    "possible": parse.some_ids,
    "present": parse.some_ids,
    "online": parse.some_ids,
    "isolated": parse.id_list_or_null,
    "nohz_full": parse.id_list_or_null,
}
"""The five lists of CPUs: the first three are never empty, for a CPU has written them."""


def read_cpu_lists(root: HostRoot) -> CpuLists:
    """The five lists of CPUs."""
    return CpuLists(*(read_value(root, f"{CPU_DIRECTORY}/{name}", parser) for name, parser in CPU_LISTS.items()))


def read_kind_lists(root: HostRoot) -> dict[str, CpuSet]:
    """The CPUs of a hybrid x86 processor by kind, `P` and `E`, as its two PMUs `cpu_core` and `cpu_atom` list them."""
    lists = {
        kind: read_value(root, f"sys/devices/{pmu}/cpus", parse.id_list)
        for kind, pmu in (("P", "cpu_core"), ("E", "cpu_atom"))
    }
    return {kind: cpus for kind, cpus in lists.items() if cpus}


def read_nodes(root: HostRoot) -> tuple[NodeRecord, ...]:
    """Every `nodeN` directory by rising number; none where the kernel has no NUMA support."""
    return tuple(_read_node(root, number) for number in numbers_of(root, NODE_DIRECTORY, "node"))


def read_memory(root: HostRoot) -> parse.Memory:
    """The machine's memory as /proc/meminfo has it."""
    return read_value(root, "proc/meminfo", parse.meminfo) or parse.Memory(None, None)


def read_cpuinfo(root: HostRoot) -> dict[str, tuple[str, ...]]:
    """The distinct fields of /proc/cpuinfo; empty where there is none."""
    return read_value(root, "proc/cpuinfo", parse.cpuinfo_fields) or {}


def read_value(root: HostRoot, path: str, parser: Callable[[bytes], _Value | None]) -> _Value | None:
    """A file's value; None where it is absent, denied or not of that format."""
    raw = root.read_if_there(path)
    return None if raw is None else parser(raw)


def numbers_of(root: HostRoot, directory: str, prefix: str) -> list[int]:
    """The numbers behind a prefix in the names of a directory, rising: `cpu`, `node`, `index`, `policy`."""
    return list(_numbered(tuple(root.names(directory)), prefix))


@lru_cache(maxsize=64)
def _numbered(names: tuple[str, ...], prefix: str) -> tuple[int, ...]:
    matches = map(_NUMBERED.fullmatch, names)
    return tuple(
        sorted({int(match[2]) for match in matches if match and match[1] == prefix and int(match[2]) <= LARGEST_ID})
    )


def _read_node(root: HostRoot, number: int) -> NodeRecord:
    directory = f"{NODE_DIRECTORY}/node{number}"
    cpus = read_value(root, f"{directory}/cpulist", parse.id_list)
    is_listed = cpus is not None
    if cpus is None:
        cpus = read_value(root, f"{directory}/cpumap", parse.mask)
    if cpus is None:
        cpus = CpuSet.of(numbers_of(root, directory, "cpu")) or None
    side_caches = tuple(
        (level, read_value(root, f"{directory}/memory_side_cache/index{level}/size", parse.cache_size_kib))
        for level in numbers_of(root, f"{directory}/memory_side_cache", "index")
    )
    return NodeRecord(
        number,
        cpus if cpus is not None else EMPTY,
        read_value(root, f"{directory}/meminfo", parse.meminfo) or parse.Memory(None, None),
        read_value(root, f"{directory}/distance", parse.distances),
        side_caches,
        is_listed,
    )
