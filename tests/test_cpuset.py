"""CpuSet is a set: its texts, masks and algebra agree with Python's own sets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.cpuset import EMPTY, LARGEST_ID, BadIdListError, CpuSet, union

ids = st.sets(st.integers(0, 2_100), max_size=80)


@given(ids)
def test_a_set_survives_its_own_range_list(some: set[int]) -> None:
    assert set(CpuSet.parse(str(CpuSet.of(some)))) == some


@given(ids)
def test_a_set_survives_its_own_mask(some: set[int]) -> None:
    assert set(CpuSet.from_mask(CpuSet.of(some).mask())) == some


@given(ids, ids)
def test_algebra_is_that_of_sets(left: set[int], right: set[int]) -> None:
    one, other = CpuSet.of(left), CpuSet.of(right)

    assert set(one & other) == left & right
    assert set(one | other) == left | right
    assert set(one - other) == left - right
    assert (one <= other) == (left <= right)
    assert (one < other) == (left < right)
    assert one.isdisjoint(other) == left.isdisjoint(right)
    assert (one == other) == (left == right)
    assert len(one) == len(left)
    assert bool(one) == bool(left)


@given(ids.filter(bool))
def test_first_and_last_are_the_lowest_and_highest(some: set[int]) -> None:
    assert (CpuSet.of(some).first, CpuSet.of(some).last) == (min(some), max(some))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", ""), ("\n", ""), ("0", "0"), ("0-3,8\n", "0-3,8"), ("1,0", "0-1"), ("3,1-2,2-4", "1-4"), (" 0 , 2 ", "0,2")],
)
def test_range_lists_are_read_as_the_kernel_writes_them(text: str, expected: str) -> None:
    assert str(CpuSet.parse(text)) == expected


@pytest.mark.parametrize(
    "text",
    ["-1", "5-2", "0-", "a", "0--1", ",", "0,,1", "0-1000000000", "99999999999999999999", "0x3", "0-3:2", "0 1", "٣"],
)
def test_what_is_no_range_list_is_refused_with_the_wrong_piece(text: str) -> None:
    with pytest.raises(BadIdListError) as caught:
        CpuSet.parse(text)

    assert caught.value.problem


@pytest.mark.parametrize(
    ("mask", "expected"),
    [("0", ""), ("3", "0-1"), ("ff,00000000", "32-39"), ("00000000,00000001", "0"), ("ffffffffffffffff", "0-63")],
)
def test_masks_are_words_of_32_bits_highest_first(mask: str, expected: str) -> None:
    assert str(CpuSet.from_mask(mask)) == expected


@pytest.mark.parametrize("mask", ["", "g", "1,123456789", "0x1", "-1"])
def test_what_is_no_mask_is_refused(mask: str) -> None:
    with pytest.raises(BadIdListError):
        CpuSet.from_mask(mask)


def test_a_set_does_not_change() -> None:
    with pytest.raises(AttributeError):
        EMPTY.bits = 1


def test_no_id_is_above_the_largest() -> None:
    assert LARGEST_ID in CpuSet.of([LARGEST_ID])
    with pytest.raises(BadIdListError):
        CpuSet.of([LARGEST_ID + 1])
    with pytest.raises(BadIdListError):
        CpuSet.span(3, 2)


def test_the_empty_set_has_no_first_id() -> None:
    with pytest.raises(ValueError, match="empty"):
        _ = EMPTY.first


@given(st.lists(st.sets(st.integers(0, 200)), max_size=5))
def test_a_union_has_the_ids_of_all_its_sets(sets: list[set[int]]) -> None:
    assert set(union(map(CpuSet.of, sets))) == set().union(*sets)
