"""Which hardware thread of its core a CPU is, where the machine's numbering still tells while siblings are offline."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from numascope.machine.objects import Machine


class ThreadPlace(NamedTuple):
    """The lowest CPU of a core, which may be offline, and the row of a thread of it: 0 is that lowest one."""

    core: int
    row: int


def thread_places(machine: Machine) -> Mapping[int, ThreadPlace]:
    """CPU → its place, if one rule (CPU n, n+step, …) fits every core; empty where none does.

    The kernel has no topology of an offline CPU: a core that lost one shows its other threads only.
    """
    if not machine.cpus.offline or not machine.cores:
        return {}
    most = max(len(core.cpus) for core in machine.cores)
    steps = {
        after - before for core in machine.cores if len(core.cpus) == most for before, after in pairwise(core.cpus)
    }
    if len(steps) != 1:
        return {}
    step = steps.pop()
    places: dict[int, ThreadPlace] = {}
    for cpu in machine.cpus.present:
        if cpu not in places:
            for row in range(most):
                places[cpu + row * step] = ThreadPlace(cpu, row)
    if any(cpu not in places for cpu in machine.cpus.online):
        return {}
    cores_of: dict[int, set[int]] = {}
    for at, core in enumerate(machine.cores):
        for cpu in core.cpus:
            cores_of.setdefault(places[cpu].core, set()).add(at)
        if len({places[cpu].core for cpu in core.cpus}) > 1:
            return {}
    return places if all(len(found) == 1 for found in cores_of.values()) else {}
