"""Cores dealt evenly: to each share whole caches as far as these go, and of the rest as many cores as make the shares even."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Final

from numascope.plan.make.room import FreeCore, by_group

_LEAST_EVEN: Final = 0.75
"""Caches are kept whole while the smallest share has so much of an even one."""

_Hands = list[list[FreeCore]]


def dealt_cores(cores: Sequence[FreeCore], shares: int) -> _Hands:
    """The cores in so many shares, each kind of core for itself; a share lists its fastest cores first."""
    if shares < 1:
        return []
    kinds: dict[int, list[FreeCore]] = {}
    for core in cores:
        kinds.setdefault(core.speed, []).append(core)
    hands: _Hands = [[] for _ in range(shares)]
    for alike in kinds.values():
        dealt = _dealt_alike(alike, shares)
        if len({len(hand) for hand in hands}) > 1:
            dealt.sort(key=len, reverse=True)
        for hand, more in zip(sorted(hands, key=len), dealt, strict=True):
            hand.extend(more)
    return hands


def _dealt_alike(cores: Sequence[FreeCore], shares: int) -> _Hands:
    groups, least = by_group(cores), _LEAST_EVEN * (len(cores) // shares)
    for hands in (_several_to_a_cache(groups, shares), _caches_to_each(groups, shares)):
        if hands and min(map(len, hands)) >= least:
            return hands
    return _runs(cores, _even_sizes([0] * shares, len(cores)))


def _several_to_a_cache(groups: Sequence[Sequence[FreeCore]], shares: int) -> _Hands:
    """Every cache to as many shares as fit it; none where that does not come out even."""
    if len(groups) > shares:
        return []
    even = sum(map(len, groups)) / shares
    counts = [max(1, round(len(group) / even)) if even else 1 for group in groups]
    if sum(counts) != shares:
        return []
    return [
        hand
        for group, count in zip(groups, counts, strict=True)
        for hand in _runs(group, _even_sizes([0] * count, len(group)))
    ]


def _caches_to_each(groups: Sequence[Sequence[FreeCore]], shares: int) -> _Hands:
    """Whole caches in order, no share over an even one; what is left fills those up that have fewest."""
    most = -(-sum(map(len, groups)) // shares)
    hands: _Hands = [[] for _ in range(shares)]
    left, at = [], 0
    for group in groups:
        while at < shares and hands[at] and len(hands[at]) + len(group) > most:
            at += 1
        if at < shares and len(group) <= most:
            hands[at].extend(group)
        else:
            left.append(group)
    rest: list[FreeCore] = []
    for group in left:
        smallest = min(hands, key=len)
        if len(smallest) + len(group) <= most:
            smallest.extend(group)
        else:
            rest.extend(group)
    sizes = _even_sizes([len(hand) for hand in hands], len(rest))
    fills = _runs(rest, [size - len(hand) for size, hand in zip(sizes, hands, strict=True)])
    return [[*hand, *fill] for hand, fill in zip(hands, fills, strict=True)]


def _even_sizes(sizes: Sequence[int], more: int) -> list[int]:
    """The sizes after so many more went one by one to the smallest, of equal ones to the first."""
    found = list(sizes)
    while more:
        low = min(found)
        lowest = [at for at, size in enumerate(found) if size == low]
        above = min((size for size in found if size > low), default=low + more)
        steps = min(above - low, more // len(lowest))
        for at in lowest:
            found[at] += steps
        more -= steps * len(lowest)
        if not steps:
            for at in lowest[:more]:
                found[at] += 1
            more = 0
    return found


def _runs(cores: Sequence[FreeCore], sizes: Sequence[int]) -> _Hands:
    """Neighbours, so many to each."""
    return [list(cores[start:end]) for start, end in pairwise([0, *accumulate(sizes)])]
