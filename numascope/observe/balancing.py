"""NUMA balancing and reclaim of a machine: what the kernel is told, and how many pages it looked at and moved a second."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from numascope.host.root import HostRoot
from numascope.host.system.node_memory import read_memory_settings

_EVERY_S: Final = 5.0
"""The kernel adds up all counters of all CPUs for each look at /proc/vmstat."""

_SOON_S: Final = 0.5
"""So soon the second look follows, so that a verb that looks for a second tells rates as well."""


class Balancing(NamedTuple):
    """The settings (Documentation/admin-guide/sysctl), and pages a second of the whole machine between the last two looks (/proc/vmstat).

    None is unknown; rates are also None where balancing is off, which is no 0.
    """

    zone_reclaim_mode: int | None = None
    """0: a full node's allocations go to the next one, though it could drop page cache."""
    numa_balancing: int | None = None
    """0 off; bit 0: pages follow the threads that use them."""
    pte_updates_per_s: float | None = None
    """Pages that were made to fault, to see who uses them."""
    hint_faults_per_s: float | None = None
    hint_faults_local_per_s: float | None = None
    """Those of the faults that came from the page's own node."""
    pages_migrated_per_s: float | None = None


UNTOLD: Final = Balancing()
"""Nothing known: not looked at, as on a machine with one node, or not recorded."""

_COUNTERS: Final = ("numa_pte_updates", "numa_hint_faults", "numa_hint_faults_local", "numa_pages_migrated")


class BalancingScan:
    """Remembers the last look; one thread at a time may use it."""

    def __init__(self, root: HostRoot, clock: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._clock = clock
        self._before: tuple[float, Mapping[str, int]] | None = None
        self._due_s = float("-inf")
        self._found = UNTOLD

    def scan(self) -> Balancing:
        """The settings and rates of the last look, which is at most 5 s old; the first look tells no rates yet."""
        now_s = self._clock()
        if now_s >= self._due_s:
            settings = read_memory_settings(self._root)
            rates = [self._rate(name, settings.balancing, now_s) for name in _COUNTERS]
            if not settings.numa_balancing:
                rates = [None] * len(_COUNTERS)
            self._due_s = now_s + (_SOON_S if self._before is None else _EVERY_S)
            self._before = now_s, settings.balancing
            self._found = Balancing(settings.zone_reclaim_mode, settings.numa_balancing, *rates)
        return self._found

    def _rate(self, name: str, counters: Mapping[str, int], now_s: float) -> float | None:
        if self._before is None:
            return None
        then_s, before = self._before
        now, then = counters.get(name), before.get(name)
        return None if now is None or then is None or now < then or now_s <= then_s else (now - then) / (now_s - then_s)
