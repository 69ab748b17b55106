"""Each CPU's place and caches as /sys/devices/system/cpu/cpuN tells them; what its siblings have told is not read again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, CpuSet
from numascope.host import parse
from numascope.host.root import HostRoot
from numascope.host.system.lists import CPU_DIRECTORY, numbers_of, read_value

LEVELS: Final = {
    "core": ("core_cpus", "thread_siblings"),
    "package": ("package_cpus", "core_siblings"),
    "die": ("die_cpus",),
    "cluster": ("cluster_cpus",),
    "book": ("book_siblings",),
    "drawer": ("drawer_siblings",),
}
"""Each level's file under `topology/`, the new name before the old (Documentation/admin-guide/cputopology.rst)."""

_FLAT_CACHES: Final = (
    ("l1_dcache_size", 1, "Data"),
    ("l1_icache_size", 1, "Instruction"),
    ("l2_cache_size", 2, "Unified"),
)
_ID_FILES: Final = {"core": "core_id", "package": "physical_package_id"}


class Place(NamedTuple):
    """One CPU's place on one level: the level's id and its CPUs, each None where the kernel does not tell."""

    id: int | None
    cpus: CpuSet | None


class CacheRecord(NamedTuple):
    """One `cache/indexN` directory; `cpus` None where no file tells, empty where the kernel writes an empty mask."""

    level: int
    type: str
    size_kib: int | None
    cpus: CpuSet | None


class CpuRecord(NamedTuple):
    """One `cpuN` directory; `online` is None where there is no such file, which CPU 0 often lacks."""

    number: int
    online: bool | None
    places: dict[str, Place]
    caches: tuple[CacheRecord, ...]
    capacity: int | None
    max_khz: int | None


_Level = tuple[str, str | None, tuple[tuple[str, Callable[[bytes], CpuSet | None]], ...]]


@lru_cache(maxsize=64)
def _levels_in(names: frozenset[str]) -> tuple[_Level, ...]:
    """The levels that a `topology` directory of these files tells: (level, id file, the files of its set, the best first)."""
    found: list[_Level] = []
    for level, files in LEVELS.items():
        id_file = _ID_FILES.get(level, f"{level}_id")
        parsers = (
            (name, parser) for file in files for name, parser in ((file, parse.mask), (f"{file}_list", parse.id_list))
        )
        sets = tuple((name, parser) for name, parser in parsers if name in names)
        if sets or id_file in names:
            found.append((level, id_file if id_file in names else None, sets))
    return tuple(found)


def read_cpus(root: HostRoot, online: CpuSet | None) -> tuple[CpuRecord, ...]:
    """Every `cpuN` directory by rising number; `online` is the kernel's own list, and spares a file for each CPU."""
    numbers = numbers_of(root, CPU_DIRECTORY, "cpu")
    reader = _CpuReader(root, _topology_of_all(root, [one for one in numbers if online is None or one in online]))
    return tuple(reader.read(number, online) for number in numbers)


def _topology_of_all(root: HostRoot, numbers: Sequence[int]) -> frozenset[str]:
    """The names in every `cpuN/topology`; empty where each has to be looked at, as the first and the last are not alike.

    All CPUs of a kernel have the same (drivers/base/cpu.c), but a copy may have lost some.
    """
    ends = {frozenset(root.names(f"{CPU_DIRECTORY}/cpu{one}/topology")) for one in (*numbers[:1], *numbers[-1:])}
    return ends.pop() if len(ends) == 1 else frozenset()


class _CpuReader:
    """What the CPUs read so far have said of others."""

    def __init__(self, root: HostRoot, topology: frozenset[str]) -> None:
        self._root = root
        self._topology = topology
        """The names in the `topology` of each; empty: to be looked at one by one."""
        self._names: frozenset[str] | None = None
        """The files of the first CPU's directory: all CPUs of a kernel have the same (drivers/base/cpu.c)."""
        self._places: dict[tuple[str, int], Place] = {}
        """(level, CPU) → what a CPU of the same set said."""
        self._caches: dict[tuple[int, int], CpuSet] = {}
        """(cache index, CPU) → who shares it, as one of them said."""
        self._sorts: dict[tuple[tuple[tuple[int, ...], int], int | None], tuple[int, str]] = {}
        """((all indexes of a CPU, one of them), size) → level and type of the cache there."""
        self._alike = EMPTY
        """The CPUs that share every cache with one that was read."""

    def read(self, number: int, online: CpuSet | None) -> CpuRecord:
        """One CPU's record."""
        directory = f"{CPU_DIRECTORY}/cpu{number}"
        if online is None:
            value = read_value(self._root, f"{directory}/online", parse.decimal)
            is_online = None if value is None else bool(value)
        else:
            is_online = number in online
        if is_online is False:
            return CpuRecord(number, is_online, {}, (), None, None)
        if self._names is None:
            self._names = frozenset(self._root.names(directory))
        names = self._names
        return CpuRecord(
            number,
            is_online,
            self._read_places(number, f"{directory}/topology"),
            self._read_caches(number, f"{directory}/cache") or self._read_flat_caches(number, directory, names),
            read_value(self._root, f"{directory}/cpu_capacity", parse.decimal) if "cpu_capacity" in names else None,
            read_value(self._root, f"{directory}/cpufreq/cpuinfo_max_freq", parse.decimal)
            if "cpufreq" in names
            else None,
        )

    def _read_places(self, number: int, directory: str) -> dict[str, Place]:
        """The id and the set of each level; the set above the core is taken from a CPU of the same set that gave the same id."""
        root, found = self._root, {}
        for level, id_file, set_files in _levels_in(self._topology or frozenset(self._root.names(directory))):
            own_id = read_value(root, f"{directory}/{id_file}", parse.decimal) if id_file else None
            known = self._places.get((level, number))
            if known is not None and known.id == own_id:
                found[level] = known
                continue
            sets = (read_value(root, f"{directory}/{file}", parser) for file, parser in set_files)
            cpus = next(filter(None, sets), None)
            if own_id is None and cpus is None:
                continue
            found[level] = place = Place(own_id, cpus)
            if cpus is not None and number in cpus and level != "core":
                for cpu in cpus:
                    self._places.setdefault((level, cpu), place)
        return found

    def _read_caches(self, number: int, directory: str) -> tuple[CacheRecord, ...]:
        """The caches that no CPU read before shares with this one."""
        if number in self._alike:
            return ()
        found = []
        with_all: CpuSet | None = None
        indexes = tuple(numbers_of(self._root, directory, "index"))
        for index in indexes:
            sharers = self._caches.get((index, number))
            if sharers is None:
                cache = self._read_cache(f"{directory}/index{index}", (indexes, index))
                if cache is None:
                    continue
                found.append(cache)
                sharers = cache.cpus if cache.cpus is not None and number in cache.cpus else EMPTY
                self._caches |= {(index, cpu): sharers for cpu in sharers}
            with_all = sharers if with_all is None else with_all & sharers
        if with_all:
            self._alike |= with_all
        return tuple(found)

    def _read_flat_caches(self, number: int, directory: str, names: frozenset[str]) -> tuple[CacheRecord, ...]:
        """Three files of sizes in bytes, as sparc64 writes them (arch/sparc/kernel/sysfs.c): each CPU has its own."""
        found = []
        for name, level, kind in _FLAT_CACHES:
            size = read_value(self._root, f"{directory}/{name}", parse.decimal) if name in names else None
            if size:
                found.append(CacheRecord(level, kind, size >> 10, CpuSet.of([number])))
        return tuple(found)

    def _read_cache(self, directory: str, place: tuple[tuple[int, ...], int]) -> CacheRecord | None:
        """One cache; its level and type are those of another CPU's cache of the same size at the same of the same indexes."""
        size = read_value(self._root, f"{directory}/size", parse.cache_size_kib)
        sort = None if size is None else self._sorts.get((place, size))
        if sort is None:
            level = read_value(self._root, f"{directory}/level", parse.decimal)
            kind = read_value(self._root, f"{directory}/type", parse.text)
            if level is None or kind not in ("Data", "Instruction", "Unified"):
                return None
            sort = self._sorts[place, size] = (level, kind)
        cpus = read_value(self._root, f"{directory}/shared_cpu_map", parse.mask)
        if cpus is None:
            cpus = read_value(self._root, f"{directory}/shared_cpu_list", parse.id_list)
        return CacheRecord(*sort, size, cpus)
