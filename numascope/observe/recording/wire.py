"""What the payloads of frames are made of: types that are checked, and bounded, while they are read."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from numascope.observe.recording.bounded import AN_ID, Id, Name, Natural
from numascope.observe.recording.wire_memory import BalancingRow, MemoryRow

MOST_THREADS: Final = 1 << 18
MOST_PROCESSES: Final = 1 << 16
MOST_STRANGERS: Final = 1 << 16
MOST_INTERRUPTS: Final = 1 << 16
_MOST_TEXTS: Final = 1 << 16

_A_ROW: Final = msgspec.Meta(max_length=MOST_THREADS)
_A_PROCESS: Final = msgspec.Meta(max_length=MOST_PROCESSES)

_Text = Annotated[str, msgspec.Meta(max_length=1 << 20)]
_Texts = Annotated[list[_Text], msgspec.Meta(max_length=_MOST_TEXTS)]
_Mask = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{1,16384}\Z")]
_WallClock = Annotated[float, msgspec.Meta(gt=-1e12, lt=1e12)]
_Naturals = Annotated[list[Natural], _A_ROW]
_Moves = Annotated[list[int | None], _A_ROW]


class Moment(msgspec.Struct, frozen=True, array_like=True):
    """What a sample says beside its columns; None in `denied` and `notes`: as in the frame before."""

    number: Natural
    monotonic_ns: Natural
    wall_s: _WallClock
    vanished: Natural
    ended: bool
    cost_ns: Natural
    own_ns: Natural
    denied: _Texts | None
    notes: _Texts | None


_Spread = Annotated[list[_Moves], msgspec.Meta(min_length=5, max_length=5)]


class Rows(msgspec.Struct, frozen=True, array_like=True):
    """Whole rows of the thread columns.

    `pids`, `tids`, `starts` are differences to the row before; `comms`, `states`, `scheduling` and `allowed` numbers of entries of
    the two tables; `counters` five lists (`rows.spread`); `seen` how many samples before this one.
    """

    pids: Annotated[list[int], _A_ROW]
    tids: Annotated[list[int], _A_ROW]
    starts: Annotated[list[int], _A_ROW]
    epochs: _Naturals
    comms: _Naturals
    states: _Naturals
    cpus: Annotated[list[Id | None], _A_ROW]
    allowed: Annotated[list[Natural | None], _A_ROW]
    run_ns: Annotated[list[Natural | None], _A_ROW]
    wait_ns: Annotated[list[Natural | None], _A_ROW]
    slices: Annotated[list[Natural | None], _A_ROW]
    migrations: Annotated[list[Natural | None], _A_ROW]
    scheduling: _Naturals
    counters: _Spread
    seen: Annotated[list[int], _A_ROW]
    texts: Annotated[list[Name], _A_ROW]
    masks: Annotated[list[_Mask], _A_ROW]


class Counted(msgspec.Struct, frozen=True, array_like=True):
    """Rows in which a column of counters changed, as gaps, and how far each moved (`columns.moved`)."""

    gaps: _Naturals
    moves: _Moves


class Renamed(msgspec.Struct, frozen=True, array_like=True):
    """Rows in which a column of texts changed, as gaps, and the new texts."""

    gaps: _Naturals
    texts: Annotated[list[Name], _A_ROW]


class Rebound(msgspec.Struct, frozen=True, array_like=True):
    """Rows whose allowed set changed, as gaps, with numbers of entries of the table of sets; None is unknown."""

    gaps: _Naturals
    allowed: Annotated[list[Natural | None], _A_ROW]
    masks: Annotated[list[_Mask], _A_ROW]


class Spread(msgspec.Struct, frozen=True, array_like=True):
    """Rows in which some of the five counters of `sched` changed, as gaps, and how far each of the five moved."""

    gaps: _Naturals
    moves: _Spread


class RowChanges(msgspec.Struct, frozen=True, array_like=True):
    """How the thread columns changed: rows gone (of the old ones), rows born (of the new ones), then what moved."""

    gone: _Naturals
    born_at: _Naturals
    born: Rows | None
    comms: Renamed | None
    states: Renamed | None
    allowed: Rebound | None
    cpus: Counted | None
    run_ns: Counted | None
    wait_ns: Counted | None
    slices: Counted | None
    migrations: Counted | None
    scheduling: Renamed | None
    counters: Spread | None
    seen: Counted | None


class Facts(msgspec.Struct, frozen=True, array_like=True):
    """The facts of one process, whole, with the fields of `ProcessFacts` in their order."""

    pid: Natural
    ppid: Natural
    starttime_ticks: Natural
    sid: Natural
    comm: Name
    cmdline: _Texts
    environ: Annotated[dict[_Text, _Text], msgspec.Meta(max_length=_MOST_TEXTS)] | None
    uid: Natural | None
    threads: Natural
    cpuset: _Mask | None
    policy: Name | None
    policy_denied: bool
    started_s: _WallClock | None
    libraries: _Texts
    start_stack: Natural
    mems_allowed: _Mask | None
    cgroup: _Text | None
    inner_pid: Natural | None
    devices_held: _Texts | None = None


class FactChanges(msgspec.Struct, frozen=True, array_like=True):
    """Processes that went, by pid, and the facts of those that came or changed."""

    gone: Annotated[list[Natural], _A_PROCESS]
    changed: Annotated[list[Facts], _A_PROCESS]


class Counters(msgspec.Struct, frozen=True, array_like=True):
    """Counters by id, a list for each counter, as moves since the frame before; with `ids` of these ids, from 0."""

    ids: Annotated[list[Id], AN_ID] | None
    moves: Annotated[list[Annotated[list[int | None], AN_ID]], msgspec.Meta(min_length=2, max_length=6)]


class StrangerRow(msgspec.Struct, frozen=True, array_like=True):
    """A stranger, with the fields of `Stranger` in their order."""

    pid: Natural
    comm: Name
    cpu: Id
    busy: Annotated[float, msgspec.Meta(ge=0, lt=1e9)] | None
    tid: Natural | None = None
    thread: Name = ""
    is_kernel: bool = False


_Strangers = Annotated[list[StrangerRow], msgspec.Meta(max_length=MOST_STRANGERS)]


class CgroupRow(msgspec.Struct, frozen=True, array_like=True):
    """A cgroup's name, then the fields of `CgroupLoad` in their order."""

    name: _Text
    quota_cpus: Annotated[float, msgspec.Meta(ge=0, lt=1e9)] | None
    quota_path: _Text
    periods: Natural | None
    throttled_periods: Natural | None
    throttled_us: Natural | None
    cpu_some_us: Natural | None
    memory_some_us: Natural | None
    memory_full_us: Natural | None
    pressure_is_own: bool


class InterruptRow(msgspec.Struct, frozen=True, array_like=True):
    """An interrupt on a CPU, with the fields of `Interrupt` in their order."""

    irq: Natural
    name: Name
    cpu: Id
    per_s: Annotated[float, msgspec.Meta(ge=0, lt=1e12)]


class Asides(msgspec.Struct, frozen=True, array_like=True):
    """What else a sample has; None is that nothing of it changed since the frame before.

    `clocks_khz` has the CPUs whose clock changed, and null for those of which none is known any more; `memory` likewise the
    ranks that were looked at, by pid.
    """

    cgroups: Annotated[list[CgroupRow], _A_PROCESS] | None
    unseen_ns: Annotated[dict[Natural, Natural], _A_PROCESS] | None
    clocks_khz: Annotated[dict[Id, Natural | None], AN_ID] | None
    interrupts: Annotated[list[InterruptRow], msgspec.Meta(max_length=MOST_INTERRUPTS)] | None
    memory: Annotated[dict[Natural, MemoryRow | None], _A_PROCESS] | None = None
    balancing: BalancingRow | None = None


class Key(msgspec.Struct, frozen=True, array_like=True):
    """A frame that stands for itself."""

    moment: Moment
    rows: Rows
    facts: Annotated[list[Facts], _A_PROCESS]
    cpus: Counters
    nodes: Counters
    strangers: _Strangers
    asides: Asides


class Delta(msgspec.Struct, frozen=True, array_like=True):
    """A frame as what changed since the one before; None is that nothing did."""

    moment: Moment
    rows: RowChanges | None
    facts: FactChanges | None
    cpus: Counters | None
    nodes: Counters | None
    strangers: _Strangers | None
    asides: Asides
