"""How much CPU time a thread spent outside its target: bounds, from what two successive samples can prove."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from numascope.cpuset import CpuSet
from numascope.review.report import Outside

NOTHING = Outside()


class Look(NamedTuple):
    """What one sample says of one thread."""

    cpu: int | None
    allowed: CpuSet | None
    run_ns: int | None
    migrations: int | None


def extend(outside: Outside, before: Look, after: Look, target: CpuSet) -> Outside:
    """Adds one interval: exact without a migration, an upper bound with; a CPU that was not run on proves nothing.

    No file gives a thread's CPU time by CPU: its last CPU (`stat`), CPU time (`schedstat`) and migrations (`sched`) bound it.
    """
    samples = outside.samples + 1
    ran_ns = _moved(before.run_ns, after.run_ns)
    migrations = _moved(before.migrations, after.migrations)
    total_migrations = outside.migrations + (migrations or 0)
    if not ran_ns or after.cpu is None:
        return replace(outside, samples=samples, migrations=total_migrations, last_min_ns=0, last_max_ns=0)
    began_outside = before.cpu is not None and before.cpu not in target
    ended_outside = after.cpu not in target
    stayed = (migrations == 0 and before.cpu == after.cpu) or (migrations == 1 and began_outside and ended_outside)
    if stayed:
        bounds = (ran_ns, ran_ns) if ended_outside else (0, 0)
    elif ended_outside or began_outside or _reaches_out(before, after, target) or is_contradicted(before, after):
        bounds = (0, ran_ns)
    else:
        bounds = (0, 0)
    return Outside(
        min_ns=outside.min_ns + bounds[0],
        max_ns=outside.max_ns + bounds[1],
        seen=outside.seen + ended_outside,
        samples=samples,
        cpu=after.cpu if ended_outside else outside.cpu,
        migrations=total_migrations,
        last_min_ns=bounds[0],
        last_max_ns=bounds[1],
    )


def is_contradicted(before: Look, after: Look) -> bool:
    """Whether a thread migrated though its mask held one and the same CPU at both ends: it had another mask in between."""
    allowed = after.allowed
    return bool(
        allowed is not None
        and len(allowed) == 1
        and before.allowed == allowed
        and before.cpu == after.cpu
        and _moved(before.migrations, after.migrations)
        and _moved(before.run_ns, after.run_ns)
    )


def _moved(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None or after < before else after - before


def _reaches_out(before: Look, after: Look, target: CpuSet) -> bool:
    """Whether a mask at either end let the thread out of its target."""
    return any(allowed is None or not allowed <= target for allowed in (before.allowed, after.allowed))
