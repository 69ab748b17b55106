"""A short list to pick from: keys, numbers, and a window on a long list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.show.choice import DOWN, ENTER, LEAVE, UP, Choice, choice_lines, pressed
from numascope.show.ink import plain

KEYS = st.lists(st.sampled_from([*UP, *DOWN, *"0123456789", "x", "\x1b[5", "~", "é"]), max_size=30)


def after(size: int, *keys: str) -> Choice:
    choice = Choice(size)
    for key in keys:
        choice = pressed(choice, key)
    return choice


def test_cursor_keys_go_round() -> None:
    assert after(3, "\x1b[B").at == 1
    assert after(3, "\x1b[A").at == 2
    assert after(3, "j", "j", "j").at == 0


def test_a_number_of_several_digits_is_typed_digit_by_digit() -> None:
    assert after(20, "1").at == 0
    assert after(20, "1", "2").at == 11
    assert after(20, "3", "2").at == 1  # there is no 32: a new number begins
    assert after(20, "1", "k", "2").at == 1
    assert after(5, "0", "9").at == 0


@pytest.mark.parametrize("key", ENTER)
def test_enter_takes_what_is_picked(key: str) -> None:
    assert after(3, "2", key) == Choice(3, at=1, typed="2", done=True)


@pytest.mark.parametrize("key", LEAVE)
def test_leaving_takes_none(key: str) -> None:
    assert after(3, key).done is False


@given(st.integers(1, 30), KEYS)
def test_whatever_is_pressed_one_of_the_list_is_picked(size: int, keys: list[str]) -> None:
    choice = after(size, *keys)

    assert 0 <= choice.at < size
    assert choice.done is None


@given(st.integers(1, 40), st.integers(4, 30), st.integers(20, 100), KEYS)
def test_the_picked_row_is_always_shown_and_no_line_is_too_long(
    size: int, height: int, width: int, keys: list[str]
) -> None:
    choice = after(size, *keys)
    lines = [plain(line) for line in choice_lines("jobs:", [f"row {at}" for at in range(size)], choice, width, height)]

    assert len(lines) <= height
    assert all(len(line) <= width for line in lines)
    assert [line for line in lines if line.startswith("▌")] == [f"▌{choice.at + 1:>3} row {choice.at}"]


def test_a_long_list_says_how_much_of_it_is_not_shown() -> None:
    lines = [plain(line).rstrip() for line in choice_lines("jobs:", ["a", "b", "c", "d"], Choice(4, at=3), 60, 5)]

    assert lines == ["jobs:", "   3 c", "▌  4 d", "2 more above or below", "↑↓ or its number, ⏎ takes it, q leaves"]
