"""Two machines compared: nothing differs from itself, and each change is told by the object that it is of."""

from __future__ import annotations

from pathlib import Path

import pytest
from large_machines import epyc, kunpeng
from lstopo import SNAPSHOTS, machine_of, snapshot_root

from numascope.cpuset import CpuSet
from numascope.machine.compare import Difference, compare
from numascope.machine.hwloc.xml import read_hwloc_xml
from numascope.machine.objects import FrequencyPolicy, HugePages, Machine, Platform
from numascope.machine.synthetic.machine import synthetic_machine
from numascope.show.topo.hwloc_xml import hwloc_xml


@pytest.mark.parametrize("machine", [epyc(), kunpeng()], ids=["epyc", "kunpeng"])
def test_a_machine_does_not_differ_from_itself(machine: Machine) -> None:
    assert compare(machine, machine) == ()


def test_memory_that_a_boot_takes_or_uses_is_no_difference() -> None:
    one = epyc()
    node = one.nodes[0]._replace(memory_kib=(one.nodes[0].memory_kib or 0) - 4_000, free_kib=5)
    assert compare(one, one._replace(nodes=(node, one.nodes[1]))) == ()


def test_a_memory_module_less_is_one() -> None:
    one = epyc()
    node = one.nodes[0]._replace(memory_kib=691 << 20)
    assert compare(one, one._replace(nodes=(node, one.nodes[1]))) == (
        Difference("node", "0", "memory", "755 GiB", "691 GiB"),
    )


def test_threads_that_were_switched_off_are_told_by_core_and_by_cache() -> None:
    one = epyc()
    first = CpuSet.span(0, 191)
    cores = tuple(core._replace(cpus=core.cpus & first) for core in one.cores)
    found = compare(one, one._replace(cores=cores))
    assert found == (
        Difference("cores", "of 2 threads (n, n+192)", "", "192 on CPUs 0-383", None),
        Difference("cores", "of 1 thread", "", None, "192 on CPUs 0-191"),
    )


def test_a_device_that_is_gone_and_one_that_moved_are_named_by_address() -> None:
    one = epyc()
    moved = one.devices[1]._replace(node=None, node_source=None)
    found = compare(one, one._replace(devices=(moved, *one.devices[2:])))
    assert found == (
        Difference("device", "0000:03:00.0", "", "kind gpu, id 10de:2330, node 0", None),
        Difference("device", "0000:23:00.0", "node", "0", "unknown"),
    )


def test_a_governor_is_told_with_the_cpus_that_have_it() -> None:
    one = epyc()
    slow = FrequencyPolicy(CpuSet.span(0, 383), "powersave", None, 400_000, 3_700_000)
    fast = slow.__class__(slow.cpus, "performance", None, 400_000, 3_700_000)
    found = compare(one._replace(policies=(slow,)), one._replace(policies=(fast,)))
    assert [(each.kind, each.name, each.before is None) for each in found] == [
        ("clocks", "powersave, 400000-3700000 kHz", False),
        ("clocks", "performance, 400000-3700000 kHz", True),
    ]


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_machine_does_not_differ_from_its_own_xml(name: str, tmp_path: Path) -> None:
    one = machine_of(snapshot_root(name, tmp_path))
    other = read_hwloc_xml(hwloc_xml(one).encode(), "own.xml")
    assert compare(one, other) == ()
    assert compare(other, one) == ()


def test_what_a_file_has_no_words_for_is_named_apart(tmp_path: Path) -> None:
    one = machine_of(snapshot_root("qemu-two-socket", tmp_path))
    nodes = tuple(node._replace(tier=4) for node in one.nodes)
    one = one._replace(nodes=nodes, platform=Platform(hypervisor="kvm"))
    other = read_hwloc_xml(hwloc_xml(one).encode(), "own.xml")
    assert compare(one, other).untold_after == ("hypervisor", "node tier", "device bridges")
    assert compare(one, other).untold_before == ()
    assert compare(other, one).untold_before == ("hypervisor", "node tier", "device bridges")


def test_what_has_changed_since_the_xml_was_written_is_a_difference(tmp_path: Path) -> None:
    one = machine_of(snapshot_root("qemu-two-socket", tmp_path))
    other = read_hwloc_xml(hwloc_xml(one).encode(), "own.xml")
    first, *rest = one.nodes
    changed = {
        "machine": one._replace(cpus=one.cpus._replace(online=one.cpus.online - CpuSet.of([1]))),
        "package": one._replace(packages=one.packages[:1]),
        "node": one._replace(nodes=(first._replace(distances={0: 10, 1: 99}), *rest)),
        "caches": one._replace(caches=one.caches[1:]),
        "cores": one._replace(cores=one.cores[1:]),
        "device": one._replace(devices=one.devices[1:]),
    }
    assert {kind: {each.kind for each in compare(new, other)} for kind, new in changed.items()} == {
        kind: {kind} for kind in changed
    }


def test_a_pool_of_no_huge_pages_equals_none_and_one_with_pages_does_not() -> None:
    one = epyc()

    def with_pages(*pages: HugePages) -> Machine:
        return one._replace(nodes=(one.nodes[0]._replace(huge_pages=pages), one.nodes[1]))

    empty, large = HugePages(2048, 0, None), HugePages(1 << 20, 4, None)
    assert compare(with_pages(empty), with_pages()) == ()
    assert compare(with_pages(empty), with_pages()).untold_after == ()
    assert compare(with_pages(large), with_pages()).untold_after == ("node huge pages",)
    assert compare(with_pages(empty, large), with_pages(large)) == ()
    assert compare(with_pages(empty), with_pages(large)) == (
        Difference("node", "0", "huge pages", None, "4 × 1048576 KiB"),
    )


def test_isolation_that_a_kernel_lifts_is_a_difference() -> None:
    one = epyc()
    isolated = one._replace(cpus=one.cpus._replace(isolated=CpuSet.of([3])))
    assert compare(isolated, one) == (Difference("machine", "", "isolated CPUs", "3", None),)
    unread = one._replace(untold=("isolated",))
    assert compare(isolated, unread) == ()
    assert compare(isolated, unread).untold_after == ("isolated CPUs",)


def test_a_description_without_sizes_or_devices_tells_neither() -> None:
    one = epyc()
    told = synthetic_machine("package:2 node:1 l3:12 l2:8 l1:1 core:1 pu:2(threads=last)")
    assert {each.kind for each in compare(one, told)} <= {"caches"}
    assert {"devices", "cache sizes", "node memory", "node distances"} <= set(compare(one, told).untold_after)
