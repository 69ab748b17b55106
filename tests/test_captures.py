"""Every fact that hwloc and lscpu read from each capture of the store, against what numascope reads from the same archive."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import pytest
from captures import expected

from numascope.host.archive.root import open_archive
from numascope.host.pci.address import PCI_DIRECTORY
from numascope.machine.build import build_machine
from numascope.machine.objects import Cache, Machine

DIFFERENT: Final = {
    ("hwloc-64amd64-bulldozer", "cores"): "disputed: the kernel and lscpu call the two halves of a module siblings, as numascope does; hwloc two cores",
    ("hwloc-8em64t-buggynuma", "numa_cpulists"): "disputed: 8 nodes that each list all CPUs, kept as told as lscpu does; hwloc merges them",
    ("hwloc-8em64t-buggynuma", "numa_memory_kib"): "the same: hwloc gives the memory of all to the one node that it leaves",
}  # fmt: skip
"""(capture, fact) → why numascope says otherwise than the expected value."""

Fact = Callable[[Machine], object]


def lists(objects: Iterable[Any]) -> list[str]:
    return sorted(str(one.cpus) for one in objects)


def caches(level: int, *types: str) -> Fact:
    def wanted(one: Cache) -> bool:
        return one.level == level and one.type in types and not one.memory_side

    return lambda machine: lists(filter(wanted, machine.caches))


def distances(machine: Machine) -> object:
    nodes = [node.id for node in machine.nodes if node.distances]
    return {"nodes": nodes, "matrix": [[machine.distance(start, end) for end in nodes] for start in nodes]}


FACTS: Final[dict[str, Fact]] = {
    "online": lambda machine: str(machine.cpus.online),
    "offline": lambda machine: str(machine.cpus.offline),
    "online_pus": lambda machine: len(machine.cpus.online),
    "sockets": lambda machine: lists(machine.packages),
    "dies": lambda machine: lists(machine.dies),
    "clusters": lambda machine: lists(machine.clusters),
    "books": lambda machine: lists(machine.books),
    "drawers": lambda machine: lists(machine.drawers),
    "cores": lambda machine: lists(machine.cores),
    "l1d_groups": caches(1, "Data", "Unified"),
    "l1i_groups": caches(1, "Instruction"),
    "l2_groups": caches(2, "Data", "Unified"),
    "l3_groups": caches(3, "Unified"),
    "numa_cpulists": lambda machine: {str(node.id): str(node.cpus) for node in machine.nodes},
    "numa_memory_kib": lambda machine: {str(node.id): node.memory_kib for node in machine.nodes},
    "memory_only_nodes": lambda machine: [node.id for node in machine.nodes if not node.cpus],
    "distances": distances,
    "allowed_cpus": lambda machine: str(machine.cpus.allowed),
    "allowed_nodes": lambda machine: str(machine.nodes_allowed),
    "cpu_kinds": lambda machine: lists(machine.kinds),
}
"""Fact of expected.json → the same out of a machine; `pci_…` have tests of their own below."""


def normal(fact: str, value: object) -> object:
    """An expected value in numascope's order."""
    if fact == "cpu_kinds":
        assert isinstance(value, list)
        return sorted(kind["cpulist"] for kind in value)
    return sorted(value) if isinstance(value, list) and fact != "memory_only_nodes" else value


CASES = [
    pytest.param(name, fact, id=f"{name} {fact} by {entry['facts_source'].get(fact, '?')}")
    for name, entry in expected().items()
    for fact in entry["facts"]
    if fact in FACTS
] or [pytest.param("", "", marks=pytest.mark.skip(reason="the developers' store of captures is absent"))]

_READ: dict[str, Machine] = {}


def machine_of(name: str, shared: Path) -> Machine:
    """What numascope reads from a capture's archive."""
    if name not in _READ:
        entry = expected()[name]
        inside = str(entry["root"]) if ":" in name else None
        root = open_archive(str(shared / "captures" / str(entry["archive"])), inside)
        _READ[name] = build_machine(root, details=True)
        root.close()
    return _READ[name]


@pytest.mark.parametrize(("name", "fact"), CASES)
def test_a_fact_is_what_the_others_read_or_differs_for_a_stated_reason(name: str, fact: str, shared: Path) -> None:
    found, told = FACTS[fact](machine_of(name, shared)), normal(fact, expected()[name]["facts"][fact])
    if (name, fact) in DIFFERENT:
        assert found != told, "there is no difference to explain any more"
    else:
        assert found == told


@pytest.mark.parametrize(
    ("name", "fact", "whose"),
    [("hwloc-64amd64-bulldozer", "cores", "lscpu"), ("hwloc-8em64t-buggynuma", "numa_cpulists", "lscpu")],
)
def test_where_the_others_dispute_the_kernels_own_word_is_taken(name: str, fact: str, whose: str, shared: Path) -> None:
    assert FACTS[fact](machine_of(name, shared)) == normal(fact, expected()[name]["disputed"][fact][whose])


@pytest.mark.usefixtures("shared")
def test_every_fact_of_the_store_is_compared() -> None:
    facts = {fact for entry in expected().values() for fact in entry["facts"]}
    assert facts <= {*FACTS, "pci_accelerators", "pci_devices_total"}


NAMES = [pytest.param(name, id=name) for name in expected()] or [
    pytest.param("", marks=pytest.mark.skip(reason="the developers' store of captures is absent"))
]


@pytest.mark.parametrize("name", NAMES)
def test_cache_sizes_are_the_ones_that_hwloc_reads(name: str, shared: Path) -> None:
    told = expected()[name]["tools"]["hwloc"]["cache_kib"]
    machine = machine_of(name, shared)
    letter = {"Data": "d", "Instruction": "i", "Unified": ""}
    found: dict[str, set[int]] = {}
    for cache in machine.caches:
        level = "MemCache" if cache.memory_side else f"L{cache.level}{letter[cache.type]}"
        found.setdefault(level, set()).add(cache.size_kib or 0)
    renamed: dict[str, list[int]] = dict(told)
    if "L2i" in renamed:  # hwloc calls the data cache of a split level unified
        renamed["L2d"] = renamed.pop("L2")
    if name == "lscpu-sparc64":
        assert renamed == {}, "hwloc does not read sparc64's files of sizes; lscpu does"
        assert found == {"L1d": {16}, "L1i": {16}, "L2": {1024}}
    else:
        assert {level: sorted(sizes) for level, sizes in found.items()} == renamed


@pytest.mark.parametrize("name", NAMES)
def test_the_processor_has_the_name_that_lscpu_reads(name: str, shared: Path) -> None:
    told = expected()[name]["tools"]["lscpu"].get("Model name")
    model = machine_of(name, shared).model
    if name == "lscpu-arm-A510-A710-A715-X3":
        assert model == "Cortex-A510 + Cortex-A715 + Cortex-A710 + Cortex-X3", "lscpu tells the first of four"
    elif told in (None, "-"):
        assert model is None
    else:
        assert model == " ".join(told.split())


DISPLAYS: Final = {"102b": "Matrox", "1a03": "ASPEED", "1013": "Cirrus", "1af4": "virtio"}
"""Vendors of the display chips of management controllers and emulators, which compute nothing."""


@pytest.mark.parametrize(
    "name", [name for name in expected() if "pci_accelerators" in expected()[name]["facts"]] or NAMES
)
def test_accelerators_are_all_display_and_processing_devices_but_those_of_management_controllers(
    name: str, shared: Path
) -> None:
    machine = machine_of(name, shared)
    told = expected()[name]["facts"]["pci_accelerators"]
    assert [device.address for device in machine.devices] == [
        one["busid"] for one in told if one["vendor"] not in DISPLAYS
    ]
    for device in machine.devices:
        one = next(one for one in told if one["busid"] == device.address)
        if (one["numa_node_file"] if one["numa_node_file"] is not None else -1) >= 0:
            assert device.node == one["numa_node_file"]


@pytest.mark.parametrize(
    "name", [name for name in expected() if "pci_devices_total" in expected()[name]["facts"]] or NAMES
)
def test_as_many_pci_devices_are_seen_as_the_directory_lists(name: str, shared: Path) -> None:
    """Where hwloc leaves some out, the store says so, and how many there are."""
    entry = expected()[name]
    root = open_archive(str(shared / "captures" / str(entry["archive"])))
    listed = len(root.names(PCI_DIRECTORY))
    root.close()
    disputed = entry.get("disputed", {}).get("pci_devices_total", {})
    assert listed == disputed.get("entries in sys/bus/pci/devices", entry["facts"]["pci_devices_total"])
