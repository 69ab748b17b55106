"""An address space as windows of 2 MiB: which there are, in ranges, and what of them is memory of which kind. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple, overload

from numascope.host.maps import AddressSpace, Kind
from numascope.host.pagemap import PAGE_BYTES, WINDOW_BYTES, Run


class Ranges(Sequence[int]):
    """Rising numbers, kept as pairs (first, behind the last): 150,000 windows are a few pairs."""

    def __init__(self, pairs: Iterable[tuple[int, int]]) -> None:
        joined: list[tuple[int, int]] = []
        for first, end in sorted(pairs):
            if joined and first <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            elif first < end:
                joined.append((first, end))
        self.pairs = tuple(joined)
        self._ends = list(accumulate(end - first for first, end in joined))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Ranges: ...
    def __getitem__(self, at: int | slice) -> int | Ranges:
        if isinstance(at, slice):
            return Ranges(self._cut(*at.indices(len(self))[:2]))
        if not 0 <= at < len(self):
            raise IndexError(at)
        pair = bisect_right(self._ends, at)
        return self.pairs[pair][1] - (self._ends[pair] - at)

    def without(self, other: Ranges) -> Ranges:
        """The numbers that the other has not."""
        left: list[tuple[int, int]] = []
        others, at = other.pairs, 0
        for first, end in self.pairs:
            while at < len(others) and others[at][1] <= first:
                at += 1
            here = at
            while here < len(others) and others[here][0] < end:
                left.append((first, max(first, others[here][0])))
                first = max(first, others[here][1])  # noqa: PLW2901  (what is left of the pair)
                here += 1
            left.append((min(first, end), end))
        return Ranges(left)

    def _cut(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """The numbers at these places, as pairs."""
        pair = bisect_right(self._ends, start)
        while start < stop and pair < len(self.pairs):
            count = min(stop, self._ends[pair]) - start
            first = self.pairs[pair][1] - (self._ends[pair] - start)
            yield first, first + count
            start += count
            pair += 1


class Piece(NamedTuple):
    """Pages in memory side by side, of one kind; `weight` says for how many such pieces of the address space it stands."""

    start: int
    pages: int
    kind: Kind
    window: int
    weight: float = 1.0


class Layout:
    """The windows that an address space has memory in, or could have; window N begins at address N x WINDOW_BYTES."""

    def __init__(self, space: AddressSpace) -> None:
        self._regions = space.regions
        self._starts = [one.start for one in space.regions]
        self._end = space.regions[-1].end if space.regions else 0
        self.windows = Ranges((one.start // WINDOW_BYTES, -(-one.end // WINDOW_BYTES)) for one in space.regions)

    def bounds(self, first: int, end: int) -> tuple[int, int]:
        """The addresses of windows, up to the last region's end: beyond it a process may have no addresses at all."""
        return first * WINDOW_BYTES, min(end * WINDOW_BYTES, self._end)

    def windows_of(self, below_bytes: int) -> Ranges:
        """The windows of regions that are smaller than so many bytes."""
        small = (one for one in self._regions if one.end - one.start < below_bytes)
        return Ranges((one.start // WINDOW_BYTES, -(-one.end // WINDOW_BYTES)) for one in small)

    def pieces(self, runs: Iterable[Run]) -> Iterator[Piece]:
        """What of these runs lies in a region, a piece for each, of one window: what is PROT_NONE or a driver's falls out."""
        for first, end in runs:
            at = max(0, bisect_right(self._starts, first) - 1)
            while at < len(self._regions) and self._regions[at].start < end:
                region = self._regions[at]
                start, stop = max(first, region.start), min(end, region.end)
                if start < stop:
                    yield Piece(start, (stop - start) // PAGE_BYTES, region.kind, start // WINDOW_BYTES)
                at += 1
