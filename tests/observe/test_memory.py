"""The estimator on address spaces of any size: a hundred seeds each, whether the interval holds the truth, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import NamedTuple

import pytest
from memory_programs import finished
from observe.spaces import BASE, GIB, MIB, MadeUp, space

from numascope.cpuset import CpuSet
from numascope.host.maps import ANONYMOUS, FILE, HEAP, STACK, AddressSpace, Region
from numascope.host.pagemap import PAGE_BYTES, Run
from numascope.observe.interval import Interval, share_interval
from numascope.observe.memory import WANTED_PAGES, share_steps
from numascope.observe.share import LEAST_HITS, MemoryShare, NodeShare, Share

TRIALS = 100
LEAST_HELD = 90
ONE = CpuSet.of([1])
MOST_CALLS = 20_000


class Case(NamedTuple):
    """An address space, what of it is in memory, and where."""

    sizes: tuple[int, ...]
    runs: tuple[Run, ...]
    node_of: Callable[[int], int]
    step: int = 1


def mixed(size: int) -> Callable[[int], int]:
    """Blocks of this size, each on node 0 or 1 as if by lot."""
    return lambda address: (address // size * 2_654_435_761 >> 7) & 1


THIN = tuple((at, at + PAGE_BYTES) for at in range(BASE + 5 * MIB, BASE + 64 * GIB, 64 * MIB + 7 * PAGE_BYTES))
DENSE = (BASE + 65 * GIB, BASE + 65 * GIB + 600 * MIB)
SCATTERED = tuple((at, at + 10 * MIB) for at in range(BASE + GIB, BASE + 299 * GIB, 3 * GIB + 11 * MIB))

CASES = {
    "small, interleaved": Case((40 * MIB,), ((BASE, BASE + 20 * MIB),), lambda one: one // PAGE_BYTES % 2),
    "64 GiB thin and 600 MiB dense": Case((64 * GIB, 600 * MIB), (*THIN, DENSE), mixed(64 * MIB)),
    "the same, interleaved": Case((64 * GIB, 600 * MIB), (*THIN, DENSE), lambda one: one // PAGE_BYTES % 2),
    "1 GiB within 300": Case((300 * GIB,), ((BASE + 77 * GIB, BASE + 78 * GIB),), mixed(32 * MIB)),
    "a hundred places within 300 GiB": Case((300 * GIB,), SCATTERED, mixed(32 * MIB)),
    "100 GiB dense": Case((100 * GIB,), ((BASE, BASE + 100 * GIB),), mixed(64 * MIB), 4096),
    "100 GiB, a hundredth off": Case((100 * GIB,), ((BASE, BASE + 100 * GIB),), lambda one: int(one < BASE + GIB), 4096),
    "100 GiB within 2 TiB": Case(
        (2000 * GIB,), tuple((BASE + at * GIB, BASE + (at + 1) * GIB) for at in range(0, 2000, 20)), mixed(64 * MIB), 4096
    ),
}  # fmt: skip


def run(kernel: MadeUp, address_space: AddressSpace, seed: int, rss_kib: int | None = None) -> MemoryShare:
    random = Random(seed)  # noqa: S311  (a sample, no secret)
    return finished(share_steps(address_space, kernel, kernel, random, lambda: 0, rss_kib))


WITHOUT_SKIPPING = [
    "small, interleaved",
    "64 GiB thin and 600 MiB dense",
    "a hundred places within 300 GiB",
    "100 GiB dense",
]


@pytest.mark.parametrize(
    ("name", "can_skip"), [*((name, True) for name in CASES), *((name, False) for name in WITHOUT_SKIPPING)]
)
def test_the_interval_holds_the_true_share_and_costs_the_same_whatever_the_size(name: str, can_skip: bool) -> None:
    case = CASES[name]
    kernel = MadeUp(case.runs, case.node_of, can_skip=can_skip)
    true = kernel.truth(1, case.step)
    rss_kib = sum(end - first for first, end in case.runs) >> 10
    held, widths = 0, []
    for seed in range(TRIALS):
        calls, asked = kernel.calls, kernel.asked
        one = run(kernel, space(*case.sizes), seed, rss_kib)
        assert kernel.calls - calls < MOST_CALLS
        assert kernel.asked - asked < 80_000
        assert kernel.longest <= 2048
        interval = one.total.on(ONE)
        assert interval is not None
        held += interval.low <= true <= interval.high
        theory = share_interval(true, one.pages_resident)
        widths.append((interval.high - interval.low) / (theory.high - theory.low))
        assert one.total.resident_kib == pytest.approx(rss_kib, rel=0.1)
    assert held >= LEAST_HELD, held
    assert sum(widths) / TRIALS < 2.0


def test_pages_of_few_windows_are_not_worth_as_many_as_were_asked() -> None:
    case = CASES["100 GiB dense"]
    share = run(MadeUp(case.runs, case.node_of, can_skip=True), space(*case.sizes), 1)
    assert share.pages_resident == WANTED_PAGES
    assert share.total.worth < 0.7 * WANTED_PAGES


def test_the_same_seed_gives_the_same_share() -> None:
    case = CASES["100 GiB dense"]
    kernel = MadeUp(case.runs, case.node_of, can_skip=True)
    first, second, other = (run(kernel, space(*case.sizes), seed) for seed in (4, 4, 5))
    assert first == second != other


def test_what_a_bounded_look_cannot_find_is_unknown_or_widens_the_interval() -> None:
    case = CASES["1 GiB within 300"]
    kernel = MadeUp(case.runs, case.node_of, can_skip=False)
    found = run(kernel, space(*case.sizes), 1, rss_kib=GIB >> 10)
    wider = run(kernel, space(*case.sizes), 1, rss_kib=int(1.2 * GIB) >> 10)
    lost = run(kernel, space(*case.sizes), 1, rss_kib=2 * GIB >> 10)
    narrow, wide = found.total.on(ONE), wider.total.on(ONE)
    assert narrow is not None
    assert wide is not None
    assert wide.low < narrow.low < narrow.high < wide.high
    assert lost.nodes is None
    assert "scattered" in lost.reason


def test_under_a_hundred_answers_a_share_is_unknown_and_never_zero() -> None:
    few = MadeUp(((BASE, BASE + 99 * PAGE_BYTES),), lambda _: 1, can_skip=True)
    share = run(few, space(MIB), 1)
    assert (share.pages_asked, share.pages_resident) == (99, 99)
    assert share.nodes is None
    assert share.off(ONE) is None
    assert str(LEAST_HITS) in share.reason

    nothing = run(MadeUp((), lambda _: 1, can_skip=True), space(300 * GIB), 1)
    assert (nothing.pages_asked, nothing.nodes, nothing.total.resident_kib) == (0, None, 0)
    assert run(MadeUp((), lambda _: 1, can_skip=True), AddressSpace(()), 1).nodes is None


def test_pages_that_went_away_meanwhile_are_asked_for_and_not_counted() -> None:
    gone = MadeUp(((BASE, BASE + 40 * MIB),), lambda one: -2 if one < BASE + 20 * MIB else 1, can_skip=True)
    share = run(gone, space(40 * MIB), 1)
    assert share.pages_asked > share.pages_resident >= 1_000
    assert [one.node for one in share.nodes or ()] == [1]


def test_where_all_pages_were_asked_the_share_is_exact() -> None:
    kernel = MadeUp(((BASE, BASE + 400 * PAGE_BYTES),), lambda one: int(one < BASE + 100 * PAGE_BYTES), can_skip=True)
    share = run(kernel, space(2 * MIB), 1)
    assert share.total.on(ONE) == (0.25, 0.25, 0.25)
    assert math.isinf(share.total.worth)


def test_a_small_kind_gets_a_sample_of_its_own() -> None:
    regions = (Region(BASE, BASE + GIB, ANONYMOUS), Region(BASE + GIB, BASE + GIB + 4 * MIB, HEAP))
    address_space = AddressSpace((*regions, Region(BASE + 2 * GIB, BASE + 2 * GIB + 40 * PAGE_BYTES, FILE)))
    runs = tuple((one.start, one.end) for one in address_space.regions)
    share = run(MadeUp(runs, lambda one: int(one >= BASE + GIB), can_skip=True), address_space, 1)
    heap, total = share.kinds[HEAP].on(ONE), share.total.on(ONE)
    assert heap is not None
    assert heap.share == 1.0
    assert heap.low > 0.98
    assert total is not None
    assert total.high < 0.02
    assert share.kinds[HEAP].resident_kib == 4 * 1024
    assert share.kinds[FILE].nodes is None
    assert share.kinds[FILE].pages_resident == 40


def test_what_is_not_counted_is_said() -> None:
    one = AddressSpace(space(MIB).regions, device_kib=3 << 10, is_cut=True)
    notes = run(MadeUp((), lambda _: 0, can_skip=True), one, 1).notes
    assert [note.split(":")[0] for note in notes] == [
        "3 MiB that drivers map are not counted",
        "there are more mappings than are read",
    ]


def test_the_share_off_some_nodes_is_the_rest_with_the_interval_turned_around() -> None:
    share = Share(1_000, 1_000, 4_000, (NodeShare(0, 900, share_interval(0.9, 1_000), 3_600),), 1_000.0)
    on, off = share.on(CpuSet.of([0])), share.off(CpuSet.of([0]))
    assert on is not None
    assert off is not None
    assert (off.share, off.low, off.high) == pytest.approx((0.1, 1 - on.high, 1 - on.low))
    none = share.on(CpuSet.of([7]))
    assert none is not None
    assert none.share == 0.0
    assert none.high > 0.0


@pytest.mark.parametrize(("hidden", "known"), [(0.02, True), (0.15, True), (0.5, False)])
def test_pages_that_do_not_answer_widen_the_interval_or_leave_it_unknown(hidden: float, known: bool) -> None:
    """As on Linux 6.1, where NUMA balancing hides pages from the question: they are in memory, so VmRSS has them."""
    size = 256 * MIB
    kernel = MadeUp(
        [(BASE, BASE + size)], lambda at: -14 if (at // PAGE_BYTES * 7919) % 1000 < 1000 * hidden else 0, can_skip=False
    )
    one = run(kernel, space(size), 1, rss_kib=size >> 10)

    assert (one.nodes is not None) == known
    if known:
        on = one.total.on(CpuSet.of([0]))
        assert on is not None
        assert (1.0 - on.low > 0.9 * hidden) == (hidden > 0.03)
    else:
        assert "NUMA balancing watches; run as root" in one.reason


def test_a_teller_is_asked_for_the_pages_that_are_in_memory() -> None:
    size = 256 * MIB
    silent = MadeUp([(BASE, BASE + size)], lambda _: -14, can_skip=False)
    teller = MadeUp([(BASE, BASE + size)], lambda _: 3, can_skip=False)
    random = Random(1)  # noqa: S311  (a sample, no secret)
    one = finished(share_steps(space(size), silent, silent, random, lambda: 0, size >> 10, teller))
    assert [each.node for each in one.nodes or ()] == [3]


def test_of_what_is_no_file_the_share_off_some_nodes_stands_by_itself() -> None:
    """Libraries that another process read first lie where it ran; the policy of who maps them has no part in that."""

    def of(kib: int, off: float) -> Share:
        nodes = tuple(
            NodeShare(node, 1000, Interval(share, share, share), round(kib * share))
            for node, share in ((0, 1.0 - off), (1, off))
        )
        return Share(1000, 1000, kib, nodes)

    unknown = Share(50, 40, 100, None)
    share = MemoryShare(
        of(4000, 0.25), {FILE: of(1000, 1.0), HEAP: of(2000, 0.0), ANONYMOUS: of(1000, 0.5), STACK: unknown}
    )
    home = CpuSet.of([0])

    assert share.off_beside_files(home) == pytest.approx(Interval(*[(0 + 0.5 * 1000) / 3000] * 3))
    assert MemoryShare(of(4000, 0.25), {FILE: of(1000, 1.0)}).off_beside_files(home) is None
    assert MemoryShare(of(4000, 0.25)).off_beside_files(home) == share.off(home)
