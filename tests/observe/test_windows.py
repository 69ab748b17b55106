"""Windows of an address space: numbers in ranges, and runs of pages sorted into regions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from numascope.host.maps import ANONYMOUS, FILE, AddressSpace, Region
from numascope.host.pagemap import PAGE_BYTES, WINDOW_BYTES
from numascope.observe.windows import Layout, Piece, Ranges

pairs = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=8)


def numbers(given_pairs: list[tuple[int, int]]) -> list[int]:
    return sorted({one for first, end in given_pairs for one in range(first, end)})


@given(pairs)
def test_ranges_are_the_numbers_that_they_stand_for(some: list[tuple[int, int]]) -> None:
    assert list(Ranges(some)) == numbers(some)


@given(pairs, st.integers(0, 70), st.integers(0, 70))
def test_a_part_of_ranges_is_that_part_of_their_numbers(some: list[tuple[int, int]], start: int, stop: int) -> None:
    assert list(Ranges(some)[start:stop]) == numbers(some)[start:stop]


@given(pairs, pairs)
def test_ranges_without_others_are_the_numbers_that_are_left(
    some: list[tuple[int, int]], others: list[tuple[int, int]]
) -> None:
    assert list(Ranges(some).without(Ranges(others))) == sorted(set(numbers(some)) - set(numbers(others)))


def test_an_address_space_of_hundreds_of_gib_is_a_few_pairs() -> None:
    layout = Layout(AddressSpace((Region(1 << 40, (1 << 40) + (300 << 30), ANONYMOUS), Region(1 << 30, 1 << 31, FILE))))
    assert len(layout.windows) == (300 << 30) // WINDOW_BYTES + 512
    assert len(layout.windows.pairs) == 2


def test_runs_are_cut_at_regions_and_what_lies_in_none_falls_out() -> None:
    base = 8 * WINDOW_BYTES

    def at(page: int) -> int:
        return base + page * PAGE_BYTES

    layout = Layout(
        AddressSpace((Region(at(2), at(4), FILE), Region(at(4), at(6), ANONYMOUS), Region(at(9), at(12), FILE)))
    )
    assert list(layout.pieces([(at(0), at(10)), (at(20), at(21))])) == [
        Piece(at(2), 2, FILE, 8),
        Piece(at(4), 2, ANONYMOUS, 8),
        Piece(at(9), 1, FILE, 8),
    ]
