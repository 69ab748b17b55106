"""What vLLM computes for VLLM_CPU_OMP_THREADS_BIND=auto.

vllm/utils/ompmultiprocessing.py and cpu_resource_utils.py, as they are since April 2026 (vllm-project/vllm#39781).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine

BEFORE: Final = "computed as vLLM does since April 2026; up to 0.18 it leaves out no CPU for one rank, and the last one of each of several"
"""What a reader of such a plan has to know."""

_LAST_OF_CORE: Final = ("x86_64", "i686", "s390x")
_ALL_OF_CORE: Final = ("aarch64", "armv8l", "armv7l")
_FIRST_OF_EIGHT: Final = ("ppc64le", "ppc64")


class Engines(NamedTuple):
    """How many ranks an engine has (tensor × pipeline parallel), how many engines there are, and what the user sets beside."""

    ranks: int
    number: int
    reserved: int | None
    """VLLM_CPU_NUM_OF_RESERVED_CPU; None: not set."""
    nodes: Sequence[int] | None
    """CPU_VISIBLE_MEMORY_NODES; None: not set."""


def auto_lists(machine: Machine, allowed: CpuSet, engines: Engines) -> Sequence[CpuSet] | str:
    """The CPUs of each rank, engine by engine; a sentence where vLLM ends with an error instead.

    Rank n gets one thread of each core of the n-th node (all threads on Arm, the first four of eight on POWER), and the last
    of these CPUs are left to other processes, those of the last rank first.
    """
    nodes = _nodes(machine, engines.nodes)
    wanted = engines.ranks * engines.number
    if len(nodes) < wanted:
        return (
            f"auto gives each rank a node of its own, and {wanted} ranks find {len(nodes)} here: vLLM ends, give lists"
        )
    lists: list[CpuSet] = []
    for engine in range(engines.number):
        chosen: list[Sequence[int]] = []
        for node in nodes[engine * engines.ranks : (engine + 1) * engines.ranks]:
            cpus = _of_node(machine, allowed, node)
            if cpus is None:
                found = machine.arch or "not known here"
                return f"vLLM computes auto for x86, Arm, POWER and s390x, and the processor is {found}: give lists"
            if not cpus:
                return f"auto gives a rank node {node}, which has no CPU that may be used: give lists"
            chosen.append(cpus)
        lists += _without_reserved(machine, chosen, engines)
    return lists


def _nodes(machine: Machine, visible: Sequence[int] | None) -> list[int]:
    """`Mems_allowed_list`, those of CPU_VISIBLE_MEMORY_NODES in their order; node 0 on a machine without nodes."""
    if machine.nodes_allowed is not None:
        allowed = list(machine.nodes_allowed)
    else:
        allowed = [node.id for node in machine.nodes if node.memory_kib != 0] or [0]
    return allowed if visible is None else [node for node in visible if node in allowed]


def _of_node(machine: Machine, allowed: CpuSet, node: int) -> Sequence[int] | None:
    """One rank's CPUs before any is left out; None for a processor that vLLM knows no rule for."""
    of_node: Mapping[int, int] = machine.node_of
    here = CpuSet.of(cpu for cpu in allowed if (of_node.get(cpu) if machine.nodes else 0) == node)
    if machine.arch in _ALL_OF_CORE:
        return list(here)
    if machine.arch in _FIRST_OF_EIGHT:
        return [cpu for cpu in here if cpu % 8 < 4]
    if machine.arch not in _LAST_OF_CORE:
        return None
    cores = [core.cpus & here for core in machine.cores if core.cpus & here]
    known = CpuSet.of(cpu for core in cores for cpu in core)
    return sorted([core.last for core in cores] + list(here - known))


def _without_reserved(machine: Machine, chosen: Sequence[Sequence[int]], engines: Engines) -> list[CpuSet]:
    usual = engines.ranks if machine.arch in _ALL_OF_CORE else 1
    reserved = usual if engines.reserved is None else engines.reserved
    if sum(map(len, chosen)) <= reserved:
        return [CpuSet.of(cpus) for cpus in chosen]
    each, more = divmod(reserved, engines.ranks)
    kept = []
    for rank, cpus in enumerate(chosen):
        left_out = each + (rank >= engines.ranks - more)
        kept.append(CpuSet.of(cpus[: max(0, len(cpus) - left_out)]))
    return kept
