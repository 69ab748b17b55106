"""CPUs, caches and NUMA nodes as /sys/devices/system lists them, not yet made consistent."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from numascope.cpuset import EMPTY, LARGEST_ID, CpuSet
from numascope.host import parse
from numascope.host.root import HostRoot

CPU_DIRECTORY: Final = "sys/devices/system/cpu"
NODE_DIRECTORY: Final = "sys/devices/system/node"

_Value = TypeVar("_Value")
_NUMBERED = re.compile(r"([a-z]+)([0-9]{1,5})")

LEVELS: Final = {
    "core": ("core_cpus", "thread_siblings"),
    "package": ("package_cpus", "core_siblings"),
    "die": ("die_cpus",),
    "cluster": ("cluster_cpus",),
    "book": ("book_siblings",),
    "drawer": ("drawer_siblings",),
}
"""Each level's file under `topology/`, the new name before the old (Documentation/admin-guide/cputopology.rst)."""

_ID_FILES: Final = {"core": "core_id", "package": "physical_package_id"}


@dataclass(frozen=True, slots=True)
class CpuLists:
    """The lists of /sys/devices/system/cpu; None where there is no such file."""

    possible: CpuSet | None
    present: CpuSet | None
    online: CpuSet | None
    isolated: CpuSet | None
    nohz_full: CpuSet | None


@dataclass(frozen=True, slots=True)
class Place:
    """One CPU's place on one level: the level's id and its CPUs, each None where the kernel does not tell."""

    id: int | None
    cpus: CpuSet | None


@dataclass(frozen=True, slots=True)
class CacheRecord:
    """One `cache/indexN` directory; `cpus` None where no file tells, empty where the kernel writes an empty mask."""

    level: int
    type: str
    size_kib: int | None
    cpus: CpuSet | None


@dataclass(frozen=True, slots=True)
class CpuRecord:
    """One `cpuN` directory; `online` is None where there is no such file, which CPU 0 often lacks."""

    number: int
    online: bool | None
    places: dict[str, Place]
    caches: tuple[CacheRecord, ...]
    capacity: int | None
    max_khz: int | None


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """One `nodeN` directory; memory-side cache sizes in KiB."""

    number: int
    cpus: CpuSet | None
    memory: parse.Memory
    distances: tuple[int, ...] | None
    side_caches: tuple[tuple[int, int | None], ...]


def read_cpu_lists(root: HostRoot) -> CpuLists:
    """The five lists of CPUs; without nohz_full CPUs the kernel writes `(null)`, which is no list."""
    return CpuLists(
        *(
            _read(root, f"{CPU_DIRECTORY}/{name}", parse.id_list)
            for name in ("possible", "present", "online", "isolated", "nohz_full")
        )
    )


def read_cpus(root: HostRoot, online: CpuSet | None) -> tuple[CpuRecord, ...]:
    """Every `cpuN` directory by rising number; `online` is the kernel's own list, and spares a file for each CPU."""
    found = []
    for number in _numbers(root, CPU_DIRECTORY, "cpu"):
        directory = f"{CPU_DIRECTORY}/cpu{number}"
        if online is None:
            value = _read(root, f"{directory}/online", parse.decimal)
            is_online = None if value is None else bool(value)
        else:
            is_online = number in online
        found.append(_read_cpu(root, number, is_online))
    return tuple(found)


def read_kind_lists(root: HostRoot) -> dict[str, CpuSet]:
    """The CPUs of a hybrid x86 processor by kind, `P` and `E`, as its two PMUs `cpu_core` and `cpu_atom` list them."""
    lists = {
        kind: _read(root, f"sys/devices/{pmu}/cpus", parse.id_list)
        for kind, pmu in (("P", "cpu_core"), ("E", "cpu_atom"))
    }
    return {kind: cpus for kind, cpus in lists.items() if cpus}


def read_nodes(root: HostRoot) -> tuple[NodeRecord, ...]:
    """Every `nodeN` directory by rising number; none where the kernel has no NUMA support."""
    return tuple(_read_node(root, number) for number in _numbers(root, NODE_DIRECTORY, "node"))


def read_memory(root: HostRoot) -> parse.Memory:
    """The machine's memory as /proc/meminfo has it."""
    return _read(root, "proc/meminfo", parse.meminfo) or parse.Memory(None, None)


def read_cpuinfo(root: HostRoot) -> dict[str, tuple[str, ...]]:
    """The distinct fields of /proc/cpuinfo; empty where there is none."""
    return _read(root, "proc/cpuinfo", parse.cpuinfo_fields) or {}


def _read(root: HostRoot, path: str, parser: Callable[[bytes], _Value | None]) -> _Value | None:
    raw = root.read_if_there(path)
    return None if raw is None else parser(raw)


def _read_set(root: HostRoot, path: str, names: frozenset[str]) -> CpuSet | None:
    """The set out of the mask in `PATH`, else out of `PATH_list`; some captures hold only one of them."""
    name = path.rpartition("/")[2]
    if name in names:
        found = _read(root, path, parse.mask)
        if found is not None:
            return found
    return _read(root, f"{path}_list", parse.id_list) if f"{name}_list" in names else None


def _numbers(root: HostRoot, directory: str, prefix: str) -> list[int]:
    matches = map(_NUMBERED.fullmatch, root.names(directory))
    return sorted({int(match[2]) for match in matches if match and match[1] == prefix and int(match[2]) <= LARGEST_ID})


def _read_cpu(root: HostRoot, number: int, is_online: bool | None) -> CpuRecord:  # noqa: FBT001
    directory = f"{CPU_DIRECTORY}/cpu{number}"
    if is_online is False:
        return CpuRecord(number, is_online, {}, (), None, None)
    names = frozenset(root.names(directory))
    return CpuRecord(
        number,
        is_online,
        _read_places(root, f"{directory}/topology") if "topology" in names else {},
        _read_caches(root, f"{directory}/cache") if "cache" in names else (),
        _read(root, f"{directory}/cpu_capacity", parse.decimal) if "cpu_capacity" in names else None,
        _read(root, f"{directory}/cpufreq/cpuinfo_max_freq", parse.decimal) if "cpufreq" in names else None,
    )


def _read_places(root: HostRoot, directory: str) -> dict[str, Place]:
    names = frozenset(root.names(directory))
    places = {}
    for level, files in LEVELS.items():
        id_file = _ID_FILES.get(level, f"{level}_id")
        number = _read(root, f"{directory}/{id_file}", parse.decimal) if id_file in names else None
        sets = (_read_set(root, f"{directory}/{file}", names) for file in files)
        cpus = next((found for found in sets if found), None)
        if number is not None or cpus is not None:
            places[level] = Place(number, cpus)
    return places


def _read_caches(root: HostRoot, directory: str) -> tuple[CacheRecord, ...]:
    found = []
    for index in _numbers(root, directory, "index"):
        level = _read(root, f"{directory}/index{index}/level", parse.decimal)
        kind = _read(root, f"{directory}/index{index}/type", parse.text)
        if level is None or kind not in ("Data", "Instruction", "Unified"):
            continue
        size = _read(root, f"{directory}/index{index}/size", parse.cache_size_kib)
        cpus = _read(root, f"{directory}/index{index}/shared_cpu_map", parse.mask)
        if cpus is None:
            cpus = _read(root, f"{directory}/index{index}/shared_cpu_list", parse.id_list)
        found.append(CacheRecord(level, kind, size, cpus))
    return tuple(found)


def _read_node(root: HostRoot, number: int) -> NodeRecord:
    directory = f"{NODE_DIRECTORY}/node{number}"
    cpus = _read(root, f"{directory}/cpulist", parse.id_list)
    if cpus is None:
        cpus = _read(root, f"{directory}/cpumap", parse.mask)
    if cpus is None:
        cpus = CpuSet.of(_numbers(root, directory, "cpu")) or None
    side_caches = tuple(
        (level, _read(root, f"{directory}/memory_side_cache/index{level}/size", parse.cache_size_kib))
        for level in _numbers(root, f"{directory}/memory_side_cache", "index")
    )
    return NodeRecord(
        number,
        cpus if cpus is not None else EMPTY,
        _read(root, f"{directory}/meminfo", parse.meminfo) or parse.Memory(None, None),
        _read(root, f"{directory}/distance", parse.distances),
        side_caches,
    )
