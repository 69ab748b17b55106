from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from captures import expected
from hypothesis import given
from hypothesis import strategies as st
from large_machines import epyc, kunpeng
from shapes import Shape, machine

from numascope.cpuset import EMPTY, CpuSet
from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.machine.objects import Access, Cache, FrequencyPolicy, Machine, Node
from numascope.machine.part import RENUMBERED, part_of
from numascope.show.ink import plain
from numascope.show.topo.document import topo_document
from numascope.show.topo.lines import head_lines
from numascope.show.topo.markdown import markdown_text


def everything(one: Machine) -> tuple[CpuSet, CpuSet]:
    numbers = {node.id for node in one.nodes} | {other for node in one.nodes for other in node.distances}
    return one.cpus.possible | one.cpus.present, CpuSet.of(numbers) | one.nodes_offline | (one.nodes_allowed or EMPTY)


def sets_of(one: Machine) -> Iterator[CpuSet]:
    yield from (found or EMPTY for found in one.cpus)
    for things in (
        one.packages, one.dies, one.clusters, one.books, one.drawers, one.nodes, one.caches, one.cores, one.kinds,
        one.policies,
    ):  # fmt: skip
        yield from (thing.cpus for thing in things)
    yield CpuSet.of(one.node_of)


def assert_is_part(whole: Machine, cpus: CpuSet, nodes: CpuSet) -> None:
    part = part_of(whole, cpus, nodes)
    assert all(found <= cpus for found in sets_of(part))
    assert {node.id for node in part.nodes} == {node.id for node in whole.nodes if node.id in nodes}
    assert all(set(node.distances) <= set(nodes) for node in part.nodes)
    assert set(part.node_of.values()) <= set(nodes)
    assert all(core.node is None or core.node in nodes for core in part.cores)
    assert all(thing.cpus for things in (part.packages, part.dies, part.cores, part.kinds) for thing in things)
    every_node_stays = len(part.nodes) == len(whole.nodes)
    assert all(every_node_stays if device.node is None else device.node in nodes for device in part.devices)
    assert set(part.devices) <= set(whole.devices)
    assert part_of(part, cpus, nodes) == part


@pytest.mark.parametrize("name", sorted(expected()) or ["the store is absent"])
def test_the_part_of_everything_is_the_machine(name: str, stored_root: Callable[[str], Path]) -> None:
    one = build_machine(HostRoot(str(stored_root(name))))
    assert part_of(one, *everything(one)) == one
    for node in one.nodes:
        assert_is_part(one, node.cpus, CpuSet.of([node.id]))
    assert_is_part(one, EMPTY, EMPTY)


@given(st.sampled_from([kunpeng, epyc]), st.sets(st.integers(0, 400)), st.sets(st.integers(0, 9)))
def test_every_set_of_a_part_lies_within_it(make: Callable[[], Machine], cpus: set[int], nodes: set[int]) -> None:
    assert_is_part(make(), CpuSet.of(cpus), CpuSet.of(nodes))


def test_a_part_of_hand_made_machines_equals_them_when_it_is_all() -> None:
    for one in (kunpeng(), epyc(), machine(Shape(2, 2, 2, 4, 2), devices=[0, 3], offline="3", isolated="4-5")):
        assert part_of(one, *everything(one)) == one


def test_one_node_has_its_cores_caches_and_devices() -> None:
    whole = kunpeng()
    part = part_of(whole, whole.nodes[2].cpus, CpuSet.of([2]))
    assert [package.id for package in part.packages] == [1]
    assert part.packages[0].cpus == CpuSet.span(48, 71)
    assert len(part.cores) == 24
    assert [cache.cpus for cache in part.caches if cache.level == 3] == [CpuSet.span(48, 71)]
    assert [device.address for device in part.devices] == ["0000:41:00.0", "0000:42:00.0"]
    assert part.notes == (RENUMBERED,)
    assert part.nodes[0].distances == {2: 10}


def test_devices_that_keep_their_numbers_need_no_note() -> None:
    whole = kunpeng()
    assert part_of(whole, whole.nodes[0].cpus, CpuSet.of([0])).notes == ()


def test_a_device_of_unknown_node_is_in_no_part_that_leaves_a_node_out() -> None:
    whole = kunpeng()
    first, second, *others = whole.devices
    lost = first._replace(node=None, local_cpus=None)
    whole = whole._replace(devices=(lost, second, *others))
    part = part_of(whole, CpuSet.span(0, 23), CpuSet.of([0]))
    assert [device.address for device in part.devices] == [second.address]
    assert part.notes == (f"of unknown node, so not in this part: {first.address}", RENUMBERED)
    assert part_of(whole, CpuSet.span(0, 23), CpuSet.of(node.id for node in whole.nodes)).devices == whole.devices


def test_the_local_cpus_of_a_device_stay_as_the_kernel_says_them() -> None:
    whole = kunpeng()
    near = whole.devices[0]._replace(local_cpus=CpuSet.span(0, 47))
    part = part_of(whole._replace(devices=(near,)), whole.nodes[0].cpus, CpuSet.of([0]))
    assert part.devices == (near,)


def test_a_part_says_of_what_it_is_one() -> None:
    whole = kunpeng()
    part = part_of(whole, whole.nodes[2].cpus, CpuSet.of([2, 900]))
    assert part.part is not None
    assert part.part.words == f"part: node 2 of {len(whole.nodes)}"
    two = part_of(whole, CpuSet.span(0, 47), CpuSet.of([0, 1]))
    assert two.part is not None
    assert two.part.words == f"part: nodes 0-1 of {len(whole.nodes)}"
    assert part_of(whole, *everything(whole)).part is None


def test_every_format_in_words_and_the_document_say_that_it_is_a_part() -> None:
    whole = kunpeng()
    part = part_of(whole, whole.nodes[0].cpus, CpuSet.of([0]))
    words = f"part: node 0 of {len(whole.nodes)}"
    assert words in "\n".join(plain(line) for line in head_lines(part, 200))
    assert f"- {words}\n" in markdown_text(part)
    assert topo_document(part)["part"] == {"nodes": "0"}
    assert topo_document(whole)["part"] is None


def test_a_node_without_cpus_goes_by_its_number_with_its_memory_side_cache() -> None:
    one = machine(Shape(1, 1, 1, 4))
    far = Node(5, EMPTY, 1 << 20, None, access=(Access(0, CpuSet.parse("0,5"), 100, None, None, None),))
    side = Cache(1, "Unified", 1024, EMPTY, memory_side=True)
    whole = one._replace(nodes=(*one.nodes, far), caches=(*one.caches, side))
    part = part_of(whole, EMPTY, CpuSet.of([5]))
    assert [node.id for node in part.nodes] == [5]
    assert part.caches == (side,)
    assert part.nodes[0].access[0].initiators == CpuSet.of([5])
    assert part_of(whole, CpuSet.span(0, 3), CpuSet.of([0])).caches == one.caches


def test_a_frequency_policy_is_cut_too() -> None:
    one = machine(Shape(1, 2, 1, 4))._replace(policies=(FrequencyPolicy(CpuSet.span(2, 5), None, None, None, None),))
    assert part_of(one, CpuSet.span(0, 3), CpuSet.of([0])).policies[0].cpus == CpuSet.span(2, 3)
