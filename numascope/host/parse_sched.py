"""How the kernel schedules a thread: its policy and priority, and the counters of `sched` (proc_pid_sched of kernel/sched/debug.c). Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

_POLICIES: Final = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline", 7: "ext"}
"""SCHED_* of include/uapi/linux/sched.h."""

_REAL_TIME: Final = ("fifo", "rr")


class Scheduling(NamedTuple):
    """A thread's scheduling policy (`other`, `fifo` …), its real-time priority (1 to 99, 0 elsewhere) and its nice value."""

    policy: str
    rt_priority: int = 0
    nice: int = 0

    def __str__(self) -> str:
        if self.policy in _REAL_TIME:
            return f"{self.policy} {self.rt_priority}"
        return f"{self.policy} nice {self.nice}" if self.nice and self.policy in ("other", "batch") else self.policy

    @property
    def is_usual(self) -> bool:
        """Whether it is what every thread has that nobody changed."""
        return self == _USUAL


_USUAL: Final = Scheduling("other")


@lru_cache(maxsize=256)
def scheduling_of(policy: bytes, rt_priority: bytes, nice: bytes) -> Scheduling:
    """From fields 41, 40 and 19 of proc_pid_stat(5), ValueError; equal ones are one object."""
    number = int(policy)
    return Scheduling(_POLICIES.get(number, f"policy {number}"), int(rt_priority), int(nice))


class SchedCounters(NamedTuple):
    """Counts since the thread began; None where this kernel was built without them.

    `numa_faults` are hinting faults that automatic NUMA balancing took, `numa_pages_moved` the pages that it moved for this thread,
    `preferred_node` the node that it would have it on (-1: none).
    """

    voluntary: int | None = None
    involuntary: int | None = None
    numa_faults: int | None = None
    numa_pages_moved: int | None = None
    preferred_node: int | None = None


class SchedRecord(NamedTuple):
    """What `sched` says of a thread; None where this kernel does not count migrations."""

    migrations: int | None = None
    counters: SchedCounters = SchedCounters()


UNKNOWN: Final = SchedRecord()

_STATUS_SWITCHES: Final = re.compile(rb"\nvoluntary_ctxt_switches:\s*(\d+)\nnonvoluntary_ctxt_switches:\s*(\d+)")

_SWITCHES: Final = (b"nr_switches", b"nr_voluntary_switches", b"nr_involuntary_switches")
_NUMA: Final = (b"numa_pages_migrated", b"numa_preferred_nid", b"total_numa_faults")


def parse_sched(raw: bytes) -> SchedRecord:
    """Reads `sched`; fields that are not where every kernel so far has them are looked for one by one."""
    at = raw.find(b"nr_migrations", raw.find(b"\n---"))  # the lines above that rule hold the thread's name
    fields = raw[at : at + 320].split(None, 12)
    if at < 0 or tuple(fields[3:12:3]) != _SWITCHES:
        return _parse_any(raw)
    try:
        switches = int(fields[8]), int(fields[11])
        start = raw.rfind(_NUMA[0])
        if start < 0:
            return SchedRecord(int(fields[2]), SchedCounters(*switches))
        numa = raw[start : start + 320].split(None, 9)
        if tuple(numa[0:9:3]) != _NUMA:
            return _parse_any(raw)
        counters = SchedCounters(*switches, int(numa[8]), int(numa[2]), int(numa[5]))
        return SchedRecord(int(fields[2]), counters)
    except (ValueError, IndexError):
        return _parse_any(raw)


def parse_switches(raw: bytes) -> SchedRecord:
    """The two counts that `status` has as well, for kernels without `sched` (task_context_switch_counts of fs/proc/array.c)."""
    found = _STATUS_SWITCHES.search(raw)
    return UNKNOWN if found is None else SchedRecord(None, SchedCounters(int(found[1]), int(found[2])))


def _parse_any(raw: bytes) -> SchedRecord:
    found: dict[bytes, int] = {}
    for line in raw.splitlines():
        name, colon, value = line.partition(b":")
        if colon and value.strip().lstrip(b"-").isdigit():
            found[name.strip().rpartition(b".")[2]] = int(value)
    counters = SchedCounters(
        found.get(b"nr_voluntary_switches"),
        found.get(b"nr_involuntary_switches"),
        found.get(b"total_numa_faults"),
        found.get(b"numa_pages_migrated"),
        found.get(b"numa_preferred_nid"),
    )
    return SchedRecord(found.get(b"nr_migrations"), counters)
