"""The plan of `numascope demo`: a MindSpore bind file for two ranks on whatever CPUs this machine gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from numascope.cpuset import CpuSet

_WIDE: Final = 20
"""From so many CPUs a rank on, the slices are those that MindSpore's own `gen_bind_json.py` writes."""


def demo_plan(cpus: Sequence[int], nodes: Sequence[Sequence[int]] = ()) -> dict[str, object]:
    """The document for two ranks on these CPUs; where two of the nodes have some of them, each rank gets a node of its own."""
    first, second = _halves(cpus, nodes)
    scheduler = _scheduler(cpus, first)
    return {
        "bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "none", "actor_thread_fix_bind": True},
        "bind_cpu": {
            "scheduler": {"main": str(CpuSet.of(scheduler))},
            "device0": _roles(first, cpus),
            "device1": _roles(second, cpus),
        },
    }


def _halves(cpus: Sequence[int], nodes: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Two lists of CPUs without a common one; on a machine of one CPU both ranks have that one."""
    ordered = sorted(set(cpus))
    allowed = set(ordered)
    shares = sorted((sorted(allowed & set(node)) for node in nodes), key=lambda share: (-len(share), share))
    if len(shares) > 1 and shares[1]:
        first, second = sorted(shares[:2])
        return first, second
    middle = len(ordered) // 2
    return ordered[:middle] or ordered, ordered[middle:]


def _roles(cpus: Sequence[int], everywhere: Sequence[int]) -> dict[str, str]:
    """Main, runtime and minddata of one rank; from three CPUs on they share none, with one only main may go everywhere.

    Main differs from the other two wherever it can: a thread with the set of main looks as if it was not bound yet.
    """
    if len(cpus) >= _WIDE:
        runtime, minddata, main = cpus[4:9], cpus[9:13], cpus[13:20]
    elif len(cpus) > 2:
        share = len(cpus) // 3
        runtime, minddata, main = cpus[:share], cpus[share : 2 * share], cpus[2 * share : 3 * share]
    else:
        runtime, minddata, main = cpus[:1], cpus[-1:], cpus if len(cpus) > 1 else everywhere
    return {
        "main": str(CpuSet.of(main)),
        "runtime": str(CpuSet.of(runtime)),
        "minddata": str(CpuSet.of(minddata)),
    }


def _scheduler(cpus: Sequence[int], first: Sequence[int]) -> Sequence[int]:
    """The scheduler runs beside the first rank where that leaves four CPUs over, else wherever it may."""
    return first[_WIDE : _WIDE + 4] or first[:4] if len(first) >= _WIDE else sorted(set(cpus))
