from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lstopo import lstopo

from numascope.cpuset import CpuSet
from numascope.errors import InputError
from numascope.machine.hwloc.xml import read_hwloc_xml
from numascope.machine.objects import Machine
from numascope.machine.synthetic.machine import synthetic_machine
from numascope.machine.synthetic.numbers import loops_for, numbers_of
from numascope.machine.synthetic.parse import Written

SERVER = "package:2 node:2(memory=16GiB) l3:2(size=32MiB) core:4 pu:2"


def sets(machine: Machine) -> list[str]:
    return [str(core.cpus) for core in machine.cores]


def test_each_level_says_how_many_lie_inside_each_object_above() -> None:
    machine = synthetic_machine(SERVER)
    assert str(machine.cpus.online) == str(machine.cpus.allowed) == "0-63"
    assert [(package.id, str(package.cpus)) for package in machine.packages] == [(0, "0-31"), (1, "32-63")]
    assert [(node.id, str(node.cpus), node.memory_kib, node.packages) for node in machine.nodes] == [
        (0, "0-15", 16 << 20, (0,)),
        (1, "16-31", 16 << 20, (0,)),
        (2, "32-47", 16 << 20, (1,)),
        (3, "48-63", 16 << 20, (1,)),
    ]
    assert [(cache.level, cache.type, cache.size_kib) for cache in machine.caches] == [(3, "Unified", 32 << 10)] * 8
    assert sets(machine)[:2] == ["0-1", "2-3"]
    assert [(core.package, core.node) for core in machine.cores] == [(at // 16, at // 8) for at in range(32)]
    assert machine.node_of[17] == 1


def test_second_threads_may_be_numbered_after_all_first_ones() -> None:
    machine = synthetic_machine("package:2 core:4 pu:2(threads=last)")
    assert sets(machine) == [f"{core},{core + 8}" for core in range(8)]
    assert [str(package.cpus) for package in machine.packages] == ["0-3,8-11", "4-7,12-15"]


@pytest.mark.parametrize("indexes", ["0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15", "2*8:1*2", "2*8", "core:package"])
def test_numbers_may_be_a_list_loops_or_levels(indexes: str) -> None:
    machine = synthetic_machine(f"package:2 core:4 pu:2(indexes={indexes})")
    assert sets(machine) == [f"{core},{core + 8}" for core in range(8)]


def test_packages_may_take_turns() -> None:
    machine = synthetic_machine("socket:2 [numa] core:4 pu:1(indexes=package:core)")
    assert [str(package.cpus) for package in machine.packages] == ["0,2,4,6", "1,3,5,7"]


def test_a_second_node_of_the_same_place_is_memory_only() -> None:
    machine = synthetic_machine("package:2 [numa(memory=64GB)] [numa(memory=1MiB)] core:2 pu:1")
    found = [(node.id, str(node.cpus), node.memory_kib) for node in machine.nodes]
    assert found == [(0, "0-1", 62_500_000), (1, "", 1024), (2, "2-3", 62_500_000), (3, "", 1024)]


def test_nodes_may_have_numbers_of_their_own() -> None:
    machine = synthetic_machine("package:2 [numa(indexes=0,8,1,9)] [numa] core:2 pu:1")
    assert [(node.id, str(node.cpus)) for node in machine.nodes] == [(0, "0-1"), (1, "2-3"), (8, ""), (9, "")]


def test_without_a_node_one_stands_for_the_machine_and_a_note_says_so() -> None:
    machine = synthetic_machine("core:2 pu:2")
    assert [(node.id, str(node.cpus), node.memory_kib) for node in machine.nodes] == [(0, "0-3", None)]
    assert machine.notes == ("the description has no node: node 0 stands for the whole machine",)


def test_a_group_without_a_node_inside_a_package_is_a_cluster() -> None:
    machine = synthetic_machine("group:2 package:1 die:2 group:2 [numa] group:3 l1i:1 l1:1 core:1 pu:1")
    assert len(machine.clusters) == 24
    assert [(die.package, die.id) for die in machine.dies] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert {(cache.level, cache.type) for cache in machine.caches} == {(1, "Data"), (1, "Instruction")}


BAD = {
    "": (1, "the last level is the hardware threads"),
    "package:2": (10, 'expected "pu:1" or more'),
    "package 2": (1, "expected a level such as"),
    "core:2  pu": (9, "expected a level such as"),
    "tile:2 pu:1": (1, '"tile" is no level'),
    "l6:2 pu:1": (1, '"l6" is no level'),
    "core:0 pu:1": (1, "none of a level leaves no machine"),
    "core:2 core:2 pu:1": (8, "a second level of core"),
    "core:2 package:2 pu:1": (8, "a core holds no package"),
    "core:2 node:2 pu:1": (8, "a core holds no node"),
    "core:2 pu:2 l3:1": (13, "hardware threads (pu) hold nothing"),
    "core:256 pu:257": (10, "65792 in all, more than 65536"),
    "core:999999999 pu:1": (1, "more than 65536"),
    "node:1025 pu:1": (1, "1025 NUMA nodes, more than the 1024"),
    "node:2 [numa] pu:1": (1, "either a level"),
    "package:2 [numa(memory=1PB)] pu:1": (24, "expected a size"),
    "package:2 [numa(memory=16G)] pu:1": (24, "expected a size"),
    "package:2 [numa(memory=16GiB) pu:1": (31, 'expected "]"'),
    "package:2 [gpu] pu:1": (11, "expected a level"),
    "package:2(memory=1) pu:1": (11, '"memory" is no attribute here'),
    "core:2(size=1) pu:1": (8, '"size" is no attribute here'),
    "core:2 l3:1(size=1kib) pu:1": (18, "expected a size"),
    "core:2 pu:1(indexes": (13, "expected an attribute"),
    "core:2 pu:1(threads=first)": (21, 'expected "threads=last"'),
    "core:2 pu:2(threads=last indexes=0,1,2,3)": (34, "either indexes or threads=last"),
    "core:2 pu:2(indexes=0,1,2)": (21, "expected 4 different numbers"),
    "core:2 pu:2(indexes=0,1,2,2)": (21, "expected 4 different numbers"),
    "core:2 pu:2(indexes=0,1,2,99999)": (21, "expected 4 different numbers"),
    "core:2 pu:2(indexes=3*2:1*2)": (21, "do not make each number"),
    "core:2 pu:2(indexes=1*0)": (21, "do not make 4 numbers"),
    "core:2 pu:2(indexes=1*999999999)": (21, "do not make 4 numbers"),
    "core:2 pu:2(indexes=pu)": (21, "expected numbers"),
    "core:2 pu:2(indexes=)": (21, "expected numbers"),
    "node:2(indexes=0,0) pu:1": (16, "expected 2 different numbers"),
    "group:1 " * 65 + "pu:1": (513, "more than 64 levels"),
    "pu:1 [numa]": (6, "a hardware thread has no memory"),
}


@pytest.mark.parametrize(("text", "error"), BAD.items(), ids=[text[:40] for text in BAD])
def test_what_is_wrong_is_named_with_its_column(text: str, error: tuple[int, str]) -> None:
    with pytest.raises(InputError) as raised:
        synthetic_machine(text)
    column, problem = error
    assert str(raised.value).startswith(f"synthetic:{column}: ")
    assert problem in str(raised.value)


WORDS = [
    "package",
    "node",
    "core",
    "pu",
    "l3",
    "l1",
    "die",
    "[numa",
    "]",
    "(memory=",
    "(indexes=",
    "1GiB",
    ")",
    ":",
    "2",
    "0,1",
    "2*2",
    " ",
]


@given(st.lists(st.sampled_from(WORDS), max_size=16).map("".join) | st.text(max_size=30))
def test_any_text_is_a_machine_or_one_error(text: str) -> None:
    with suppress(InputError):
        synthetic_machine(text)


@pytest.mark.parametrize("size", [12, 64, 96])
def test_loops_make_numbers_and_numbers_make_loops(size: int) -> None:
    for step in range(1, size):
        if size % step == 0:
            numbers = numbers_of(Written(f"{step}*{size // step}:1*{step}", 1), size)
            loops = loops_for(numbers)
            assert loops is not None
            assert numbers_of(Written(":".join(f"{one}*{count}" for one, count in loops) or "1*1", 1), size) == numbers


@given(st.permutations(range(8)))
def test_numbers_that_no_loops_make_have_none(numbers: list[int]) -> None:
    loops = loops_for(numbers)
    if loops is not None:
        assert numbers_of(Written(":".join(f"{step}*{count}" for step, count in loops), 1), 8) == numbers


@pytest.mark.parametrize(
    "text",
    [
        SERVER,
        "package:2 die:2 [numa(memory=1GB)] l3:1 l2:4 l1d:1 l1i:1 core:1 pu:2(indexes=2*16:1*2)",
        "package:2 [numa(memory=4096 indexes=0,2,1,3)] [numa(memory=8192)] core:4 pu:1(indexes=4*2:1*4)",
        "[numa(memory=12288)] package:2 [numa(memory=8192)] core:4 pu:4",
        "group:2 package:2 node:1 l2:2 core:2 pu:1",
        "package:2 node:2 l3:2 core:4 pu:2(indexes=package:node:l3:core)",
        "package:2 node:2 l3:2 core:4 pu:2(indexes=core:l3:package)",
        "package:3 core:4 pu:2(indexes=core)",
    ],
)
def test_hwloc_reads_the_same_machine_out_of_the_same_text(text: str) -> None:
    xml, _ = lstopo("-i", text, "--if", "synthetic", "--of", "xml")
    theirs, ours = read_hwloc_xml(xml.encode(), "lstopo"), synthetic_machine(text)
    assert ours.cpus == theirs.cpus
    assert ours.packages == theirs.packages
    assert [str(core.cpus) for core in ours.cores] == [str(core.cpus) for core in theirs.cores]
    assert [die.cpus for die in ours.dies] == [die.cpus for die in theirs.dies]
    assert {(cache.level, cache.type, cache.cpus) for cache in ours.caches} == {
        (cache.level, cache.type, cache.cpus) for cache in theirs.caches
    }
    assert [(node.id, node.cpus) for node in ours.nodes] == [(node.id, node.cpus) for node in theirs.nodes]
    assert all(
        mine.memory_kib in (None, other.memory_kib) for mine, other in zip(ours.nodes, theirs.nodes, strict=True)
    )
    assert ours.nodes_allowed == CpuSet.of(node.id for node in theirs.nodes)
