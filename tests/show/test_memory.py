"""The text of `memory`: shares with their intervals, kinds, policies, and what is not known."""

from __future__ import annotations

import math

import pytest

from numascope.cpuset import CpuSet
from numascope.host.maps import ANONYMOUS, STACK, Kind
from numascope.host.system.node_memory import MemorySettings, NodeMemory
from numascope.observe.interval import Interval, share_interval
from numascope.observe.memory_look import RankMemory
from numascope.observe.share import NOTHING, MemoryShare, NodeShare, Share
from numascope.show.ink import plain
from numascope.show.memory import Shown, full_cost_text, kind_text, memory_document, memory_lines, settings_text

GIB = 1 << 20
NODES = tuple(NodeMemory(node, 8 * GIB, GIB, 2 * GIB, 9, 0, 12_345, 0) for node in (0, 1))
SETTINGS = MemorySettings(0, 1, {"numa_pte_updates": 7, "numa_hint_faults": 5, "numa_pages_migrated": 1_000})


def sampled(pages: int, worth: float = 1_000.0) -> Share:
    shares = ((0, 0.125), (1, 0.875))
    nodes = (
        NodeShare(node, int(part * pages), share_interval(part, worth), int(part * 8 * GIB)) for node, part in shares
    )
    return Share(pages, pages, 8 * GIB, tuple(nodes), worth)


KNOWN = MemoryShare(sampled(1_280), {ANONYMOUS: sampled(1_000), STACK: Share(12, 12, 48, None)}, "PAGEMAP_SCAN", "", ("a note",), 18_000_000)  # fmt: skip
DENIED = MemoryShare(NOTHING, reason="may not be read: run as its owner (uid 0) or as root")
POLICIES = {7: "default", 8: "bind:1", **dict.fromkeys(range(9, 20), "default")}


def shown(share: MemoryShare = KNOWN, home: CpuSet | None = None) -> Shown:
    memory = RankMemory(7, 1, share, POLICIES if share is KNOWN else {7: None})
    return Shown(memory, "python 7 (rank 3)", CpuSet.of([1]) if home is None else home, ("node 1 is full",))


def text(*some: Shown, width: int = 80, by_kind: bool = True) -> str:
    return "\n".join(plain(line) for line in memory_lines(some, NODES, SETTINGS, width, by_kind=by_kind))


def test_each_node_has_its_share_its_interval_and_its_size() -> None:
    rows = text(shown()).splitlines()
    assert "python 7 (rank 3), on CPUs of node 1" in rows
    assert "policy default, 12 threads; bind:1, 1 thread (8)" in rows
    assert "  N0             12.5 %   10.5 – 14.7 %        1.0 GiB" in rows
    assert "  N1 home        87.5 %   85.3 – 89.5 %        7.0 GiB" in rows
    assert "  off home       12.5 %   10.5 – 14.7 %        1.0 GiB" in rows
    assert "why: node 1 is full" in rows
    assert "note: a note" in rows


def test_it_is_said_how_it_is_known_and_what_it_cost() -> None:
    assert "about 8.0 GiB in memory; 1,280 of 1,280 random pages answered, worth 1,000" in text(shown())
    assert "(PAGEMAP_SCAN, 18 ms of CPU)" in text(shown()).replace("\n", " ")
    counted = MemoryShare(Share(0, 0, GIB, (NodeShare(0, 0, Interval(1.0, 1.0, 1.0), GIB),), math.inf), {}, "numa_maps")
    assert "1.0 GiB in memory, every page counted by numa_maps" in text(shown(counted))


def test_kinds_are_told_when_asked_for_and_too_few_pages_are_no_share() -> None:
    assert "stack" in text(shown())
    assert "? (12 pages answered, 100 are needed)" in text(shown())
    assert "stack" not in text(shown(), by_kind=False)


def test_what_may_not_be_read_is_unknown_with_the_way_to_get_it() -> None:
    said = text(shown(DENIED), width=120)
    assert "? where its memory lies: may not be read: run as its owner (uid 0) or as root" in said
    assert "policy ?, 1 thread" in said
    assert "%" not in said


def test_a_process_on_all_nodes_has_nothing_off_its_nodes() -> None:
    assert "off home" not in text(shown(home=CpuSet.of([0, 1])))


def test_the_machine_says_what_is_free_and_what_passed_by() -> None:
    rows = text(shown()).splitlines()
    assert "  N1        1.0 GiB    8.0 GiB      2.0 GiB   12,345 pages meant for it" in rows
    assert settings_text(SETTINGS).startswith(
        "vm.zone_reclaim_mode 0; NUMA balancing 1: 7 looked at, 5 faulted, 1,000 moved"
    )
    assert settings_text(MemorySettings(None, None, {})) == "vm.zone_reclaim_mode ?; this kernel has no NUMA balancing"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_asked(width: int) -> None:
    lines = memory_lines((shown(), shown(DENIED)), NODES, SETTINGS, width, by_kind=True)
    wide = [plain(line) for line in lines if len(plain(line)) > max(width, 72)]
    assert wide == []


def test_sizes_of_huge_pages_are_named() -> None:
    names = [kind_text(Kind("huge", size)) for size in (64, 2048, 512 << 10, 1 << 20)]
    assert names == ["huge 64 KiB", "huge 2 MiB", "huge 512 MiB", "huge 1 GiB"]


def test_the_cost_of_a_full_walk_is_estimated_from_what_is_resident() -> None:
    assert "12.0 GiB in memory, about 60 to 84 ms under its mmap lock" in full_cost_text(7, 12 * GIB)
    assert "not known" in full_cost_text(7, None)


def test_the_document_has_null_for_what_is_unknown() -> None:
    document = memory_document((shown(), shown(DENIED)), NODES, SETTINGS)
    assert (document["schema"], document["partial"]) == ("numascope.memory/1", True)
    processes = document["processes"]
    assert isinstance(processes, list)
    known, denied = processes
    assert known["nodes"][0]["share"] == 0.125
    assert known["policies"][1] == {"policy": "bind:1", "threads": [8]}
    assert known["home_nodes"] == "1"
    assert known["off_home"]["share"] == pytest.approx(0.125)
    assert (denied["nodes"], denied["resident_kib"], denied["method"], denied["off_home"]) == (None, None, None, None)
    assert denied["worth_pages"] is None
