"""Columns of numbers, and how one becomes the next: rows as gaps, counters as differences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, compress, pairwise
from operator import ne, sub
from typing import TypeVar

T = TypeVar("T")


def differences(rising: Sequence[int]) -> list[int]:
    """The first number, then how far each lies above the one before it; `itertools.accumulate` undoes it."""
    return [*rising[:1], *map(sub, rising[1:], rising)]


def moved(before: Iterable[int | None], after: Iterable[int | None]) -> list[int | None]:
    """How far each counter moved; one that was unknown counts from 0, None is one that is unknown now."""
    return [None if new is None else new if old is None else new - old for old, new in zip(before, after, strict=True)]


def advanced(before: Iterable[int | None], moves: Iterable[int | None]) -> list[int | None]:
    """The counters after they moved: undoes `moved`."""
    return [
        None if move is None else move if old is None else old + move for old, move in zip(before, moves, strict=True)
    ]


def changed_rows(before: Sequence[object], after: Sequence[object]) -> list[int]:
    """The rows in which two columns of equal length differ."""
    if before is after or before == after:
        return []
    return list(compress(range(len(after)), map(ne, before, after)))


def spliced(column: Sequence[T], gone: Sequence[int], born_at: Sequence[int], born: Sequence[T]) -> Sequence[T]:
    """A column without the rows `gone`, then with `born` put in so that they are the rows `born_at`; both lists rise.

    IndexError where a row lies beyond the column.
    """
    if gone:
        stays = [True] * len(column)
        for row in gone:
            stays[row] = False
        column = list(compress(column, stays))
    if not born_at:
        return column
    found: list[T] = []
    taken = 0
    for row, value in zip(born_at, born, strict=True):
        upto = taken + row - len(found)
        if upto > len(column):
            raise IndexError(row)
        found += column[taken:upto]
        found.append(value)
        taken = upto
    found += column[taken:]
    return found


def rows_of(gaps: Iterable[int], length: int) -> list[int]:
    """The strictly rising rows that these gaps stand for, all below `length`; ValueError."""
    rows = list(accumulate(gaps))
    if rows and (rows[0] < 0 or rows[-1] >= length or any(one >= two for one, two in pairwise(rows))):
        raise ValueError("rows that do not rise within their column")
    return rows
