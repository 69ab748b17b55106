"""How far a share that was counted in a sample may be from the true one. Pure."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

_Z: Final = 1.959963984540054
"""Of the normal distribution's 95 %."""


class Interval(NamedTuple):
    """A share between 0 and 1, and the least and the most that it may be (95 %)."""

    share: float
    low: float
    high: float


def widened(one: Interval, missing: float) -> Interval:
    """The same where that part of the whole was not found, and may lie anywhere."""
    return Interval(one.share, one.low * (1.0 - missing), one.high * (1.0 - missing) + missing)


def share_interval(share: float, worth: float) -> Interval:
    """Wilson's interval with continuity correction (Newcombe 1998, method 4) for a share seen in a sample worth so many independent pages.

    It holds the true share in 95 % of samples or more at every share, where Wilson's own falls to 83 % near 0 and 1: most
    ranks are there, with a few pages elsewhere. It is as wide as Clopper and Pearson's and needs no beta function. An
    infinite `worth` is a count of everything.
    """
    if math.isinf(worth):
        return Interval(share, share, share)
    rest, squared = 1.0 - share, _Z * _Z
    middle, whole = 2.0 * worth * share + squared, 2.0 * (worth + squared)
    below = squared - 2.0 - 1.0 / worth + 4.0 * share * (worth * rest + 1.0)
    above = squared + 2.0 - 1.0 / worth + 4.0 * share * (worth * rest - 1.0)
    low = (middle - 1.0 - _Z * math.sqrt(max(0.0, below))) / whole
    high = (middle + 1.0 + _Z * math.sqrt(max(0.0, above))) / whole
    # A worth that is no whole number, or a share of less than one page of it, can leave the share itself outside.
    low, high = min(max(0.0, low), share), max(min(1.0, high), share)
    return Interval(share, low if share > 0.0 else 0.0, high if share < 1.0 else 1.0)
