from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.plan.make.even import dealt_cores
from numascope.plan.make.room import FreeCore


def cores(*sizes: int, speeds: Sequence[int] = ()) -> list[FreeCore]:
    """Caches of so many cores each, and how fast the cores of each are."""
    found: list[FreeCore] = []
    for at, size in enumerate(sizes):
        speed = speeds[at] if speeds else 0
        found += [FreeCore((number,), 0, at, speed) for number in range(len(found), len(found) + size)]
    return found


def firsts(*sizes: int, shares: int) -> list[list[int]]:
    return [[core.cpus[0] for core in hand] for hand in dealt_cores(cores(*sizes), shares)]


@pytest.mark.parametrize(
    ("sizes", "shares", "caches"),
    [
        ((8,) * 12, 4, [{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}]),
        ((7, *(8,) * 11), 4, [{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}]),
        ((15, 16), 4, [{0}, {0}, {1}, {1}]),
        ((16, 4, 4), 2, [{1, 2, 0}, {0}]),
        ((8,) * 8, 3, [{0, 1, 6}, {2, 3, 6, 7}, {4, 5, 7}]),
        ((8,) * 8, 5, [{0, 5}, {1, 5, 6}, {2, 6}, {3, 6, 7}, {4, 7}]),
    ],
)
def test_each_share_has_whole_caches_and_of_the_rest_what_makes_it_even(
    sizes: tuple[int, ...], shares: int, caches: list[set[int]]
) -> None:
    dealt = dealt_cores(cores(*sizes), shares)
    assert [{core.group for core in hand} for hand in dealt] == caches
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1


def test_what_no_cache_fits_is_dealt_in_runs_of_neighbours() -> None:
    assert firsts(8, shares=3) == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert firsts(2, 2, shares=3) == [[0, 1], [2], [3]]
    assert firsts(2, shares=0) == []


def test_every_share_has_fast_and_slow_cores_the_fast_ones_first() -> None:
    dealt = dealt_cores(cores(4, 7, speeds=(1024, 512)), 2)
    assert [[core.speed for core in hand] for hand in dealt] == [[1024] * 2 + [512] * 4, [1024] * 2 + [512] * 3]


def test_who_has_fewer_fast_cores_has_more_of_the_slow_ones() -> None:
    dealt = dealt_cores(cores(3, 3, speeds=(1024, 512)), 2)
    assert [[core.speed for core in hand] for hand in dealt] == [[1024, 1024, 512], [1024, 512, 512]]


@given(st.lists(st.integers(1, 9), max_size=9), st.integers(1, 9))
def test_every_core_is_dealt_once_and_no_share_is_far_below_an_even_one(sizes: list[int], shares: int) -> None:
    dealt = dealt_cores(cores(*sizes), shares)
    assert sorted(core.cpus for hand in dealt for core in hand) == [(number,) for number in range(sum(sizes))]
    assert len(dealt) == shares
    assert min(map(len, dealt)) >= 0.75 * (sum(sizes) // shares)
