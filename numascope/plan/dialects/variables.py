"""The value of an environment variable as scripts and files set it."""

from __future__ import annotations

from numascope.plan.dialects.draft import Draft
from numascope.plan.dialects.words import Word, commands


def value_of(draft: Draft, text: str, name: str) -> Word:
    """The value of the last `NAME=value` of a text, or a text of one word as the value itself; InputError where there is neither."""
    found: Word | None = None
    alone: list[Word] = []
    for command in commands(draft.path, text):
        for word in command.words:
            assigned = word.assigned()
            if assigned is not None and assigned[0] == name:
                found = word.part(len(name) + 1)
        alone += command.words[:2]
    if found is None and len(alone) == 1 and alone[0].assigned() is None:
        found = alone[0]
    if found is None:
        raise draft.wrong(Word("", 1, 1), f"sets no {name}: expected a line such as {name}=…")
    return found
