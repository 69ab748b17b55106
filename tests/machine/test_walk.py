from __future__ import annotations

from large_machines import epyc, kunpeng

from numascope.cpuset import CpuSet
from numascope.machine.objects import Group
from numascope.machine.walk import Place, walk


def shape(places: tuple[Place, ...]) -> list[object]:
    return [(place.kind, place.number, shape(place.inside)) for place in places]


def test_a_cache_of_a_nodes_own_cpus_lies_in_the_node_and_the_node_in_its_package() -> None:
    first = walk(kunpeng()).tops[0]
    assert shape((first,)) == [("package", 0, [("node", 0, [("cache", None, [])]), ("node", 1, [("cache", None, [])])])]
    assert walk(kunpeng()).overlaps == ()


def test_many_caches_of_a_node_lie_side_by_side() -> None:
    node = walk(epyc()).tops[1].inside[0]
    assert (node.kind, node.number, len(node.inside)) == ("node", 1, 12)


def test_a_node_of_several_packages_is_drawn_around_them() -> None:
    machine = kunpeng()
    whole = machine.nodes[0]._replace(cpus=machine.cpus.online)
    tops = walk(machine._replace(nodes=(whole,), caches=())).tops
    assert shape(tops) == [("node", 0, [("package", number, []) for number in range(4)])]


def test_dies_are_drawn_only_where_a_package_has_several() -> None:
    machine = kunpeng()._replace(caches=(), nodes=())
    one_each = tuple(Group(package.id, 0, package.cpus) for package in machine.packages)
    assert all(not top.inside for top in walk(machine._replace(dies=one_each)).tops)
    halves = tuple(Group(at // 2, at % 2, CpuSet.span(at * 24, at * 24 + 23)) for at in range(8))
    first = walk(machine._replace(dies=halves)).tops[0]
    assert [part.kind for part in first.inside] == ["die", "die"]


def test_a_cache_that_spans_nodes_is_in_the_package_and_named_as_an_overlap() -> None:
    machine = kunpeng()
    wide = machine.caches[-1]._replace(cpus=machine.packages[3].cpus)
    walked = walk(machine._replace(caches=(wide,)))
    assert [part.kind for part in walked.tops[3].inside] == ["node", "node", "cache"]
    assert [(overlap.kind, overlap.numbers) for overlap in walked.overlaps] == [("node", (6, 7))]


def test_nodes_that_list_each_others_cpus_contain_nothing() -> None:
    machine = kunpeng()
    same = tuple(node._replace(cpus=machine.cpus.online) for node in machine.nodes)
    walked = walk(machine._replace(nodes=same, caches=()))
    assert all(not top.inside for top in walked.tops)
    assert len(walked.tops) == 4 + 8


def test_memory_only_nodes_stand_apart() -> None:
    machine = kunpeng()
    empty = machine.nodes[7]._replace(cpus=CpuSet(), packages=())
    assert walk(machine._replace(nodes=(*machine.nodes[:7], empty))).memory_only == (empty,)
