"""Clocks, huge pages, memory speeds, isolation and platform: said once for all that are alike."""

from __future__ import annotations

from large_machines import epyc

from numascope.cpuset import CpuSet
from numascope.machine.objects import Access, FrequencyPolicy, HugePages, Platform
from numascope.show.topo.details import (
    access_lines,
    clock_lines,
    huge_page_lines,
    isolation_words,
    offline_node_words,
    platform_words,
    tier_lines,
)
from numascope.show.topo.words import TIED

ONE = epyc()


def policy(cpus: str, governor: str | None, max_khz: int | None = 3_700_000) -> FrequencyPolicy:
    return FrequencyPolicy(CpuSet.parse(cpus), governor, "acpi-cpufreq", 400_000, max_khz, 400_000, 3_700_000)


def untied(texts: list[str]) -> list[str]:
    return [text.replace(TIED, " ") for text in texts]


def test_clocks_that_are_alike_are_one_line_and_a_limit_below_the_hardware_is_seen() -> None:
    alike = ONE._replace(policies=(policy("0-191", "performance"), policy("192-383", "performance")))
    mixed = ONE._replace(policies=(policy("0-191", "performance"), policy("192-383", "powersave", 2_000_000)))
    assert untied(clock_lines(alike)) == ["clocks: performance, 0.4-3.7 GHz by acpi-cpufreq"]
    assert untied(clock_lines(mixed)) == [
        "clocks by acpi-cpufreq: performance, 0.4-3.7 GHz on 0-191; powersave, 0.4-2.0 GHz of 3.7 on 192-383"
    ]


def test_nothing_is_said_of_clocks_that_nobody_tells() -> None:
    assert clock_lines(ONE) == []
    untold = FrequencyPolicy(CpuSet.span(0, 3), None, None, None, None)
    assert clock_lines(ONE._replace(policies=(untold,))) == []


def test_huge_pages_and_memory_speeds_are_told_by_node() -> None:
    pools = (HugePages(2048, 1024, 1000), HugePages(1 << 20, 4, None))
    access = (Access(0, CpuSet.of([0]), 90, 90, 131_072, 65_536),)
    nodes = (ONE.nodes[0]._replace(huge_pages=pools, access=access), ONE.nodes[1]._replace(access=access))
    machine = ONE._replace(nodes=nodes)
    assert untied(huge_page_lines(machine)) == ["huge pages: 1,024 × 2 MiB, 1,000 free; 4 × 1 GiB on node 0"]
    assert untied(access_lines(machine)) == [
        "memory of node 0: 90 ns, 128/64 GiB/s from its own CPUs",
        "memory of node 1: 90 ns, 128/64 GiB/s from node 0",
    ]


def test_a_bandwidth_below_a_gib_a_second_is_told_in_mib() -> None:
    told = {
        (100, 400): "400/100 MiB/s",
        (512, 512): "512 MiB/s",
        (1024, 1024): "1 GiB/s",
        (2048, 2048): "2 GiB/s",
        (100, 131_072): "131,072/100 MiB/s",
    }
    for (write, read), words in told.items():
        nodes = (ONE.nodes[0]._replace(access=(Access(0, CpuSet.of([0]), None, None, read, write),)),)
        assert untied(access_lines(ONE._replace(nodes=nodes))) == [f"memory of node 0: {words} from its own CPUs"]


def test_tiers_are_told_from_fast_to_slow_where_there_are_several() -> None:
    tiers = (ONE.nodes[0]._replace(tier=961), ONE.nodes[1]._replace(tier=4))
    assert tier_lines(ONE._replace(nodes=tiers)) == ["memory tiers, fastest first: node 1; node 0"]
    assert tier_lines(ONE._replace(nodes=(tiers[0], ONE.nodes[1]))) == []


def test_isolation_offline_nodes_and_platform_are_words_of_the_state() -> None:
    cpus = ONE.cpus._replace(nohz_full=CpuSet.span(2, 3), partitioned=CpuSet.span(8, 9))
    machine = ONE._replace(
        cpus=cpus, nodes_offline=CpuSet.span(2, 3), platform=Platform("kvm", "docker", ("/proc/cpuinfo",))
    )
    assert isolation_words(machine) == ["nohz_full: 2-3", "isolated partition: 8-9"]
    assert offline_node_words(machine) == ["2 nodes offline"]
    assert platform_words(machine) == ["under kvm", "in a docker container", "lxcfs stands in for /proc/cpuinfo"]
    assert platform_words(ONE._replace(platform=Platform("unnamed", "unnamed"))) == [
        "under a hypervisor",
        "in a container",
    ]
    assert isolation_words(ONE) == offline_node_words(ONE) == platform_words(ONE) == []
