"""Why memory is off its nodes: each reason with what it follows from, and none where nothing is known or wrong."""

from __future__ import annotations

from collections.abc import Mapping

from numascope.cpuset import CpuSet
from numascope.host.maps import ANONYMOUS, FILE, SHARED, Kind
from numascope.host.system.node_memory import MemorySettings, NodeMemory
from numascope.observe.memory_look import RankMemory, whole_share
from numascope.observe.memory_why import is_full, reasons
from numascope.observe.share import MemoryShare

HOME = CpuSet.of([1])
GIB = 1 << 20
ROOMY = (NodeMemory(0, 8 * GIB, 4 * GIB, GIB, 1, 0, 0, 0), NodeMemory(1, 8 * GIB, 4 * GIB, GIB, 1, 0, 0, 0))
FULL = (ROOMY[0], NodeMemory(1, 8 * GIB, GIB // 10, 3 * GIB, 1, 0, 12_345, 0))
OFF = MemorySettings(0, 0, {})


def memory(kib: Mapping[Kind, Mapping[int, int]], policy: str | None = "default") -> RankMemory:
    nodes = {node: sum(sizes.get(node, 0) for sizes in kib.values()) for node in (0, 1)}
    share = MemoryShare(whole_share(nodes), {kind: whole_share(sizes) for kind, sizes in kib.items()}, "numa_maps")
    return RankMemory(7, 1, share, {7: policy})


def test_nothing_is_explained_where_little_is_off_or_nothing_is_known() -> None:
    assert reasons(memory({ANONYMOUS: {0: 5, 1: 95}}), HOME, ROOMY, OFF) == ()
    assert reasons(memory({ANONYMOUS: {}}), HOME, ROOMY, OFF) == ()
    assert reasons(memory({ANONYMOUS: {0: 50, 1: 50}}), None, ROOMY, OFF) == ()


def test_a_policy_that_puts_it_elsewhere_is_the_first_reason() -> None:
    (first, *_) = reasons(memory({ANONYMOUS: {0: 50, 1: 50}}, "interleave:0-1"), HOME, ROOMY, OFF)
    assert first.startswith("its policy is interleave:0-1")


def test_a_full_node_is_named_with_what_could_be_dropped_there() -> None:
    (told,) = reasons(memory({ANONYMOUS: {0: 50, 1: 50}}), HOME, FULL, OFF)
    assert told == (
        "node 1 is full: 0.1 GiB of 8.0 GiB free; 12,345 pages meant for it went elsewhere since boot; "
        "with vm.zone_reclaim_mode 0 its 3.0 GiB of page cache are not dropped for it"
    )


def test_files_and_shared_memory_lie_where_somebody_else_may_have_put_them() -> None:
    (files,) = reasons(memory({FILE: {0: 60}, ANONYMOUS: {0: 10, 1: 100}}), HOME, ROOMY, OFF)
    (shared,) = reasons(memory({SHARED: {0: 60}, ANONYMOUS: {0: 10, 1: 100}}), HOME, ROOMY, OFF)
    assert "file pages" in files
    assert "shared memory" in shared


def test_else_it_was_touched_elsewhere_first_and_nothing_brings_it_back() -> None:
    told = reasons(memory({ANONYMOUS: {0: 60, 1: 40}}), HOME, ROOMY, OFF)
    assert ["touched" in one for one in told] == [True, False]
    assert "balancing is off" in told[1]
    balanced = MemorySettings(0, 1, {})
    assert len(reasons(memory({ANONYMOUS: {0: 60, 1: 40}}), HOME, ROOMY, balanced)) == 1


def test_a_node_is_full_below_three_in_a_hundred_and_never_when_unknown() -> None:
    node = ROOMY[0]
    assert is_full(node._replace(total_kib=1_000, free_kib=29))
    assert not is_full(node._replace(total_kib=1_000, free_kib=30))
    assert not is_full(node._replace(free_kib=None))
    assert not is_full(node._replace(total_kib=0, free_kib=0))
