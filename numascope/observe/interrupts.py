"""Interrupts of devices by the CPU that they land on: a look at /proc/interrupts now and then, and rates between two looks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from heapq import nlargest
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.host.root import HostRoot
from numascope.host.system import interrupts

_EVERY_S: Final = 10.0
"""The kernel writes the whole file anew for each look: megabytes where hundreds of CPUs have thousands of interrupts."""

_LEAST_PER_S: Final = 1.0
_MOST: Final = 4096


class Interrupt(NamedTuple):
    """A device's interrupts on one CPU, a second, between the last two looks; `name` is safe to print."""

    irq: int
    name: str
    cpu: int
    per_s: float


class InterruptScan:
    """Remembers the last look; one thread at a time may use it."""

    def __init__(self, root: HostRoot, clock: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._clock = clock
        self._looked_s: float | None = None
        self._table: interrupts.InterruptTable | None = None
        self._found: tuple[Interrupt, ...] = ()
        self._cpus_of: dict[int, CpuSet | None] = {}
        self._node_of: dict[int, int | None] = {}

    @property
    def note(self) -> str:
        """What to tell the user where the last look found nothing to read; else empty."""
        unread = self._looked_s is not None and self._table is None
        return "interrupts of devices are unknown: /proc/interrupts cannot be read" if unread else ""

    def scan(self, cpus: CpuSet) -> tuple[Interrupt, ...]:
        """Every device that interrupts one of `cpus` at least once a second, the busiest first, at most 4,096.

        The file is read at most every 10 s and not at all for no CPUs; between two looks the last result stays.
        The first look tells nothing yet, nor does one after CPUs went or came.
        """
        if not cpus:
            return ()
        now_s = self._clock()
        if self._looked_s is None or now_s - self._looked_s >= _EVERY_S:
            before, self._table = self._table, interrupts.read_table(self._root)
            since_s, self._looked_s = self._looked_s, now_s
            rows = _between(before, self._table, now_s - (since_s or 0.0), cpus)
            self._found = tuple(nlargest(_MOST, rows, key=lambda one: one.per_s))
            self._cpus_of.clear()
            self._node_of.clear()
        return tuple(one for one in self._found if one.cpu in cpus)

    def cpus_of(self, irq: int) -> CpuSet | None:
        """Where an interrupt goes, read once between two looks; None where this user may not know."""
        if irq not in self._cpus_of:
            self._cpus_of[irq] = interrupts.read_irq_cpus(self._root, irq)
        return self._cpus_of[irq]

    def node_of(self, irq: int) -> int | None:
        """The NUMA node of the interrupt's device, likewise."""
        if irq not in self._node_of:
            self._node_of[irq] = interrupts.read_irq_node(self._root, irq)
        return self._node_of[irq]


def _between(
    before: interrupts.InterruptTable | None, after: interrupts.InterruptTable | None, interval_s: float, cpus: CpuSet
) -> Iterator[Interrupt]:
    """The rates of what counted on; a line that is byte for byte the old one is not looked into."""
    if before is None or after is None or before.cpus != after.cpus:
        return
    columns = len(after.cpus)
    for irq, line in after.lines.items():
        old = before.lines.get(irq)
        if old is None or old == line:
            continue
        rates = [
            (after.cpus[column], more / interval_s)
            for column, more in interrupts.growth(old, line, columns).items()
            if more >= _LEAST_PER_S * interval_s and after.cpus[column] in cpus
        ]
        name = interrupts.device_name(line, columns) if rates else None
        if name is not None:
            yield from (Interrupt(irq, name, cpu, per_s) for cpu, per_s in rates)
