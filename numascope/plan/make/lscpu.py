"""What msrun and gen_bind_json.py cannot read of lscpu, by which alone they know the CPUs of a node."""

from __future__ import annotations

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine


def unread_nodes(machine: Machine) -> CpuSet:
    """Nodes whose CPUs are no pure ranges in lscpu's words: it writes `3` and `0,1` for one and for two in a row (util-linux, lib/cpuset.c)."""
    return CpuSet.of(
        node.id
        for node in machine.nodes
        if not node.cpus or any(last - first < 2 for first, last in node.cpus.ranges())
    )
