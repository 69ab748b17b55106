from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from captures import expected
from lstopo import CAPTURES, machine_of, xml_of_root

from numascope.cpuset import CpuSet
from numascope.machine.hwloc.xml import read_hwloc_xml
from numascope.machine.objects import Machine

NOT_COMPARED = {
    ("lscpu-sparc64", "l1d"): "old sparc64 describes caches in flat files, which only lscpu reads",
    ("lscpu-sparc64", "l1i"): "the same",
    ("hwloc-64amd64-bulldozer", "cores"): "the kernel calls the two halves of a module siblings, hwloc two cores",
    ("hwloc-8em64t-buggynuma", "nodes"): "8 nodes that each list all CPUs: hwloc merges them, numascope keeps them",
    ("hwloc-8em64t-buggynuma", "node_of"): "the same",
    ("lscpu-sparc64", "caches"): "hwloc does not read sparc64's files of cache sizes",
    ("hwloc-8em64t-buggynuma", "memory"): "the same",
    ("hwloc-8em64t-buggynuma", "distances"): "the same",
    ("hwloc-8em64t-buggynuma", "nodes_allowed"): "the same",
    (
        "hwloc-fakememinitiators",
        "memory",
    ): "hwloc writes no memory for nodes that have none and for those it knows nothing of",
}


def told(machine: Machine) -> dict[str, Any]:
    """What an hwloc file and a copy of /sys both tell."""
    return {
        "online": machine.cpus.online,
        "offline": machine.cpus.offline,
        "packages": machine.packages,
        "cores": sorted(str(core.cpus) for core in machine.cores),
        "caches": machine.caches,
        "nodes": [(node.id, node.cpus, node.packages) for node in machine.nodes],
        "node_of": machine.node_of,
        "memory": [(node.id, node.memory_kib) for node in machine.nodes],
        "distances": [dict(node.distances) for node in machine.nodes],
        "devices": [(device.address, device.kind) for device in machine.devices],
        "allowed": machine.cpus.allowed,
        "nodes_allowed": machine.nodes_allowed,
    }


@pytest.mark.parametrize("name", CAPTURES)
def test_what_hwloc_writes_of_a_machine_is_what_numascope_reads_of_it(
    name: str, stored_root: Callable[[str], Path], tmp_path: Path
) -> None:
    root = stored_root(name)
    built = told(machine_of(root))
    read = told(read_hwloc_xml(xml_of_root(root, tmp_path), name))
    if len(built["nodes"]) == 1:
        built["distances"] = [{}]  # hwloc has no matrix of one node
    for field, cpus in (("allowed", built["online"]), ("nodes_allowed", CpuSet.of(node[0] for node in built["nodes"]))):
        if built[field] is None:
            built[field] = cpus  # without a cgroup or cpuset in the copy hwloc says that all are allowed
    differing = {field for field in built if built[field] != read[field] and (name, field) not in NOT_COMPARED}
    assert {field: (built[field], read[field]) for field in differing} == {}


@pytest.mark.parametrize("name", CAPTURES)
def test_the_numbers_of_an_hwloc_file_are_those_expected(
    name: str, stored_root: Callable[[str], Path], tmp_path: Path
) -> None:
    data = xml_of_root(stored_root(name), tmp_path)
    facts, machine = expected()[name]["facts"], read_hwloc_xml(data, name)
    assert str(machine.cpus.online) == facts["online"]
    assert sorted(str(package.cpus) for package in machine.packages) == sorted(facts["sockets"])
    levels = {"l1d": (1, "Data"), "l1i": (1, "Instruction"), "l3": (3, "Unified")}
    for level, kind in levels.items():
        found = [
            str(cache.cpus) for cache in machine.caches if (cache.level, cache.type) == kind and not cache.memory_side
        ]
        if (name, level) not in NOT_COMPARED:
            assert sorted(found) == sorted(facts.get(f"{level}_groups", [])), level
