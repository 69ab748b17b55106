"""Nothing from outside reaches a terminal as it is."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.host.text import safe_text


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"python", "python"),
        (b"a b", "a b"),
        ("é中".encode(), "é中"),
        (b"\x1b[31mRED", "\\x1b[31mRED"),
        (b"a\nb\tc\r", "a\\x0ab\\x09c\\x0d"),
        (b"back\\slash", "back\\\\slash"),
        (b"\xff\xfe", "\\xff\\xfe"),
        ("\u202eevil".encode(), "\\u{202e}evil"),
        ("\u2028".encode(), "\\u{2028}"),
        ("\xa0".encode(), "\\xa0"),
        ("\u0085".encode(), "\\x85"),
        (b"", ""),
    ],
)
def test_hostile_bytes_become_visible(raw: bytes, expected: str) -> None:
    assert safe_text(raw) == expected


@given(st.binary(max_size=40))
def test_no_control_format_or_separator_character_gets_through(raw: bytes) -> None:
    assert all(one == " " or unicodedata.category(one)[0] not in "CZ" for one in safe_text(raw))


@given(st.binary(max_size=12), st.binary(max_size=12))
def test_two_different_names_stay_different(one: bytes, other: bytes) -> None:
    assert (safe_text(one) == safe_text(other)) == (one == other)
