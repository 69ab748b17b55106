from __future__ import annotations

import json
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest

from numascope.cpuset import CpuSet
from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.machine.objects import Machine

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def machine() -> Machine:
    return build_machine(HostRoot())


def output_of(*command: str) -> str:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_lscpu_lists_the_same_cpus_and_the_same_model(machine: Machine) -> None:
    fields = {row["field"].rstrip(":"): row["data"] for row in _flat(json.loads(output_of("lscpu", "-J"))["lscpu"])}
    assert str(machine.cpus.online) == str(CpuSet.parse(fields["On-line CPU(s) list"]))
    assert machine.arch == fields["Architecture"]
    if machine.model is not None:
        assert fields["Model name"].split() == machine.model.split()


def test_lscpu_puts_the_same_cpus_together_in_cores_packages_and_nodes(machine: Machine) -> None:
    table = output_of("lscpu", "-p=CPU,CORE,SOCKET,NODE")
    rows = [line.split(",") for line in table.splitlines() if not line.startswith("#")]
    nodes = {node.cpus for node in machine.nodes if node.cpus}
    for column, found in (
        (1, {core.cpus for core in machine.cores}),
        (2, {package.cpus for package in machine.packages}),
        (3, nodes),
    ):
        told: dict[str, list[int]] = {}
        for row in rows:
            told.setdefault(row[column], []).append(int(row[0]))
        assert found == {CpuSet.of(cpus) for cpus in told.values()}


def test_hwloc_sees_the_same_cores_packages_and_nodes(machine: Machine) -> None:
    tree = ET.fromstring(output_of("lstopo-no-graphics", "--of", "xml"))  # noqa: S314  (our own lstopo wrote it)
    for kind, found in (
        ("Package", {package.cpus for package in machine.packages}),
        ("Core", {core.cpus for core in machine.cores}),
        ("NUMANode", {node.cpus for node in machine.nodes if node.cpus}),
    ):
        assert found == {_hwloc_set(one.attrib["cpuset"]) for one in tree.iter("object") if one.get("type") == kind}


def _hwloc_set(written: str) -> CpuSet:
    """Hwloc writes `0xf...f,0x00000001`: 32-bit words, an empty one is 0."""
    return CpuSet.from_mask(",".join(word.removeprefix("0x") or "0" for word in written.split(",")))


def _flat(rows: list[dict[str, object]]) -> list[dict[str, str]]:
    found = []
    for row in rows:
        children = row.get("children", [])
        found.append({"field": str(row["field"]), "data": str(row["data"])})
        assert isinstance(children, list)
        found += _flat(children)
    return found
