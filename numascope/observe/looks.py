"""Looks at CPU time: what two of them say of whoever was looked at, in which order to look, and when to stop."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, zip_longest
from typing import Final, NamedTuple

LEAST_S: Final = 0.4
"""The kernel brings CPU time forward once a tick of 4 to 10 ms: a shorter time between looks would be mostly rounding."""

OLD_S: Final = 3.0
_NEARLY_NOTHING_NS: Final = 20_000_000


class Look(NamedTuple):
    """The CPU time that somebody had used in all, and when that was read (seconds of the scan's clock)."""

    used_ns: int
    at_s: float

    def is_due(self, now_s: float, least_s: float = LEAST_S) -> bool:
        """Whether another look would say something."""
        return now_s - self.at_s >= least_s


def share_between(then: Look, now: Look, old_s: float) -> float | None:
    """CPU use between two looks, 1.0 one CPU; None where counting began anew, or where the first is so old that this says nothing of now.

    Where a number was used again and the new owner has used more than the old one, all of the difference is the new one's
    since then: too much is never said.
    """
    used_ns, passed_s = now.used_ns - then.used_ns, now.at_s - then.at_s
    if used_ns < 0 or passed_s <= 0 or (passed_s > old_s and used_ns > _NEARLY_NOTHING_NS):
        return None
    return used_ns / 1e9 / passed_s


class Allowance:
    """What looks may cost, and a number of looks that is allowed however long they take: a slow machine gets on as well."""

    def __init__(self, clock: Callable[[], float], until_s: float, at_least: int) -> None:
        self._clock = clock
        self._until_s = until_s
        self._at_least = at_least

    def more(self, looks: int = 1) -> bool:
        """Whether there may be another look; it then counts as so many."""
        self._at_least -= looks
        return self._at_least >= 0 or self._clock() < self._until_s


def in_turn(ids: Sequence[int], last: int) -> Iterator[int]:
    """Rising numbers from the one after `last` on, and then those before."""
    at = bisect_right(ids, last)
    return chain(islice(ids, at, None), islice(ids, at))


def alternating(first: Iterable[int], rest: Iterable[int]) -> Iterator[int]:
    """One of the first, one of the rest: neither keeps the other from its turn."""
    return (one for pair in zip_longest(first, rest) for one in pair if one is not None)
