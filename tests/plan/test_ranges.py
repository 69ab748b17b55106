from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.cpuset import EMPTY, LARGEST_ID, BadIdListError, CpuSet
from numascope.plan.ranges import read_ids

PIECES = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 150)), min_size=1, max_size=20)
SPACES = st.sampled_from(("", " ", "  "))


@given(PIECES, SPACES, SPACES)
def test_a_list_is_the_union_of_its_pieces_in_any_order(pieces: list[tuple[int, int]], comma: str, dash: str) -> None:
    text = f"{comma},{comma}".join(f"{first}{dash}-{dash}{first + more}" for first, more in pieces)
    assert read_ids(text) == CpuSet.of(one for first, more in pieces for one in range(first, first + more + 1))


@given(st.sets(st.integers(0, LARGEST_ID), max_size=50))
def test_reads_what_a_cpuset_prints(ids: set[int]) -> None:
    assert read_ids(str(CpuSet.of(ids))) == CpuSet.of(ids)


def test_the_whole_range_is_a_list() -> None:
    assert read_ids(f"0-{LARGEST_ID}") == CpuSet.span(0, LARGEST_ID)
    assert read_ids(" ") == EMPTY


@given(st.text(alphabet="0123456789-, :x", max_size=12))
def test_what_it_reads_the_kernel_s_reader_reads_alike(text: str) -> None:
    try:
        found = read_ids(text)
    except BadIdListError:
        return
    assert found == CpuSet.parse(text.replace(" ", ""))


@pytest.mark.parametrize("piece", ["5-2", "1:2", "-1", "x", "0-1-2", "65536", "9999999999"])
def test_the_wrong_piece_is_named(piece: str) -> None:
    with pytest.raises(BadIdListError) as caught:
        read_ids(f"0-3, {piece} ,8")
    assert caught.value.found == piece
