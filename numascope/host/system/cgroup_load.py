"""What a process's cgroup may use of the CPUs, how long its quota held it back, and how long its tasks stood waiting."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from numascope.host.root import HostRoot
from numascope.host.system.cgroups import Directory, Place, directories, mounts_of, places_of
from numascope.host.text import safe_text

_SMALL: Final = 4096
"""`cpu.stat`, `cpu.max` and the pressure files are shorter."""

_QUOTA: Final = re.compile(rb"(\d{1,20})[ \t]+(\d{1,20})\s*")
_NUMBER: Final = re.compile(rb"\d{1,20}\s*")
_COUNTER: Final = re.compile(rb"^(\w+) (\d{1,20})$", re.MULTILINE)
_STALLED: Final = re.compile(rb"^(some|full) .*\btotal=(\d{1,20})$", re.MULTILINE)

_NS_PER_US: Final = 1000


class CgroupPlace(NamedTuple):
    """Where a process stands: its cgroup of the cpu controller and its own cgroup of the unified hierarchy; None: not to be seen.

    `name` is what /proc/PID/cgroup calls it, safe to print. On a hybrid system where the two hierarchies differ it names
    both (`cpu:/a 0::/b`), so that equal names are equal places. `unified` is None for the root too: it has no counters of its own.
    """

    name: str
    cpu: Directory | None
    unified: Directory | None


class CpuQuota(NamedTuple):
    """The tightest quota above a process: CPUs (quota ÷ period), the cgroup that has it, and the file that says so."""

    cpus: float
    directory: str
    file: str

    @property
    def path(self) -> str:
        """The file, safe to print."""
        return safe_text(f"{self.directory}/{self.file}")


class Throttling(NamedTuple):
    """Counters of a quota since boot: periods in which somebody ran, those of them that ended held back, and the time, summed over CPUs."""

    periods: int
    throttled_periods: int
    throttled_us: int


class Stalls(NamedTuple):
    """Time in which some task, or every task that was not idle, stood waiting for a resource; µs since boot."""

    some_us: int | None
    full_us: int | None


NO_STALLS: Final = Stalls(None, None)


class CgroupLoad(NamedTuple):
    """What a cgroup has counted since boot; None: unknown, or without a quota nothing to count.

    Throttling is of the cgroup that has the tightest quota (`quota_path` names its file; empty: none), pressure of the process's
    own cgroup, or where `pressure_is_own` is False of the whole machine.
    """

    quota_cpus: float | None
    quota_path: str
    periods: int | None
    throttled_periods: int | None
    throttled_us: int | None
    cpu_some_us: int | None
    memory_some_us: int | None
    memory_full_us: int | None
    pressure_is_own: bool


def cgroup_of(root: HostRoot, pid: int | str) -> CgroupPlace | None:
    """The cgroup of a process, or of a thread `PID/task/TID`; None where the process is gone or /proc/PID/cgroup tells of none. Two files, to be read seldom."""
    places = places_of(root, str(pid), "cpu")
    if not places:
        return None
    mounts = mounts_of(root, "cpu")
    seen = {place.is_v2: next(directories(mounts, place), None) for place in reversed(places)}
    unified = seen.get(True)
    return CgroupPlace(
        name=_name(places),
        # A controller is in one hierarchy only: where v1 has it, v2 tells nothing of it.
        cpu=seen.get(False, unified),
        unified=None if unified is None or _is_root(root, unified) else unified,
    )


def quota_of(root: HostRoot, place: CgroupPlace) -> CpuQuota | None:
    """The tightest quota from the process's own cgroup up to the mount point; None: there is none. To be read seldom.

    `cpu.max` (Documentation/admin-guide/cgroup-v2.rst) or `cpu.cfs_quota_us` and `cpu.cfs_period_us` (scheduler/sched-bwc.rst): one or two
    files a level. Of equal ones the nearest.
    """
    if place.cpu is None:
        return None
    read = _quota_v2 if place.cpu.kind == "v2" else _quota_v1
    found = (read(root, path) for path in place.cpu.upward())
    return min((one for one in found if one is not None), key=lambda one: one.cpus, default=None)


def read_load(root: HostRoot, place: CgroupPlace, quota: CpuQuota | None) -> CgroupLoad:
    """The counters of a cgroup now, with its quota as `quota_of` found it.

    Opens `cpu.stat` where there is a quota, and two pressure files; of a cgroup without its own the two of the machine instead.
    """
    throttling = None
    if quota is not None:
        throttling = parse_cpu_stat(root.read_if_there(f"{quota.directory}/cpu.stat", _SMALL) or b"")
    own = None if place.unified is None else next(place.unified.upward())
    cpu, memory = NO_STALLS, NO_STALLS
    if own is not None:
        cpu, memory = _stalls(root, f"{own}/cpu.pressure"), _stalls(root, f"{own}/memory.pressure")
    is_own = NO_STALLS not in (cpu, memory)
    if not is_own:
        cpu, memory = _stalls(root, "proc/pressure/cpu"), _stalls(root, "proc/pressure/memory")
    return CgroupLoad(
        quota_cpus=None if quota is None else quota.cpus,
        quota_path="" if quota is None else quota.path,
        periods=None if throttling is None else throttling.periods,
        throttled_periods=None if throttling is None else throttling.throttled_periods,
        throttled_us=None if throttling is None else throttling.throttled_us,
        cpu_some_us=cpu.some_us,
        memory_some_us=memory.some_us,
        memory_full_us=memory.full_us,
        pressure_is_own=is_own,
    )


def parse_quota(raw: bytes) -> float | None:
    """The CPUs that `cpu.max` gives (`800000 100000`: 8.0); None for `max`, or what is no quota."""
    found = _QUOTA.fullmatch(raw)
    if found is None or not int(found[1]) or not int(found[2]):
        return None
    return int(found[1]) / int(found[2])


def parse_cpu_stat(raw: bytes) -> Throttling | None:
    """The throttling of a `cpu.stat`: µs in v2 (`throttled_usec`), ns in v1 (`throttled_time`); None where the cpu controller is not enabled.

    `nr_periods` stands still while nobody of the group runs; `nr_throttled` counts periods at whose end at least one CPU's run queue of the
    group was held back; a queue's time is credited when it may run again, and only for the quota's own cgroup, not for those below.
    """
    counters = {found[1]: int(found[2]) for found in _COUNTER.finditer(raw)}
    periods, throttled, time_us = (counters.get(name) for name in (b"nr_periods", b"nr_throttled", b"throttled_usec"))
    if time_us is None and (time_ns := counters.get(b"throttled_time")) is not None:
        time_us = time_ns // _NS_PER_US
    if periods is None or throttled is None or time_us is None:
        return None
    return Throttling(periods, throttled, time_us)


def parse_pressure(raw: bytes) -> Stalls:
    """The totals of a pressure file (Documentation/accounting/psi.rst), in µs; `full` has no line for the CPU before Linux 5.13."""
    found = {line[1]: int(line[2]) for line in _STALLED.finditer(raw)}
    return Stalls(found.get(b"some"), found.get(b"full"))


def _name(places: Sequence[Place]) -> str:
    """One path where the hierarchies agree, else each with the words of /proc/PID/cgroup before it."""
    paths = {place.path for place in places}
    if len(paths) == 1:
        return safe_text(places[0].path)
    return " ".join(safe_text(f"{'0::' if place.is_v2 else 'cpu:'}{place.path}") for place in places)


def _is_root(root: HostRoot, directory: Directory) -> bool:
    """Whether it is the root of its hierarchy: what a container sees as `/` has the files that the real one lacks."""
    return not directory.below and root.read_if_there(f"{directory.point}/cgroup.events", _SMALL) is None


def _quota_v2(root: HostRoot, directory: str) -> CpuQuota | None:
    cpus = parse_quota(root.read_if_there(f"{directory}/cpu.max", _SMALL) or b"")
    return None if cpus is None else CpuQuota(cpus, directory, "cpu.max")


def _quota_v1(root: HostRoot, directory: str) -> CpuQuota | None:
    quota = root.read_if_there(f"{directory}/cpu.cfs_quota_us", _SMALL) or b""
    if not _NUMBER.fullmatch(quota):  # -1: none
        return None
    period = root.read_if_there(f"{directory}/cpu.cfs_period_us", _SMALL) or b""
    cpus = parse_quota(quota.strip() + b" " + period)
    return None if cpus is None else CpuQuota(cpus, directory, "cpu.cfs_quota_us")


def _stalls(root: HostRoot, path: str) -> Stalls:
    return parse_pressure(root.read_if_there(path, _SMALL) or b"")
