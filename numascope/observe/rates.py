"""Two samples → rates over the time between them; None wherever a counter is unknown or began anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
