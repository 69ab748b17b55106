"""Where in an address space memory is resident: all of it where that is little, else random windows of 2 MiB, each with its weight.

Nothing here grows with the target. Every step is short: whoever runs it does a few at a time.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from random import Random
from typing import Final, NamedTuple, Protocol, TypeVar

from numascope.host.maps import AddressSpace
from numascope.host.page_nodes import MOST_PAGES
from numascope.host.pagemap import PAGE_BYTES, WINDOW_BYTES, Found, Run
from numascope.observe.windows import Layout, Piece, Ranges

_Value = TypeVar("_Value")
Steps = Generator[None, None, _Value]
"""Work in steps of about half a millisecond, and its result."""

_ALL_WINDOWS: Final = 768
"""So many windows (1.5 GiB of addresses) are all looked at."""

_MOST_WINDOWS: Final = 768
_FULL_WINDOWS: Final = 640
"""Of more, this many at random, and on until so many of them held memory: half as many as pages are asked for."""

_MOST_TRIES: Final = 1 << 12
_CELLS: Final = 512
_MOST_CELLS: Final = 1 << 14
_THIN_PAGES: Final = 64
_SMALL_BYTES: Final = 64 << 20
_PILOT: Final = 1 << 12
_FINE_PILOT: Final = 1 << 16
_MOST_PIECES: Final = 1 << 16
_STEP: Final = 64


class Finder(Protocol):
    """What a PageMap can do."""

    can_skip: bool

    def scan(self, start: int, end: int, most_pages: int = 0) -> Found:
        """Runs in memory, jumping over what is empty."""
        ...

    def runs(self, start: int, end: int) -> list[Run]:
        """Runs in memory in one window."""
        ...


class Asker(Protocol):
    """What PageNodes can do."""

    def ask(self, addresses: Sequence[int]) -> list[int]:
        """The node of each page; negative where there is none in memory."""
        ...


class Residence(NamedTuple):
    """Pieces of resident memory by rising address, whether these are all that there are, and how they were found."""

    pieces: tuple[Piece, ...]
    is_complete: bool
    method: str


class _Stratum(NamedTuple):
    """Windows to look at: all if they are at most `whole`, else `sample` of them, and on until `full` held memory."""

    windows: Ranges
    whole: int = _ALL_WINDOWS
    sample: int = _MOST_WINDOWS
    full: int = _FULL_WINDOWS


def find_resident(space: AddressSpace, finder: Finder, asker: Asker, random: Random) -> Steps[Residence]:
    """Looks for resident memory; DeniedError, AbsentError as the readers say."""
    layout = Layout(space)
    pieces: list[Piece] = []
    scale = 1.0
    if len(layout.windows) <= _ALL_WINDOWS:
        strata = [_Stratum(layout.windows)]
    elif finder.can_skip:
        thin, strata, scale = yield from _occupied(layout, finder, random)
        pieces += _weighted(thin, scale)
    else:
        strata = yield from _hot_and_rest(layout, asker, random)
    is_complete = scale == 1.0
    for stratum in strata:
        found, weight = yield from _visited(layout, stratum, finder, random)
        pieces += _weighted(found, weight * scale)
        is_complete = is_complete and weight == 1.0
    return Residence(tuple(sorted(pieces)), is_complete, "PAGEMAP_SCAN" if finder.can_skip else "pagemap")


def _weighted(pieces: list[Piece], weight: float) -> list[Piece]:
    return pieces if weight == 1.0 else [one._replace(weight=weight) for one in pieces]


def _visited(layout: Layout, stratum: _Stratum, finder: Finder, random: Random) -> Steps[tuple[list[Piece], float]]:
    """What windows hold, looked at in random order, so that those seen stand for the rest whenever it stops, and their weight."""
    total = len(stratum.windows)
    is_all = total <= stratum.whole
    order = random.sample(range(total), total if is_all else min(total, _MOST_TRIES))
    found: list[Piece] = []
    seen = full = 0
    for at in order:
        number = stratum.windows[at]
        before = len(found)
        found.extend(layout.pieces(finder.runs(*layout.bounds(number, number + 1))))
        seen += 1
        full += len(found) > before
        is_enough = not is_all and seen >= stratum.sample and (full >= stratum.full)
        if is_enough or len(found) >= _MOST_PIECES:
            break
        if seen % _STEP == 0:
            yield
    return found, total / seen if seen else 1.0


def _occupied(layout: Layout, finder: Finder, random: Random) -> Steps[tuple[list[Piece], list[_Stratum], float]]:
    """All of the thin parts, the dense parts, and for how many such address spaces they stand: the kernel jumps over what is empty.

    Cells of equal size are asked for their first pages. A cell of a few pages is thin, and known by then;
    a dense one is split, until its windows are few enough to be all looked at or the dense cells are so many that a window
    of each makes a sample.
    """
    windows = layout.windows
    size = 1 << max(0, (len(windows) // _CELLS).bit_length() - 1)
    cells = _split(windows.pairs, size)
    scale = 1.0
    if len(cells) > _MOST_CELLS:
        scale, cells = len(cells) / _MOST_CELLS, random.sample(cells, _MOST_CELLS)
    thin: list[Piece] = []
    while True:
        dense: list[tuple[int, int]] = []
        for number, (first, end) in enumerate(cells, 1):
            start, stop = layout.bounds(first, end)
            found = finder.scan(start, stop, _THIN_PAGES)
            if found.until >= stop:
                thin.extend(layout.pieces(found.runs))
            else:
                dense.append((first, end))
            if number % _STEP == 0:
                yield
        if size == 1 or len(dense) * size <= _ALL_WINDOWS or len(dense) >= _CELLS:
            return thin, [_Stratum(Ranges(dense))], scale
        size //= min(size, max(2, 1 << (_ALL_WINDOWS // len(dense)).bit_length() - 1))
        cells = _split(dense, size)


def _split(pairs: Sequence[tuple[int, int]], size: int) -> list[tuple[int, int]]:
    return [(at, min(at + size, end)) for first, end in pairs for at in range(first, end, size)]


def _hot_and_rest(layout: Layout, asker: Asker, random: Random) -> Steps[list[_Stratum]]:
    """Small regions, where a first look at single pages, evenly spaced, met memory in large ones, and the rest of these; all as one where it met much.

    The first look only says where to look closely. The parts are then sampled independently of it, so that what it
    missed still counts, with its weight. Programs and their data are many small regions, mostly resident, which pages so
    far apart would miss.
    """
    small = layout.windows_of(_SMALL_BYTES)
    large = layout.windows.without(small)
    coarse = yield from _met(large, asker, random, _PILOT)
    if len(coarse) >= _PILOT // 2:
        return [_Stratum(small), _Stratum(large)]
    close = Ranges((yield from _met(large, asker, random, _FINE_PILOT)))
    return [_Stratum(small), _Stratum(close), _Stratum(large.without(close), full=0)]


def _met(windows: Ranges, asker: Asker, random: Random, count: int) -> Steps[list[tuple[int, int]]]:
    """Around each of `count` evenly spaced pages that is in memory, the windows up to the next such page."""
    stride = max(1, -(-len(windows) * WINDOW_BYTES // (count * PAGE_BYTES))) * PAGE_BYTES
    found: list[tuple[int, int]] = []
    for first, end in windows.pairs:
        start = first * WINDOW_BYTES + random.randrange(stride // PAGE_BYTES) * PAGE_BYTES
        addresses = range(start, end * WINDOW_BYTES, stride)
        for at in range(0, len(addresses), MOST_PAGES):
            some = addresses[at : at + MOST_PAGES]
            for address, node in zip(some, asker.ask(some), strict=True):
                if node >= 0:
                    low, high = (address - stride) // WINDOW_BYTES, (address + stride) // WINDOW_BYTES
                    found.append((max(first, low), min(end, high + 1)))
            yield
    return found
