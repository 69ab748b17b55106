"""Two machines compared: nothing differs from itself, and each change is told by the object that it is of."""

from __future__ import annotations

from dataclasses import replace

import pytest
from large_machines import epyc, kunpeng

from numascope.cpuset import CpuSet
from numascope.machine.compare import Difference, compare
from numascope.machine.objects import FrequencyPolicy, Machine


@pytest.mark.parametrize("machine", [epyc(), kunpeng()], ids=["epyc", "kunpeng"])
def test_a_machine_does_not_differ_from_itself(machine: Machine) -> None:
    assert compare(machine, machine) == ()


def test_memory_that_a_boot_takes_or_uses_is_no_difference() -> None:
    one = epyc()
    node = one.nodes[0]._replace(memory_kib=(one.nodes[0].memory_kib or 0) - 4_000, free_kib=5)
    assert compare(one, replace(one, nodes=(node, one.nodes[1]))) == ()


def test_a_memory_module_less_is_one() -> None:
    one = epyc()
    node = one.nodes[0]._replace(memory_kib=691 << 20)
    assert compare(one, replace(one, nodes=(node, one.nodes[1]))) == (
        Difference("node", "0", "memory", "755 GiB", "691 GiB"),
    )


def test_threads_that_were_switched_off_are_told_by_core_and_by_cache() -> None:
    one = epyc()
    first = CpuSet.span(0, 191)
    cores = tuple(core._replace(cpus=core.cpus & first) for core in one.cores)
    found = compare(one, replace(one, cores=cores))
    assert found == (
        Difference("cores", "of 2 threads (n, n+192)", "", "192 on CPUs 0-383", None),
        Difference("cores", "of 1 thread", "", None, "192 on CPUs 0-191"),
    )


def test_a_device_that_is_gone_and_one_that_moved_are_named_by_address() -> None:
    one = epyc()
    moved = one.devices[1]._replace(node=None, node_source=None)
    found = compare(one, replace(one, devices=(moved, *one.devices[2:])))
    assert found == (
        Difference("device", "0000:03:00.0", "", "kind gpu, id 10de:2330, node 0", None),
        Difference("device", "0000:23:00.0", "node", "0", "unknown"),
    )


def test_a_governor_is_told_with_the_cpus_that_have_it() -> None:
    one = epyc()
    slow = FrequencyPolicy(CpuSet.span(0, 383), "powersave", None, 400_000, 3_700_000)
    fast = slow.__class__(slow.cpus, "performance", None, 400_000, 3_700_000)
    found = compare(replace(one, policies=(slow,)), replace(one, policies=(fast,)))
    assert [(each.kind, each.name, each.before is None) for each in found] == [
        ("clocks", "powersave, 400000-3700000 kHz", False),
        ("clocks", "performance, 400000-3700000 kHz", True),
    ]
