from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from captures import expected
from large_machines import epyc, kunpeng
from shapes import Shape, machine

from numascope.cpuset import EMPTY, CpuSet
from numascope.errors import UsageError
from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.machine.objects import CoreKind, FrequencyPolicy, HugePages, Machine, Node
from numascope.show.canvas import cells
from numascope.show.ink import plain
from numascope.show.topo.table import KINDS, table_lines


def text_of(one: Machine, width: int = 80, only: str | None = None) -> list[str]:
    return [plain(line) for line in table_lines(one, width, only)]


def test_neighbours_that_differ_in_nothing_but_their_number_are_a_row() -> None:
    lines = text_of(kunpeng())
    assert lines[:3] == [
        "CPU      cluster  L3       node  package",
        "0-3      0        0-23     0     0",
        "4-7      1        0-23     0     0",
    ]
    assert len(lines) == 1 + 48 + 2


def test_what_is_the_same_for_all_or_not_known_is_told_below() -> None:
    told = " ".join(text_of(kunpeng(), 200)[-2:])
    assert "the same for all CPUs: core of its own; online yes; allowed yes; isolated no" in told
    assert "not known: die, kind, max GHz" in told


def test_threads_of_a_core_are_told_by_its_set_of_cpus() -> None:
    lines = text_of(epyc())
    assert lines[1] == "  0  0,192    0-7,192-199      0     0"
    assert len(lines) == 1 + 384 + 2


def test_single_cpus_are_a_row_each_when_asked_for() -> None:
    assert len(text_of(kunpeng(), only="pu")) == 1 + 192 + 2


def test_a_machine_of_2048_cpus_is_a_table_of_as_many_rows() -> None:
    assert len(text_of(machine(Shape(2, 8, 8, 8, 2)), only="pu")) == 1 + 2048 + 2


def test_offline_disallowed_and_isolated_cpus_are_flagged() -> None:
    one = machine(Shape(1, 1, 1, 8), offline="2-3", isolated="5")
    one = one._replace(cpus=one.cpus._replace(allowed=CpuSet.parse("0-1,4-5")))
    rows = {line.split()[0]: line.split()[-3:] for line in text_of(one, 120) if line[0].isdecimal()}
    assert rows == {
        "0-1": ["yes", "yes", "no"],
        "2-3": ["no", "no", "no"],
        "4": ["yes", "yes", "no"],
        "5": ["yes", "yes", "yes"],
        "6-7": ["yes", "no", "no"],
    }


def test_a_core_of_an_isolated_partition_is_isolated_though_no_file_tells_of_isolcpus() -> None:
    one = machine(Shape(1, 1, 1, 3, 2))
    partitioned = CpuSet.of(one.cores[1].cpus) | CpuSet.of([one.cores[2].cpus.first])
    one = one._replace(cpus=one.cpus._replace(partitioned=partitioned), untold=("isolated",))
    assert [line.split()[-1] for line in text_of(one, 200, "core")[1:4]] == ["?", "yes", "?"]


def test_speed_and_kind_stand_in_the_row_of_a_cpu() -> None:
    one = machine(Shape(1, 1, 1, 4))
    kinds = (CoreKind(CpuSet.span(0, 1), "P", None, 5_000_000), CoreKind(CpuSet.span(2, 3), "E", None, None))
    cores = tuple(core._replace(kind="P" if core.cpus.first < 2 else "E") for core in one.cores)
    policy = FrequencyPolicy(CpuSet.span(2, 3), None, None, None, 3_000_000, None, 3_900_000)
    lines = text_of(one._replace(kinds=kinds, cores=cores, policies=(policy,)))
    assert [line.split() for line in lines[:3]] == [
        ["CPU", "kind", "max", "GHz"],
        ["0-1", "P", "5.0"],
        ["2-3", "E", "3.9"],
    ]


def test_nodes_have_memory_devices_and_distances() -> None:
    lines = text_of(kunpeng(), only="node")
    assert lines[0] == "node  CPUs     package  free GiB  devices    N0  N1  N2  N3  N4  N5  N6  N7"
    assert lines[4] == "3     72-95    1             1.2  –          24  24  12  10  24  24  24  24"
    assert any("10 is local" in line for line in text_of(kunpeng(), 200, "node"))


def test_the_distances_of_many_nodes_stand_below() -> None:
    lines = text_of(machine(Shape(2, 8, 8, 8, 2)), only="node")
    assert lines[-1] == "distance: 10 own node, 12 same package, 24 other package"
    assert "N0" not in lines[0]


def test_memory_only_nodes_and_huge_pages_are_told() -> None:
    one = machine(Shape(1, 1, 1, 4))
    far = Node(5, EMPTY, 64 << 20, None, (), "CXL", {}, (HugePages(2048, 512, 512),), tier=6)
    row = next(line for line in text_of(one._replace(nodes=(*one.nodes, far)), 200, "node") if line[0] == "5")
    assert row.split()[:4] == ["5", "none", "–", "–"]
    assert "CXL" in row
    assert "512 of 2 MiB" in row


def test_packages_caches_and_devices_have_tables_of_their_own() -> None:
    assert text_of(epyc(), only="package")[1].split() == ["0", "0-95,192-287", "0", "gpu", "d0", "d1", "d2", "d3"]
    assert len(text_of(epyc(), only="l3")) == 1 + 24 + 1
    assert any("size 32 MiB; type Unified; cores 8" in line for line in text_of(epyc(), only="l3"))
    assert text_of(epyc(), only="device")[1].split() == ["d0", "0000:03:00.0", "0"]
    assert text_of(epyc(), only="die") == ["no dies known"]


def test_an_unknown_kind_is_one_clear_error() -> None:
    with pytest.raises(UsageError, match="no table of 'l9': give one of package, die, node, l3"):
        table_lines(kunpeng(), 80, "l9")


@pytest.mark.parametrize("only", [None, *KINDS])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_asked(width: int, only: str | None) -> None:
    for one in (kunpeng(), epyc(), machine(Shape(2, 8, 8, 8, 2), devices=[0])):
        assert max(map(cells, table_lines(one, width, only))) <= width


@pytest.mark.parametrize("name", sorted(expected()) or ["the store is absent"])
def test_every_capture_has_tables_within_their_width(name: str, stored_root: Callable[[str], Path]) -> None:
    one = build_machine(HostRoot(str(stored_root(name))))
    for only in (None, *KINDS):
        for width in (40, 80, 120):
            lines = table_lines(one, width, only)
            assert max(map(cells, lines)) <= width
    numbers = {line.split()[0] for line in text_of(one, 400, "pu") if line.split()[0].isdecimal()}
    assert numbers == set(map(str, one.cpus.present))
