"""What CPUs did between two samples, as shares of the time: exact where counters are, absent where they cannot be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.host.parse_stat import CpuTicks
from numascope.observe.rates import CpuShares, difference, loads_between, shares_between
from numascope.observe.sample import NOBODY, Sample


def look(number: int, ticks: dict[int, CpuTicks]) -> Sample:
    return Sample(number, number * 1_000_000_000, 1000.0 + number, NOBODY, {}, ticks, {})


def shares(before: CpuTicks, after: CpuTicks) -> CpuShares | None:
    return shares_between(look(1, {0: before}), look(2, {0: after})).get(0)


ZERO = CpuTicks(0, 0, 0, 0, 0, 0)


def test_each_share_is_its_part_of_all_ticks() -> None:
    assert shares(CpuTicks(10, 10, 10, 10, 10, 10), CpuTicks(60, 20, 15, 20, 25, 20)) == CpuShares(
        0.5, 0.1, 0.05, 0.1, 0.1
    )


def test_what_was_taken_by_a_hypervisor_or_waited_for_a_disk_is_not_busy() -> None:
    found = shares(ZERO, CpuTicks(10, 20, 5, 30, 5, 30))

    assert found is not None
    assert found.busy == pytest.approx(0.35)
    assert loads_between(look(1, {0: ZERO}), look(2, {0: CpuTicks(10, 20, 5, 30, 5, 30)}))[0] == pytest.approx(0.35)


@pytest.mark.parametrize(
    "after",
    [
        ZERO,  # no tick passed
        CpuTicks(10, 0, 0, -5, 95, 0),  # iowait ran backward
        CpuTicks(-1, 0, 0, 0, 101, 0),
        CpuTicks(0, 0, 0, 0, -10, 0),
    ],
)
def test_a_cpu_whose_counters_stood_still_or_ran_backward_is_left_out(after: CpuTicks) -> None:
    assert shares(ZERO, after) is None


def test_a_cpu_that_came_or_went_is_left_out() -> None:
    now = CpuTicks(10, 0, 0, 0, 90, 0)

    assert list(shares_between(look(1, {0: ZERO, 1: ZERO}), look(2, {0: now, 2: now}))) == [0]


TICKS = st.builds(CpuTicks, *[st.integers(0, 10_000)] * 6)


@given(TICKS, TICKS)
def test_shares_are_between_nothing_and_all_and_add_up_to_no_more(before: CpuTicks, grown: CpuTicks) -> None:
    after = CpuTicks(*(then + more for then, more in zip(before, grown, strict=True)))
    found = shares(before, after)

    assert (found is None) == (grown.total == 0)
    if found is not None:
        assert all(0.0 <= share <= 1.0 for share in found)
        assert sum(found) == pytest.approx(1.0 - grown.idle / grown.total)


@given(TICKS, TICKS)
def test_whatever_counters_do_no_share_leaves_its_bounds(before: CpuTicks, after: CpuTicks) -> None:
    found = shares(before, after)

    assert found is None or all(0.0 <= share <= 1.0 for share in found)


def test_a_counter_that_is_unknown_or_ran_backward_has_no_difference() -> None:
    assert [difference(1, 3), difference(3, 3), difference(3, 1), difference(None, 1), difference(1, None)] == [
        2, 0, None, None, None,
    ]  # fmt: skip
