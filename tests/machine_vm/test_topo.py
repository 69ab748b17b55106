"""The machine as numascope reads it, against lstopo, numactl and lscpu in the same guest."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from numascope.cpuset import CpuSet
from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.machine.objects import Machine

pytestmark = pytest.mark.vm

LSTOPO = "lstopo-no-graphics"


@pytest.fixture(scope="module")
def ours() -> Machine:
    return build_machine(HostRoot())


def said_by(*command: str) -> str:
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]} here to compare with")
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def hwloc() -> ET.Element:
    return ET.fromstring(said_by(LSTOPO, "--of", "xml", "--whole-io"))  # noqa: S314  (a tool of this machine)


def sets_of(tree: ET.Element, kind: str) -> list[str]:
    masks = [one.get("cpuset") or "" for one in tree.iter("object") if one.get("type") == kind]
    return sorted(str(of_hwloc(mask)) for mask in masks)


def of_hwloc(mask: str) -> CpuSet:
    """A bitmap as hwloc writes it: words of 32 bits, an empty one is zero."""
    bits = 0
    for word in mask.split(","):
        bits = bits << 32 | int(word or "0", 16)
    return CpuSet(bits)


def as_texts(sets: Iterable[CpuSet]) -> list[str]:
    return sorted(map(str, sets))


def test_packages_and_cores_are_those_of_lstopo(ours: Machine, hwloc: ET.Element) -> None:
    assert as_texts(one.cpus for one in ours.packages) == sets_of(hwloc, "Package")
    assert as_texts(one.cpus for one in ours.cores) == sets_of(hwloc, "Core")


@pytest.mark.vm("four-node", "chiplets")
def test_dies_are_those_of_lstopo(ours: Machine, hwloc: ET.Element) -> None:
    assert len(ours.dies) == 4
    assert as_texts(one.cpus for one in ours.dies) == sets_of(hwloc, "Die")


@pytest.mark.parametrize(("level", "kind"), [(1, "L1Cache"), (2, "L2Cache"), (3, "L3Cache")])
def test_caches_are_those_of_lstopo(ours: Machine, hwloc: ET.Element, level: int, kind: str) -> None:
    found = [
        (str(one.cpus), one.size_kib)
        for one in ours.caches
        if one.level == level and one.type != "Instruction" and not one.memory_side
    ]
    expected = [
        (str(of_hwloc(one.get("cpuset") or "")), int(one.get("cache_size") or 0) // 1024)
        for one in hwloc.iter("object")
        if one.get("type") == kind
    ]
    assert found
    assert sorted(found) == sorted(expected)


def test_nodes_and_distances_are_those_of_numactl(ours: Machine) -> None:
    told = said_by("numactl", "-H")
    cpus = {int(node): str(CpuSet.of(map(int, row.split()))) for node, row in re.findall(r"node (\d+) cpus:(.*)", told)}
    memory_mib = {int(node): int(size) for node, size in re.findall(r"node (\d+) size: (\d+) MB", told)}
    rows = re.findall(r"^ *(\d+):((?: +\d+)+)", told, re.MULTILINE)
    numbers = [int(node) for node, _ in rows]
    distances = {int(node): dict(zip(numbers, map(int, row.split()), strict=True)) for node, row in rows}

    assert {node.id: str(node.cpus) for node in ours.nodes} == cpus
    assert {node.id: (node.memory_kib or 0) // 1024 for node in ours.nodes} == memory_mib
    assert {node.id: dict(node.distances) for node in ours.nodes} == distances


@pytest.mark.vm("memory-only")
def test_a_node_of_memory_alone_has_no_cpus(ours: Machine) -> None:
    assert [(node.id, str(node.cpus), bool(node.memory_kib)) for node in ours.nodes] == [
        (0, "0-3", True),
        (1, "4-7", True),
        (2, "", True),
    ]


def test_each_cpus_node_and_socket_are_those_of_lscpu(ours: Machine) -> None:
    rows = json.loads(said_by("lscpu", "-J", "-e=CPU,NODE,SOCKET"))["cpus"]
    nodes = {cpu: node.id for node in ours.nodes for cpu in node.cpus}
    sockets: dict[str, list[int]] = {}
    for row in rows:
        sockets.setdefault(str(row["socket"]), []).append(int(row["cpu"]))

    assert nodes == {int(row["cpu"]): int(row["node"]) for row in rows}
    assert as_texts(one.cpus for one in ours.packages) == as_texts(map(CpuSet.of, sockets.values()))


def test_isolated_cpus_are_those_that_the_kernel_names(ours: Machine) -> None:
    assert str(ours.cpus.isolated) == Path("/sys/devices/system/cpu/isolated").read_text().strip()


def test_accelerators_lie_on_the_nodes_that_their_pci_buses_name(ours: Machine) -> None:
    bus = Path("/sys/bus/pci/devices")
    expected = {
        one.name: (int((one / "numa_node").read_text()), (one / "local_cpulist").read_text().strip())
        for one in bus.iterdir()
        if (one / "class").read_text()[:4] in ("0x03", "0x12")
    }
    assert {one.address: (one.node, str(one.local_cpus)) for one in ours.devices} == expected
