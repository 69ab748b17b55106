from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from large_machines import epyc, kunpeng
from lstopo import CAPTURES, SNAPSHOTS, lstopo, machine_of, snapshot_root

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.hwloc.xml import read_hwloc_xml
from numascope.machine.objects import Cache, Device, Group, Machine, Node
from numascope.machine.synthetic.machine import synthetic_machine
from numascope.show.topo import hwloc_tree
from numascope.show.topo.hwloc_xml import bitmap, hwloc_xml


@pytest.fixture
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    """A capture of the store, a kept snapshot, or a machine made by hand."""
    where, name = request.param
    if where == "capture":
        stored_root: Callable[[str], Path] = request.getfixturevalue("stored_root")
        return machine_of(stored_root(name))
    if where == "snapshot":
        return machine_of(snapshot_root(name, tmp_path))
    return {"kunpeng": kunpeng, "epyc": epyc, "crossing": crossing}[name]()


def crossing() -> Machine:
    """A machine that contradicts itself: node 1 has half of each package, node 2 is memory near node 0."""
    machine = epyc()
    halves = CpuSet.span(48, 143)
    distances = {0: 17, 1: 28, 2: 10}
    nodes = (
        machine.nodes[0]._replace(distances={0: 10, 1: 32, 2: 17}),
        machine.nodes[1]._replace(cpus=halves, packages=(0, 1), distances={0: 32, 1: 10, 2: 28}),
        Node(2, EMPTY, 64 << 20, None, (), None, distances),
    )
    strange = (Cache(3, "Instruction", 1, CpuSet.span(0, 3)), Cache(4, "Instruction", 1, CpuSet.span(0, 3)))
    device = Device("10000:01:00.0", 0x030200, "gpu", 0x10DE, 0x2330, "NVIDIA", None, 0, "numa_node", None)
    lost = Device("0000:01:00.0", 0x030200, "gpu", 0x10DE, 0x2330, "NVIDIA", 'a "name" <&>', 2, "numa_node", None)
    return machine._replace(
        nodes=nodes,
        nodes_allowed=EMPTY,
        caches=(*machine.caches, *strange, Cache(1, "Unified", 1, EMPTY, memory_side=True)),
        clusters=(Group(0, 3, CpuSet.span(90, 100)),),
        devices=(lost, *machine.devices, device),
        node_of={},
    )


EVERY = pytest.mark.parametrize(
    "machine",
    [
        *(("capture", name) for name in CAPTURES),
        *(("snapshot", name) for name in SNAPSHOTS),
        *(("hand", name) for name in ("kunpeng", "epyc", "crossing")),
    ],
    ids=lambda pair: pair[1],
    indirect=True,
)


def told(machine: Machine) -> dict[str, Any]:
    return {
        "packages": machine.packages,
        "nodes": [(node.id, node.cpus, node.memory_kib, dict(node.distances)) for node in machine.nodes],
        "cores": {core.cpus for core in machine.cores},
        "caches": {
            (cache.level, cache.type, cache.size_kib, cache.cpus, cache.memory_side) for cache in machine.caches
        },
        "clusters": {cluster.cpus for cluster in machine.clusters},
        "cpus": (machine.cpus.present | machine.cpus.online, machine.cpus.online, machine.cpus.allowed),
        "nodes_allowed": machine.nodes_allowed,
        "devices": [(device.address, device.kind, device.node) for device in machine.devices],
        "model": (machine.arch, machine.model),
    }


@EVERY
def test_what_is_written_is_read_back(machine: Machine) -> None:
    text = hwloc_xml(machine)
    written, read = told(machine), told(read_hwloc_xml(text.encode(), "own.xml"))
    if "left out" in text:
        contradicts_itself = any("contradictory" in note for note in machine.notes)
        assert contradicts_itself or "10000:01:00.0" in text
        return
    assert read == written


def counted(machine: Machine) -> dict[str, int]:
    """How many of each type hwloc should find."""
    sides = [cache for cache in machine.caches if cache.memory_side]
    found = {
        "PU": len(machine.cpus.online),
        "Core": len(machine.cores),
        "Package": len(machine.packages),
        "NUMANode": len(machine.nodes),
        "PCIDev": len(machine.devices),
        "MemCache": len(sides),
    }
    for cache in machine.caches:
        if not cache.memory_side:
            kind = f"L{cache.level}{'i' if cache.type == 'Instruction' else ''}Cache"
            found[kind] = found.get(kind, 0) + 1
    return {kind: count for kind, count in found.items() if count}


@EVERY
def test_lstopo_opens_it_without_a_word_and_finds_as_many_of_each(machine: Machine, tmp_path: Path) -> None:
    text = hwloc_xml(machine)
    file = tmp_path / "machine.xml"
    file.write_text(text, encoding="utf-8")
    console, complaints = lstopo("-i", str(file), "--if", "xml", "--of", "console")
    assert complaints == ""
    assert console.startswith("Machine")
    again = tmp_path / "again.xml"
    _, complaints = lstopo("-i", str(file), "--whole-io", "--disallowed", "--of", "xml", str(again))
    assert complaints == ""
    objects = [one.attrib for one in ET.parse(again).getroot().iter("object")]  # noqa: S314 - lstopo wrote it just now
    found = Counter(one["type"] for one in objects if one["type"] not in ("Machine", "Group", "Die"))
    if "left out" not in text:
        assert found == counted(machine)
    places = {one["os_index"]: one["cpuset"] for one in objects if one["type"] == "NUMANode"}
    nodes = [node for node in machine.nodes if node.cpus and f"place of node {node.id}" not in text]
    assert {places[str(node.id)] for node in nodes} == {bitmap(node.cpus) for node in nodes}


def test_what_crosses_is_left_out_by_name_and_the_rest_stays() -> None:
    machine = crossing()
    text = hwloc_xml(machine)
    body, _, comments = text.partition("</topology>\n")
    assert "<!--" not in body
    assert comments.splitlines() == [
        "<!-- left out: L3iCache of CPUs 0-3: crosses the Core of CPUs 0,192 -->",
        "<!-- left out: Cluster of CPUs 90-100: crosses the Package of CPUs 0-95,192-287 -->",
        "<!-- left out: L4iCache of CPUs 0-3: hwloc has no such type -->",
        "<!-- left out: the place of node 1: its CPUs 48-143 cross other objects -->",
        "<!-- left out: allowed_nodeset, which is empty: hwloc wants one at least -->",
        "<!-- left out: device 10000:01:00.0: hwloc has no PCI domains above ffff -->",
    ]
    written, read = told(machine), told(read_hwloc_xml(text.encode(), "own.xml"))
    same = {field for field in written if written[field] == read[field]}
    assert same == {"packages", "nodes", "cores", "cpus", "model"}
    assert read["devices"] == written["devices"][:-1]


def test_a_node_without_cpus_hangs_where_it_is_reached_best(tmp_path: Path) -> None:
    file = tmp_path / "machine.xml"
    file.write_text(hwloc_xml(crossing()), encoding="utf-8")
    node = re.search(r'type="NUMANode" os_index="2" cpuset="([^"]*)"', file.read_text(encoding="utf-8"))
    assert node is not None
    assert node[1] == bitmap(CpuSet.parse("0-95,192-287"))


def test_hundreds_of_nodes_inside_each_other_are_written_too() -> None:
    machine = synthetic_machine("core:512 pu:1")
    nodes = tuple(Node(number, CpuSet.span(0, number), 1, None) for number in range(512))
    text = hwloc_xml(machine._replace(nodes=nodes))
    assert told(read_hwloc_xml(text.encode(), "own.xml"))["nodes"] == [(one.id, one.cpus, 1, {}) for one in nodes]


@pytest.mark.parametrize(
    ("ids", "written"),
    [
        ("", "0x0"),
        ("0", "0x00000001"),
        ("0-31", "0xffffffff"),
        ("32", "0x00000001,0x0"),
        ("0,96", "0x00000001,,,0x00000001"),
        ("64-95", "0xffffffff,,0x0"),
    ],
)
def test_a_set_is_written_as_hwloc_writes_it(ids: str, written: str) -> None:
    assert bitmap(CpuSet.parse(ids)) == written


@pytest.mark.parametrize("packages", [1, 4])
def test_a_tree_asks_for_the_place_of_each_node_a_few_times_however_many_cores_there_are(
    packages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[CpuSet] = []
    has_place_for = hwloc_tree._Shelf.has_place_for

    def counted(shelf: hwloc_tree._Shelf, cpus: CpuSet) -> bool:
        asked.append(cpus)
        return has_place_for(shelf, cpus)

    monkeypatch.setattr(hwloc_tree._Shelf, "has_place_for", counted)
    hwloc_xml(synthetic_machine(f"package:{packages} node:4 core:32 pu:2"))
    assert len(asked) == 2 * 4 * packages


@given(st.sets(st.integers(0, 3_000), max_size=40))
def test_a_set_is_written_as_words_of_32_bits(ids: set[int]) -> None:
    words = bitmap(CpuSet.of(ids)).split(",")
    assert len(words) == max(ids, default=0) // 32 + 1
    values = [int(word, 16) if word else 0 for word in reversed(words)]
    assert {at * 32 + bit for at, value in enumerate(values) for bit in range(32) if value >> bit & 1} == ids
    assert words[-1] == "0x0" or len(words[-1]) == len("0x00000000")
    assert "0x00000000" not in words
