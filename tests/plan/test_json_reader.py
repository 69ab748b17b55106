from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.errors import InputError
from numascope.plan.json_reader import (
    DEEPEST_NESTING,
    LARGEST_FILE_BYTES,
    MOST_VALUES,
    Entry,
    Value,
    quoted,
    read_json,
    universal_newlines,
)

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=30
)
LAYOUTS = st.sampled_from((None, 0, 1, 4))


def plain(value: Value) -> object:
    if isinstance(value.data, tuple):
        return [plain(one) for one in value.data]
    if isinstance(value.data, Mapping):
        return {key: plain(entry.value) for key, entry in value.data.items()}
    return value.data


def parts(value: Value) -> Iterator[tuple[Value | Entry, object]]:
    """Every value and key below, each with what must stand at its place."""
    yield value, plain(value)
    if isinstance(value.data, tuple):
        for one in value.data:
            yield from parts(one)
    elif isinstance(value.data, Mapping):
        for key, entry in value.data.items():
            yield entry, key
            yield from parts(entry.value)


def standing_at(text: str, where: Value | Entry) -> object:
    rest = "\n".join(text.split("\n")[where.line - 1 :])
    return json.JSONDecoder().raw_decode(rest[where.column - 1 :])[0]


def refusal(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        read_json("p.json", data)
    return str(caught.value)


@given(DOCUMENTS, LAYOUTS, st.booleans())
def test_equals_the_standard_reader(document: object, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_only)
    assert plain(read_json("p.json", text.encode("utf-8", "surrogatepass"))) == json.loads(text)


@given(DOCUMENTS, LAYOUTS)
def test_every_key_and_value_stands_where_it_says(document: object, indent: int | None) -> None:
    text = json.dumps(document, indent=indent)
    for where, expected in parts(read_json("p.json", text.encode())):
        assert standing_at(text, where) == expected


@given(st.text(alphabet='{}[]:,"\\ue0123.-+tfn \n\tax') | st.text())
def test_accepts_what_the_standard_reader_accepts(text: str) -> None:
    """But for repeated keys, NaN, Infinity and carriage returns, which the standard reader takes otherwise."""

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError
        return dict(pairs)

    def no_constant(name: str) -> object:
        raise ValueError(name)

    translated = universal_newlines(text.encode()).decode().removeprefix("\ufeff")
    try:
        expected = json.loads(translated, object_pairs_hook=once, parse_constant=no_constant)
    except ValueError:
        assert refusal(text.encode()).startswith("p.json:")
    else:
        assert plain(read_json("p.json", text.encode())) == expected


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_with_a_place(data: bytes) -> None:
    line, column = place_of_refusal(data) or (1, 1)
    assert 1 <= line <= 1 + universal_newlines(data).count(b"\n")
    assert 1 <= column <= len(data) + 1


def place_of_refusal(data: bytes) -> tuple[int, int] | None:
    try:
        read_json("p.json", data)
    except InputError as failure:
        return failure.line or 0, failure.column or 0
    return None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "1:1: the file is empty: expected a JSON object"),
        (" \n\t", "2:2: the file is empty: expected a JSON object"),
        ('{"a": 1,\n "a": 2}', '2:2: the key "a" is there twice, first in line 1: keep one'),
        ('{"a": NaN}', '1:7: found "NaN": expected a value (JSON has no NaN and no Infinity)'),
        ('{"a": -Infinity}', '1:7: found "-Infinity": expected a value (JSON has no NaN and no Infinity)'),
        ('{"a": True}', '1:7: found "True": expected a value (JSON writes true, false, null)'),
        ('{"a": maybe}', '1:7: found "maybe": expected a value'),
        ("{} x", '1:4: found "x" after the end of the JSON value: remove it'),
        ("{}\n{}", '2:1: found "{" after the end of the JSON value: remove it'),
        ("{'a': 1}", '1:2: found "\'": expected a key in double quotes (JSON has no single quotes)'),
        ("{a: 1}", '1:2: found "a": expected a key in double quotes'),
        ('{"a" 1}', '1:6: found "1": expected ":" after the key "a"'),
        ('{"a": 1 "b": 2}', '1:9: found a text in quotes: expected "," or "}"'),
        ('{"a": 1,}', '1:8: a "," before the closing "}": remove it'),
        ("[1,\n]", '1:3: a "," before the closing "]": remove it'),
        ('{"a": 1 // why\n}', '1:9: found "/": expected "," or "}" (JSON has no comments)'),
        ('{"a": [1, 2}', '1:12: found "}": expected "," or "]"'),
        ('{"a":', "1:6: found the end of the file: expected a value"),
        ('{"a": 1', '1:8: found the end of the file: expected "," or "}"'),
        ('{"a": "0-3}', "1:7: this text has no closing quote"),
        ('{"a": "0\n"}', "1:9: a line break or control character within a text: close its quote before"),
        (r'["\d"]', r"1:3: a backslash that JSON does not know: write \\ for a backslash itself"),
        ("[007]", "1:2: a number must not begin with 0: remove the zero"),
        ("[-]", '1:2: found "-": expected a value'),
        ("[+1]", '1:2: found "+": expected a value'),
        ("[" + "1" * 301 + "]", "1:2: a number of 301 characters: expected at most 300"),
    ],
)
def test_names_what_it_found_and_where(text: str, problem: str) -> None:
    assert refusal(text.encode()) == f"p.json:{problem}"


def test_nesting_is_bounded() -> None:
    deepest = b"[" * DEEPEST_NESTING + b"]" * DEEPEST_NESTING
    assert plain(read_json("p.json", deepest)) == json.loads(deepest)
    assert refusal(b"\n" + b"[" * 1_000_000).startswith(f"p.json:2:{DEEPEST_NESTING + 1}: nested deeper than 32 levels")


def test_the_number_of_values_is_bounded() -> None:
    assert read_json("p.json", b"[" + b"0," * (MOST_VALUES - 2) + b"0]")
    assert refusal(b"[" + b"0," * MOST_VALUES + b"0]").startswith(f"p.json:1:{2 * MOST_VALUES}: more than 10000 values")


def test_the_size_is_bounded() -> None:
    assert read_json("p.json", b" " * (LARGEST_FILE_BYTES - 2) + b"{}").data == {}
    assert refusal(b" " * LARGEST_FILE_BYTES + b"{}") == "p.json: is over 4 MiB, far too large for a bind plan"


def test_a_byte_order_mark_is_let_pass_and_takes_no_column() -> None:
    assert read_json("p.json", b'\xef\xbb\xbf{"a": 1}') == read_json("p.json", b'{"a": 1}')


def test_columns_count_characters_not_bytes() -> None:
    value = read_json("p.json", '{"größe": 1}'.encode())
    assert isinstance(value.data, Mapping)
    assert value.data["größe"].value == Value(1, 1, 11)


def test_lines_end_as_in_text_files_of_any_system() -> None:
    value = read_json("p.json", b'{\r\n"a":\r1}')
    assert value.data == {"a": Entry(2, 1, Value(1, 3, 1))}


def test_bytes_that_are_not_utf8_have_a_place() -> None:
    assert refusal(b'{\r\n "\xc3\xa9\xff": 1}') == "p.json:2:4: byte 0xff is not UTF-8: save the file as UTF-8"
    assert refusal('{"a": 1}'.encode("utf-16")) == "p.json:1:1: is UTF-16 text: save it as UTF-8"


def test_what_is_shown_of_a_text_is_short_and_safe() -> None:
    assert quoted("a\x1b[31m\n") == '"a\\x1b[31m\\x0a"'
    assert quoted("x" * 61) == f'"{"x" * 60}…"'
    assert refusal(b'{"a\\u001b" 1}') == 'p.json:1:12: found "1": expected ":" after the key "a\\x1b"'
