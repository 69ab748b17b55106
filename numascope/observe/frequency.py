"""The frequency of the CPUs that run: asked in turn, seldom, and never of CPUs that it would disturb."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, CpuSet
from numascope.host.root import HostRoot
from numascope.host.system import frequency

_EVERY_S: Final = 2.0
_STALE_S: Final = 10.0
_MOST_A_SCAN: Final = 64
_BUDGET_S: Final = 0.02
"""Kernels before 5.19 sleep 10 ms for each CPU that is asked."""

_CHECK_EVERY_S: Final = 60.0


class _Look(NamedTuple):
    khz: int | None
    at_s: float


class FrequencyScan:
    """Remembers what each running CPU said; one thread at a time may use it."""

    def __init__(self, root: HostRoot, clock: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._clock = clock
        self._looks: dict[int, _Look] = {}
        self._left_alone = EMPTY
        self._is_there = True
        self._check_s: float | None = None

    @property
    def note(self) -> str:
        """What to tell the user where this kernel sets no clocks; else empty."""
        return "" if self._is_there else "no cpufreq here: the frequency of running CPUs is unknown"

    def scan(self, cpus: CpuSet) -> Mapping[int, int]:
        """CPU → kHz of those of `cpus`, which the caller found busy, as far as known and not older than 10 s.

        A CPU is asked every 2 s at most, at most 64 in one scan, those first that wait the longest.
        """
        now_s = self._clock()
        if cpus and (self._check_s is None or now_s >= self._check_s):
            self._check_s = now_s + _CHECK_EVERY_S
            self._is_there = frequency.has_cpufreq(self._root, cpus.first)
            self._left_alone = frequency.read_left_alone(self._root) if self._is_there else EMPTY
        asked = cpus - self._left_alone if self._is_there else EMPTY
        # A CPU that idled in between is a new one: its old value says nothing.
        self._looks = {cpu: look for cpu, look in self._looks.items() if cpu in asked}
        self._ask(asked, now_s)
        return {
            cpu: look.khz
            for cpu, look in sorted(self._looks.items())
            if look.khz is not None and now_s - look.at_s <= _STALE_S
        }

    def _ask(self, cpus: CpuSet, now_s: float) -> None:
        never = _Look(None, now_s - _STALE_S - _EVERY_S)
        last_s = {cpu: self._looks.get(cpu, never).at_s for cpu in cpus}
        due = sorted((cpu for cpu in cpus if now_s - last_s[cpu] >= _EVERY_S), key=last_s.__getitem__)
        for cpu in due[:_MOST_A_SCAN]:
            if self._clock() - now_s >= _BUDGET_S:
                break
            # The one CPU that is asked for all of a policy may be any of them.
            shares = bool(self._left_alone) and frequency.read_policy_cpus(self._root, cpu) & self._left_alone
            self._looks[cpu] = _Look(None if shares else frequency.read_khz(self._root, cpu), now_s)
