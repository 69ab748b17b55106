from __future__ import annotations

from numascope.plan.notes import MOST_NOTES, UNKNOWN_NAME, Notes
from numascope.plan.objects import Note, Place


def test_a_note_is_printed_with_its_place_as_far_as_it_has_one() -> None:
    assert str(Note(Place("bind.json", 3, 7), "odd", UNKNOWN_NAME)) == "bind.json:3:7: odd"
    assert str(Note("bind.json", "odd", UNKNOWN_NAME)) == "bind.json: odd"
    assert str(Note(None, "odd", UNKNOWN_NAME)) == "odd"


def gathered(number: int) -> tuple[Note, ...]:
    notes = Notes("bind.json")
    for line in range(1, number + 1):
        notes.add(Place("bind.json", line, 1), UNKNOWN_NAME, "odd")
    return notes.all()


def test_notes_are_kept_in_the_order_of_reading() -> None:
    assert [str(one) for one in gathered(2)] == ["bind.json:1:1: odd", "bind.json:2:1: odd"]


def test_as_many_as_are_kept_are_told_without_a_last_one() -> None:
    assert {one.kind for one in gathered(MOST_NOTES)} == {UNKNOWN_NAME}


def test_beyond_that_they_are_counted() -> None:
    *kept, last = gathered(MOST_NOTES + 3)
    assert len(kept) == MOST_NOTES
    assert str(last) == "bind.json: 3 more notes, left out here"
    assert (last.kind.rule, last.kind.severity) == ("reading", "info")
