"""Two samples → rates over the time between them; None wherever a counter is unknown or began anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from numascope.observe.sample import Sample


@dataclass(frozen=True, slots=True)
class Rates:
    """Columns aligned to the threads of the later sample; `busy` 1.0 is one whole CPU."""

    interval_s: float
    busy: tuple[float | None, ...]
    wait_ms_per_s: tuple[float | None, ...]
    migrations_per_s: tuple[float | None, ...]


def difference(before: int | None, after: int | None) -> int | None:
    """How far a counter moved; None where an end is unknown or it ran backward."""
    if before is None or after is None or after < before:
        return None
    return after - before


def rates_between(before: Sample, after: Sample) -> Rates:
    """CPU use, run-queue wait and migrations of each thread between two samples."""
    interval_s = (after.monotonic_ns - before.monotonic_ns) / 1e9
    old, new = before.threads, after.threads
    busy: list[float | None] = []
    wait: list[float | None] = []
    migrations: list[float | None] = []
    for row, key in enumerate(new.keys):
        at = old.row_of.get(key)
        if at is None or interval_s <= 0:
            busy.append(None)
            wait.append(None)
            migrations.append(None)
            continue
        ran = difference(old.run_ns[at], new.run_ns[row])
        waited = difference(old.wait_ns[at], new.wait_ns[row])
        moved = difference(old.migrations[at], new.migrations[row])
        busy.append(None if ran is None else ran / 1e9 / interval_s)
        wait.append(None if waited is None else waited / 1e6 / interval_s)
        migrations.append(None if moved is None else moved / interval_s)
    return Rates(interval_s, tuple(busy), tuple(wait), tuple(migrations))


def loads_between(before: Sample, after: Sample) -> Mapping[int, float | None]:
    """CPU → busy share of the time between two samples, 0 to 1; idle and iowait may run backward and are then unknown."""
    loads: dict[int, float | None] = {}
    for cpu, now in after.cpu_ticks.items():
        then = before.cpu_ticks.get(cpu)
        total = None if then is None else difference(then.total, now.total)
        busy = None if then is None else difference(then.busy, now.busy)
        loads[cpu] = min(1.0, busy / total) if total and busy is not None else None
    return loads


class CpuShares(NamedTuple):
    """What a CPU did with the time between two samples, each 0 to 1; `irq` is time in interrupts, `steal` what a hypervisor took."""

    user: float
    system: float
    irq: float
    iowait: float
    steal: float

    @property
    def busy(self) -> float:
        """All that was work."""
        return self.user + self.system + self.irq


def shares_between(before: Sample, after: Sample) -> Mapping[int, CpuShares]:
    """CPU → its shares; idle and iowait may run backward, such a CPU is left out, as is one that was not there."""
    found: dict[int, CpuShares] = {}
    for cpu, now in after.cpu_ticks.items():
        then = before.cpu_ticks.get(cpu)
        total = None if then is None else difference(then.total, now.total)
        if then is None or not total:
            continue
        parts = [
            difference(*pair)
            for pair in (
                (then.user, now.user), (then.system, now.system), (then.irq, now.irq), (then.iowait, now.iowait),
                (then.steal, now.steal),
            )
        ]  # fmt: skip
        known = [min(1.0, part / total) for part in parts if part is not None]
        if len(known) == len(parts):
            found[cpu] = CpuShares(*known)
    return found
