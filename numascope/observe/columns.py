"""The threads of one process as parallel lists, which grow and shrink between two samples."""

from __future__ import annotations

from numascope.cpuset import CpuSet
from numascope.host.parse_sched import SchedCounters, Scheduling
from numascope.observe.sample import ThreadKey


class Columns:
    """Parallel lists, one entry a thread by rising tid: the columns of a sample, and what stands behind them."""

    __slots__ = (
        "allowed", "comms", "counters", "cpus", "keys", "last_ran", "migrations", "raw_stats", "raw_times", "run_ns",
        "schedstats", "scheduling", "seen", "slices", "states", "tids", "wait_ns",
    )  # fmt: skip

    def __init__(self) -> None:
        self.tids: list[int] = []
        self.keys: list[ThreadKey] = []
        self.comms: list[str] = []
        self.states: list[str] = []
        self.cpus: list[int | None] = []
        self.allowed: list[CpuSet | None] = []
        self.run_ns: list[int | None] = []
        self.wait_ns: list[int | None] = []
        self.slices: list[int | None] = []
        self.migrations: list[int | None] = []
        self.scheduling: list[Scheduling] = []
        self.counters: list[SchedCounters] = []
        self.seen: list[int] = []
        self.last_ran: list[int] = []
        self.schedstats: list[int | None] = []
        self.raw_times: list[bytes] = []
        self.raw_stats: list[bytes] = []

    def keep(self, order: list[int]) -> None:
        """Leaves the entries at these places, in this order."""
        for name in self.__slots__:
            column = getattr(self, name)
            column[:] = [column[at] for at in order]
