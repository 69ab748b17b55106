"""How closely sleeping threads must be looked at: a thread that waits for a CPU and gets none moves no counter of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from numascope.host.parse_stat import CpuTicks
from numascope.host.system.counters import RunQueues

ROTATION: Final = 10
"""What stands still is read again every tenth sample, so that nothing shown is older while somebody waits for a CPU."""

QUIET_ROTATION: Final = 40
"""Where no thread can be waiting for a CPU, one that did not run has the state that it had: only its name may be new."""

_PRESSED_CPUS: Final = 0.1
_MOST_READ: Final = 2000
"""Sleeping threads that are read in one sample at most for the sake of pressure: some 10 ms."""


class WaitWatch:
    """Turns the machine's run queues and its CPU pressure (Documentation/accounting/psi.rst) into how often sleepers are read."""

    def __init__(self) -> None:
        self._last: tuple[int, int] | None = None
        self._ticks: Mapping[int, CpuTicks] = {}

    def rotation(
        self,
        now_ns: int,
        queues: RunQueues | None,
        some_us: int | None,
        ticks: Mapping[int, CpuTicks],
        threads: int,
        explained_ns: int = 0,
    ) -> int:
        """Every how many samples a sleeping thread is to be read: 1 while somebody waits, more for over 2,000 threads, else 10 or 40.

        `some_us` is the total of `some` of `cpu.pressure`, None where this kernel does not keep it; `explained_ns` are the waits that
        ended since the last sample, which need no looking for.
        """
        waiting_cpus = self._waiting_cpus(now_ns, some_us, ticks, explained_ns)
        # A thread waits behind another only where two are runnable besides the one that asks.
        if queues is not None and queues.runnable <= 2:
            return QUIET_ROTATION
        return ROTATION if waiting_cpus < _PRESSED_CPUS else min(ROTATION, max(1, math.ceil(threads / _MOST_READ)))

    def _waiting_cpus(
        self, now_ns: int, some_us: int | None, ticks: Mapping[int, CpuTicks], explained_ns: int
    ) -> float:
        """On how many CPUs somebody waited since the last sample who has not got his CPU since; 0 where that is unknown."""
        before, old = self._last, self._ticks
        self._last, self._ticks = None if some_us is None else (now_ns, some_us), ticks
        if before is None or some_us is None or now_ns <= before[0] or some_us < before[1]:
            return 0.0
        # PSI is a share of the CPUs that are not idle: one starved thread among a hundred busy CPUs is a hundredth.
        length_ns = now_ns - before[0]
        share = (some_us - before[1]) * 1000 / length_ns
        return share * max(1.0, _busy_cpus(old, ticks)) - explained_ns / length_ns


def _busy_cpus(before: Mapping[int, CpuTicks], after: Mapping[int, CpuTicks]) -> float:
    """How many CPUs' worth of time was not idle."""
    busy = sum(one.busy for one in after.values()) - sum(one.busy for one in before.values())
    total = sum(one.total for one in after.values()) - sum(one.total for one in before.values())
    return len(after) * busy / total if total > 0 else 0.0
