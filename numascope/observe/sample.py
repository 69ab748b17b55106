"""One look at all watched threads: immutable columns, keyed by who a thread is and not by its number alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.host.parse_sched import SchedCounters, Scheduling
from numascope.host.parse_stat import CpuTicks
from numascope.host.system.cgroup_load import CgroupLoad
from numascope.observe.balancing import UNTOLD, Balancing
from numascope.observe.interrupts import Interrupt
from numascope.observe.seen_memory import SeenMemory


class ThreadKey(NamedTuple):
    """A thread: a tid is reused, a start time (clock ticks since boot) tells; exec and renaming start a new epoch."""

    pid: int
    tid: int
    starttime_ticks: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Threads:
    """Columns of equal length, one entry a thread; None is unknown, never 0.

    `cpus`, `states`, `scheduling`, `migrations`, `counters` are as of the sample number in `seen` (at most ten samples old where
    somebody waits for a CPU, forty where nobody does); `run_ns`, `wait_ns`, `slices` (schedstat) and `allowed` are of this sample.
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
    scheduling: tuple[Scheduling, ...]
    counters: tuple[SchedCounters, ...]
    seen: tuple[int, ...]
    row_of: Mapping[ThreadKey, int]


NOBODY: Final = Threads((), (), (), (), (), (), (), (), (), (), (), (), {})
"""No thread at all."""


@dataclass(frozen=True, slots=True)
class NodeCounters:
    """A node's own `numastat` counters (pages since boot) and free memory; None where the kernel gives no such file."""

    free_kib: int | None
    hit: int | None
    miss: int | None
    foreign: int | None
    other_node: int | None
    cache_kib: int | None = None
    """Page cache: files read or mapped, without shared memory."""


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
    mems_allowed: CpuSet | None = None
    """The memory nodes that its cpuset lets it use (`Mems_allowed_list` of `status`)."""
    cgroup: str | None = None
    """Its cgroup of the cpu controller, a key of `Sample.cgroups`."""
    inner_pid: int | None = None
    """Its number in its own pid namespace, where that is another one than ours (`NSpid` of `status`)."""
    devices_held: tuple[str, ...] | None = None
    """The device files of accelerators that it holds open (`nvidia0`, `davinci3` …); None where that may not be read."""


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
    cgroups: Mapping[str, CgroupLoad] = field(default_factory=dict)
    """CPU quota, throttling and pressure of the cgroups of the watched processes, by `ProcessFacts.cgroup`."""
    clocks_khz: Mapping[int, int] = field(default_factory=dict)
    """CPU → its clock as last read; only CPUs that are busy are asked."""
    interrupts: tuple[Interrupt, ...] = ()
    """Interrupts of devices by CPU, per second, over the last ten seconds that were looked at."""
    unseen_ns: Mapping[int, int] = field(default_factory=dict)
    """Process → CPU time of its threads that no sample has: of those that lived and died between two, and the last of those that ended."""
    ended: bool = False
    """None of the watched processes is left; the columns are then empty."""
    cost_ns: int = 0
    """CPU time that taking this sample cost numascope."""
    own_ns: int = 0
    """CPU time that all of numascope had used by then."""
    notes: tuple[str, ...] = ()
    memory: Mapping[int, SeenMemory] = field(default_factory=dict)
    """Rank's process → the last look at where its memory lies; there is one a minute, and none yet of those that are not in it."""
    balancing: Balancing = UNTOLD
    """What the kernel is told about full nodes and about pages that follow their threads, and how many did."""


EMPTY_SAMPLE: Final = Sample(0, 0, 0.0, NOBODY, {}, {}, {})
"""Nothing seen."""
