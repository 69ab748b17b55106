"""The numbers of CPUs and nodes in a synthetic description: one by one, or as loops (`2*8:1*2`), which say how they interleave."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from numascope.cpuset import LARGEST_ID
from numascope.machine.synthetic.parse import Level, Written, refuse

_LIST = re.compile(r"[0-9]{1,9}(?:,[0-9]{1,9})*")
_LOOPS = re.compile(r"[0-9]{1,9}\*[0-9]{1,9}(?::[0-9]{1,9}\*[0-9]{1,9})*")
_MOST_LOOPS: Final = 16
"""2 to the 16th is the most CPUs that there may be."""

Loops = Sequence[tuple[int, int]]
"""(step, count) pairs: the first varies fastest. The number after `count` objects that lie `step` apart goes to the next loop."""


def numbers_of(written: Written | None, total: int, above: Sequence[Level] = ()) -> list[int]:
    """The numbers of `total` objects in their depth-first order; InputError where the text gives others than one each.

    The text is a list (`0,2,1,3`), loops (`2*2:1*2`), or the types of the levels whose objects follow each other, the fastest
    first (`core:package`); without a text the objects are numbered as they come.
    """
    if written is None:
        return list(range(total))
    if _LIST.fullmatch(written.text):
        numbers = [int(one) for one in written.text.split(",")]
        if len(numbers) != total or len(set(numbers)) != total or max(numbers) > LARGEST_ID:
            refuse(written.column, f"expected {total} different numbers up to {LARGEST_ID}")
        return numbers
    if _LOOPS.fullmatch(written.text):
        loops = [(int(step), int(count)) for step, count in (one.split("*") for one in written.text.split(":"))]
    else:
        loops = _loops_of_types(written, total, above)
    return _numbered(written, loops, total)


def _loops_of_types(written: Written, total: int, above: Sequence[Level]) -> list[tuple[int, int]]:
    """Each type steps by what one object of it holds, and counts its objects in the next outer type named."""
    widths = {level.type.removesuffix("u"): level.width for level in above} | {
        level.type: level.width for level in above
    }
    names = written.text.lower().split(":")
    if not names or len(set(names)) != len(names) or any(name not in widths for name in names):
        refuse(
            written.column,
            'expected numbers ("0,2,1,3"), loops ("2*2:1*2") or levels above, each once ("core:package")',
        )
    named = [widths[name] for name in names]
    return [(total // width, width // max((other for other in named if other < width), default=1)) for width in named]


def _numbered(written: Written, loops: list[tuple[int, int]], total: int) -> list[int]:
    covered = 1
    for step, count in loops:
        covered *= count
        if not step or not count or covered > total or len(loops) > _MOST_LOOPS:
            refuse(written.column, f"the loops do not make {total} numbers")
    if covered and total % covered == 0 and covered != total:
        loops = [*loops, (1, total // covered)]
    numbers = _made(loops, total)
    if sorted(numbers) != list(range(total)):
        refuse(written.column, f"the loops do not make each number below {total} once")
    return numbers


def loops_for(numbers: Sequence[int]) -> Loops | None:
    """The fewest loops that make these numbers; None where no loops do."""
    total = len(numbers)
    place = {number: at for at, number in enumerate(numbers)}
    loops: list[tuple[int, int]] = []
    factor = 1
    while factor < total:
        step = place.get(factor, 0)
        if not step or total % factor:
            return None
        count = 2
        while count * step < total and place.get(count * factor) == count * step:
            count += 1
        loops.append((step, count))
        factor *= count
    return loops if _made(loops, total) == list(numbers) else None


def _made(loops: Loops, total: int) -> list[int]:
    """The numbers that loops give to so many objects."""
    numbers = [0] * total
    factor = 1
    for step, count in loops:
        numbers = [number + at // step % count * factor for at, number in enumerate(numbers)]
        factor *= count
    return numbers
