"""One look at all watched threads: immutable columns, keyed by who a thread is and not by its number alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from numascope.cpuset import CpuSet


class ThreadKey(NamedTuple):
    """A thread: a tid is reused, a start time (clock ticks since boot) tells; exec and renaming start a new epoch."""

    pid: int
    tid: int
    starttime_ticks: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Threads:
    """Columns of equal length, one entry a thread; None is unknown, never 0.

    `cpus`, `states`, `migrations` are as of the sample number in `seen` (at most ten samples old);
    `run_ns`, `wait_ns`, `slices` (schedstat) and `allowed` are of this sample.
    """

    keys: tuple[ThreadKey, ...]
    comms: tuple[str, ...]
    states: tuple[str, ...]
    cpus: tuple[int | None, ...]
    allowed: tuple[CpuSet | None, ...]
    run_ns: tuple[int | None, ...]
    wait_ns: tuple[int | None, ...]
    slices: tuple[int | None, ...]
    migrations: tuple[int | None, ...]
    seen: tuple[int, ...]
    row_of: Mapping[ThreadKey, int]


@dataclass(frozen=True, slots=True)
class CpuTicks:
    """Clock ticks of one CPU since boot (`/proc/stat`): `busy` is all but idle, iowait and steal."""

    busy: int
    total: int


@dataclass(frozen=True, slots=True)
class NodeCounters:
    """A node's own `numastat` counters (pages since boot) and free memory; None where the kernel gives no such file."""

    free_kib: int | None
    hit: int | None
    miss: int | None
    foreign: int | None
    other_node: int | None


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """What /proc says of one process; `environ` is None where it may not be read, texts are safe to print."""

    pid: int
    ppid: int
    starttime_ticks: int
    sid: int
    comm: str
    cmdline: tuple[str, ...]
    environ: Mapping[str, str] | None
    uid: int | None = None
    threads: int = 1
    cpuset: CpuSet | None = None
    """The CPUs that its cgroup cpuset gives it; None where that cannot be read."""
    policy: str | None = None
    """The memory policy of its main thread (second word of `numa_maps`): `default`, `bind:0` …"""
    policy_denied: bool = False
    started_s: float | None = None
    """Wall-clock time of its start."""
    libraries: tuple[str, ...] = ()
    start_stack: int = 0
    """Where its stack begins, which tells one program of a process from the next; 0 where it may not be read."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Everything seen at one instant. `monotonic_ns` orders samples, `wall_s` names them to people."""

    number: int
    monotonic_ns: int
    wall_s: float
    threads: Threads
    processes: Mapping[int, ProcessFacts]
    cpu_ticks: Mapping[int, CpuTicks]
    nodes: Mapping[int, NodeCounters]
    vanished: int = 0
    """Threads that went away between being listed and being read."""
    denied: tuple[str, ...] = ()
    """What could not be read, and why, in words."""
    ended: bool = False
    """None of the watched processes is left; the columns are then empty."""
    cost_ns: int = 0
    """CPU time that taking this sample cost numascope."""
    own_ns: int = 0
    """CPU time that all of numascope had used by then."""
    notes: tuple[str, ...] = field(default=())
