"""The formats of /proc, pure: bytes in, value out, None where the bytes are not what the kernel writes (proc(5))."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from numascope.cpuset import BadIdListError, CpuSet
from numascope.host.parse_sched import Scheduling, scheduling_of
from numascope.host.text import safe_text

_ALLOWED: Final = re.compile(rb"^Cpus_allowed:\s*([0-9a-fA-F,]+)$", re.MULTILINE)
_POLICY: Final = re.compile(rb"[0-9a-f]+ ((?:prefer \(many\)|weighted interleave|\S)\S*)")
_PF_KTHREAD: Final = 0x00200000
"""include/linux/sched.h; in a pid namespace the parent of kernel threads has no number to know them by."""

_STAT_FIELDS: Final = 39
"""Fields after the name up to `policy`, number 41 of proc_pid_stat(5)."""


class StatRecord(NamedTuple):
    """What numascope takes from `stat` of a process or thread; times in clock ticks, `comm` safe to print."""

    pid: int
    comm: str
    state: str
    ppid: int
    sid: int
    utime_ticks: int
    stime_ticks: int
    threads: int
    starttime_ticks: int
    cpu: int
    scheduling: Scheduling
    is_kernel_thread: bool = False
    start_stack: int = 0
    """Where the program's stack begins, drawn anew by each exec; 0 for who may not trace the process (`do_task_stat` in fs/proc/array.c)."""


def parse_stat(raw: bytes) -> StatRecord | None:
    """Reads `stat`; the name ends at the last `)`, since it may hold any byte itself."""
    opened, closed = raw.find(b"("), raw.rfind(b")")
    if opened < 1 or closed < opened:
        return None
    fields = raw[closed + 1 :].split()
    if len(fields) < _STAT_FIELDS:
        return None
    try:
        return StatRecord(
            pid=int(raw[:opened]),
            comm=safe_text(raw[opened + 1 : closed]),
            state=fields[0].decode("ascii"),
            ppid=int(fields[1]),
            sid=int(fields[3]),
            utime_ticks=int(fields[11]),
            stime_ticks=int(fields[12]),
            threads=int(fields[17]),
            starttime_ticks=int(fields[19]),
            cpu=int(fields[36]),
            scheduling=scheduling_of(fields[38], fields[37], fields[16]),
            is_kernel_thread=bool(int(fields[6]) & _PF_KTHREAD),
            start_stack=int(fields[25]),
        )
    except ValueError:
        return None


class Whereabouts(NamedTuple):
    """What changes of a thread while its name stays: its state, its start (clock ticks since boot), its last CPU, how it is scheduled."""

    state: str
    starttime_ticks: int
    cpu: int
    scheduling: Scheduling


def parse_whereabouts(raw: bytes) -> Whereabouts | None:
    """Those out of `stat`, at a third of the cost of all of it."""
    fields = raw[raw.rfind(b")") + 1 :].split(None, 39)
    try:
        return Whereabouts(
            fields[0].decode("ascii"),
            int(fields[19]),
            int(fields[36]),
            scheduling_of(fields[38], fields[37], fields[16]),
        )
    except (ValueError, IndexError):
        return None


def same_name(raw: bytes, before: bytes) -> bool:
    """Whether two `stat`s start with the same number and name."""
    closed = raw.rfind(b")")
    return closed > 0 and closed == before.rfind(b")") and raw[:closed] == before[:closed]


class Identity(NamedTuple):
    """Who a thread is: its name, safe to print, its state, and its start in clock ticks since boot."""

    comm: str
    state: str
    starttime_ticks: int


def parse_identity(raw: bytes) -> Identity | None:
    """The same out of `stat` and nothing else, at a third of the cost."""
    opened, closed = raw.find(b"("), raw.rfind(b")")
    fields = raw[closed + 1 :].split(None, 20)
    try:
        return Identity(safe_text(raw[opened + 1 : closed]), fields[0].decode("ascii"), int(fields[19]))
    except (ValueError, IndexError):
        return None


class SchedStat(NamedTuple):
    """A thread's CPU time, run-queue wait (both ns) and number of time slices (Documentation/scheduler/sched-stats)."""

    run_ns: int
    wait_ns: int
    slices: int


def parse_schedstat(raw: bytes) -> SchedStat | None:
    """Reads a thread's `schedstat`."""
    try:
        run, wait, slices = raw.split()
        return SchedStat(int(run), int(wait), int(slices))
    except ValueError:
        return None


def parse_numastat(raw: bytes) -> dict[str, int]:
    """Counter → pages, from a node's `numastat` (Documentation/admin-guide/numastat)."""
    counters: dict[str, int] = {}
    for line in raw.splitlines():
        name, _, value = line.partition(b" ")
        if value.strip().isdigit():
            counters[name.decode("ascii", "replace")] = int(value)
    return counters


def parse_environ(raw: bytes, wanted: tuple[str, ...]) -> dict[str, str]:
    """The variables whose names start with one of `wanted`, or end so where it begins with `*`; all else, secrets among it, is dropped here."""
    starts = tuple(one for one in wanted if not one.startswith("*"))
    ends = tuple(one[1:] for one in wanted if one.startswith("*"))
    found: dict[str, str] = {}
    for entry in raw.split(b"\0"):
        name, equals, value = entry.partition(b"=")
        key = name.decode("ascii", "replace")
        if equals and (key.startswith(starts) or key.endswith(ends)):
            found.setdefault(key, value.decode("utf-8", "surrogateescape"))
    return found


def parse_cmdline(raw: bytes) -> tuple[str, ...]:
    """The arguments of a process, safe to print; empty for a kernel thread or a zombie."""
    return tuple(safe_text(argument) for argument in raw.removesuffix(b"\0").split(b"\0")) if raw else ()


def parse_status(raw: bytes) -> Mapping[str, str]:
    """The `Name:value` lines of `status`, values stripped."""
    pairs = (line.partition(":") for line in raw.decode("utf-8", "replace").splitlines())
    return {name: value.strip() for name, _, value in pairs}


def parse_allowed(raw: bytes) -> CpuSet | None:
    """The mask `Cpus_allowed` of `status`, which unlike sched_getaffinity(2) keeps CPUs that are offline."""
    found = _ALLOWED.search(raw)
    try:
        return None if found is None else CpuSet.from_mask(found[1].decode("ascii"))
    except BadIdListError:
        return None


def parse_policy(raw: bytes) -> str | None:
    """The memory policy of the first line of `numa_maps` (`mpol_to_str` in mm/mempolicy.c; two policies have a blank in their name)."""
    found = _POLICY.match(raw)
    return None if found is None else safe_text(found[1])
