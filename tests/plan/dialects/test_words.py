"""Words of command lines, and where each of their characters stands in the file."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.errors import InputError
from numascope.plan.dialects.words import Word, commands


def words_in(text: str | Word) -> list[Word]:
    return [word for command in commands("file", text) for word in command.words]


def at(text: str, line: int, column: int) -> str:
    return text.split("\n")[line - 1][column - 1 : column]


@pytest.mark.parametrize(
    ("text", "character", "place"),
    [
        ("a --x='{\"k\": 1}'", "k", (1, 10)),
        ('a --x="{\\"k\\": 1}"', "k", (1, 11)),
        ('a --x={\\"k\\":1}', "k", (1, 10)),
        ("a \\\n  --x='{\n \"k\": 1}'", "k", (3, 3)),
        ('é \'{"é": "k"}\'', "k", (1, 11)),
        ("a '1'\"2\"'k'", "k", (1, 10)),
        ('a "1\\\n2k"', "k", (2, 2)),
        ("a '\\k'", "k", (1, 5)),
    ],
)
def test_a_character_of_a_word_stands_where_the_file_has_it(text: str, character: str, place: tuple[int, int]) -> None:
    word = words_in(text)[-1]
    assert word.where(word.text.index(character)) == place
    assert word.part(word.text.index(character)).where(0) == place


def test_a_text_that_a_shell_runs_keeps_the_places_of_the_file() -> None:
    text = 'bash -c "numactl \\\n -C \'0-\\"7\' a"'
    outer = words_in(text)[2]
    inner = words_in(outer)
    assert [word.text for word in inner] == ["numactl", "-C", '0-"7', "a"]
    assert [at(text, *word.where(len(word.text) - 1)) for word in inner] == ["l", "C", "7", "a"]
    with pytest.raises(InputError, match=r"^file:1:15: a quote or backslash"):
        words_in(words_in('bash -c "echo \'a b"')[2])


PIECES = st.lists(st.sampled_from(["a", "é", " ", "\n", "'", '"', "\\", "7", "{", "#", ":"]), max_size=8).map("".join)


@given(st.lists(PIECES, min_size=1, max_size=4), st.booleans())
def test_words_are_those_of_the_shell_and_each_character_is_found_again(pieces: list[str], in_double: bool) -> None:
    if in_double:
        inner = (piece.replace("\\", "\\\\").replace('"', '\\"') for piece in pieces)
        text = " ".join(f'"{piece}"' for piece in inner)
    else:
        text = shlex.join(pieces)
    found = words_in(text)
    assert [word.text for word in found] == pieces
    for word in found:
        for number, character in enumerate(word.text):
            if character != "\n":
                assert at(text, *word.where(number)) == character
