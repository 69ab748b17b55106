"""The interval against what it promises, computed from the binomial distribution itself."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.observe.interval import Interval, share_interval, widened


def coverage(share: float, count: int) -> float:
    """How often the interval of a sample of `count` holds the true share: the sum over all that can be counted."""
    total = 0.0
    for hits in range(count + 1):
        found = share_interval(hits / count, count)
        if found.low <= share <= found.high:
            log = math.lgamma(count + 1) - math.lgamma(hits + 1) - math.lgamma(count - hits + 1)
            total += math.exp(log + hits * math.log(share) + (count - hits) * math.log1p(-share))
    return total


@pytest.mark.parametrize("count", [100, 256, 1_000])
@pytest.mark.parametrize("share", [0.0002, 0.001, 0.003, 0.01, 0.05, 0.2, 0.5, 0.9, 0.999])
def test_it_holds_the_true_share_in_95_of_100_samples_at_every_share(share: float, count: int) -> None:
    assert coverage(share, count) >= 0.949


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_it_is_hardly_wider_than_the_textbooks(share: float) -> None:
    found = share_interval(share, 1_000)
    assert found.high - found.low < 1.1 * 2 * 1.96 * math.sqrt(share * (1 - share) / 1_000)


def test_nothing_of_a_thousand_may_still_be_a_few_in_a_thousand() -> None:
    none, everything = share_interval(0.0, 1_000), share_interval(1.0, 1_000)
    assert none.low == 0.0
    assert 0.003 < none.high < 0.006
    assert (everything.low, everything.high) == pytest.approx((1.0 - none.high, 1.0))


def test_a_count_of_everything_is_exact() -> None:
    assert share_interval(0.3, math.inf) == Interval(0.3, 0.3, 0.3)


def test_what_was_not_found_may_lie_anywhere() -> None:
    found = widened(Interval(0.5, 0.4, 0.6), 0.1)
    assert (found.low, found.high) == pytest.approx((0.36, 0.64))


@given(st.floats(0, 1), st.floats(1, 1e6))
def test_it_is_always_within_0_and_1_around_the_share(share: float, worth: float) -> None:
    found = share_interval(share, worth)
    assert 0.0 <= found.low <= share + 1e-12
    assert share - 1e-12 <= found.high <= 1.0
