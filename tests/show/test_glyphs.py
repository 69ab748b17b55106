from __future__ import annotations

import ast
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope import review
from numascope.review.report import Finding
from numascope.show.canvas import cut, fitted, left, right, text_cells, wrapped
from numascope.show.glyphs import (
    CELLS,
    CONDITIONS,
    FRAME,
    LIT,
    LOADS,
    SAME_CONDITION,
    VERDICTS,
    eighths,
    finding_glyph,
    to_ascii,
)
from numascope.show.ink import Span, plain

PLACES = {
    "load": LOADS,
    "cell": tuple(CELLS.values()),
    "lit": tuple(LIT.values()),
    "verdict": tuple(VERDICTS.values()),
    "condition": tuple(CONDITIONS.values()),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("sign_set", ["sign", "ascii"])
def test_in_one_place_no_two_meanings_share_a_sign(place: str, sign_set: str) -> None:
    """In Unicode and in ASCII."""
    signs = [getattr(glyph, sign_set) for glyph in PLACES[place]]

    assert len(set(signs)) == len(signs)


def test_a_mark_is_no_rank_letter() -> None:
    """The lower row holds letters of ranks and marks: neither may be taken for the other."""
    assert not [glyph for glyph in CELLS.values() if glyph.sign.isalpha() or glyph.ascii.isalpha()]


def test_conditions_and_verdicts_share_no_sign() -> None:
    """Both stand in the first column of findings; a condition that looked like a verdict would be taken for it."""
    for sign_set in ("sign", "ascii"):
        verdicts = {getattr(glyph, sign_set) for glyph in VERDICTS.values()}

        assert not verdicts & {getattr(glyph, sign_set) for glyph in CONDITIONS.values()}


def rules_of_review() -> set[str]:
    """Every rule id that the review's source gives a finding as a literal, and the verdicts."""
    found: set[str] = {*VERDICTS}
    for path in Path(review.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding":
                given = [one.value for one in node.keywords if one.arg == "rule"]
                found.update(one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str))
    return found


@pytest.mark.parametrize("sign_set", ["sign", "ascii"])
def test_rules_share_a_sign_only_where_they_are_one_meaning(sign_set: str) -> None:
    """In the first column of findings: two rules of one sign have one name in the table of conditions."""
    meanings: dict[str, set[str]] = {}
    for rule in rules_of_review():
        glyph = finding_glyph(Finding(rule, "warning", "", "", "", ""))
        meanings.setdefault(getattr(glyph, sign_set), set()).add(SAME_CONDITION.get(rule, rule))

    assert {"plan-cut", "plan-changed", "spilling", "starved"} <= rules_of_review()
    assert {sign: names for sign, names in meanings.items() if len(names) > 1} == {}


def test_every_rule_of_the_review_has_a_sign_of_its_own_or_a_share_in_one() -> None:
    """None falls back to the sign of a mere note."""
    known = {*VERDICTS, *CONDITIONS, *SAME_CONDITION}

    assert rules_of_review() <= known


def test_the_signs_of_conditions_are_no_emoji_and_not_wide() -> None:
    """Two cells of one sign would shift the line."""
    signs = "".join(glyph.sign for glyph in (*CONDITIONS.values(), *VERDICTS.values()))

    assert not {"W", "F"} & {unicodedata.east_asian_width(sign) for sign in signs}
    assert not [sign for sign in signs if ord(sign) > 0xFFFF or sign in "\u26a0\u2714\u2716\u25b6\u25aa\u2b1b\u2139"]


def test_every_sign_is_one_cell_and_has_an_ascii_form_of_one_cell() -> None:
    """The translation is cell for cell."""
    for glyphs in PLACES.values():
        for glyph in glyphs:
            assert (text_cells(glyph.sign), len(glyph.ascii), glyph.ascii.isascii()) == (1, 1, True)
            assert to_ascii((Span(glyph.sign),))[0].text.isascii()
    for sign, ascii_sign in FRAME.values():
        assert (text_cells(sign), len(ascii_sign), ascii_sign.isascii()) == (1, 1, True)


def test_only_an_escape_and_a_stranger_are_drawn_reversed() -> None:
    """Reverse needs no colour: it is kept for the two that must not be overlooked."""
    reversed_ones = {name for name, glyph in (*CELLS.items(), *LIT.items()) if glyph.reverse}

    assert reversed_ones == {"escaped", "stranger", "outside"}


@pytest.mark.parametrize(
    ("load", "step"),
    [(None, None), (0.0, 0), (0.019, 0), (0.02, 1), (0.125, 1), (0.126, 2), (0.5, 4), (0.999, 8), (1.0, 8)],
)
def test_load_has_nine_steps(load: float | None, step: int | None) -> None:
    """Under 2 %, then eighths; unknown is no step."""
    assert eighths(load, None) == step


def test_a_steady_load_at_a_border_does_not_flicker() -> None:
    """A step is held while the load is within half a step of it."""
    assert [eighths(load, 4) for load in (0.49, 0.51, 0.55, 0.57, 0.45, 0.32, 0.30)] == [4, 4, 4, 5, 4, 4, 3]


@given(st.floats(0, 1), st.integers(0, 8))
def test_a_step_is_never_more_than_one_off(load: float, before: int) -> None:
    """Hysteresis holds a step back, it does not invent one."""
    fresh, held = eighths(load, None), eighths(load, before)

    assert fresh is not None
    assert held is not None
    assert abs(fresh - held) <= 1


@given(st.text(max_size=30), st.integers(1, 40))
def test_a_text_takes_exactly_the_cells_that_it_is_given(text: str, width: int) -> None:
    """Also where its characters are two cells wide."""
    assert text_cells(left(text, width)) == width
    assert text_cells(right(text, width)) == width
    assert text_cells(cut(text, width)) <= width
    assert text_cells(plain(fitted([Span(text), Span("end")], width))) <= width


@given(st.text(alphabet="ab 字", max_size=60), st.integers(2, 20))
def test_wrapped_lines_fit(text: str, width: int) -> None:
    """No line runs over."""
    assert all(text_cells(line) <= width for line in wrapped(text, width))
