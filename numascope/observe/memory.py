"""The share of a process's memory on each node, by a sample of its resident pages, with how far it may be off.

Two steps: where memory is resident (`residence`), then the node of random resident pages. Pages in one window of 2 MiB mostly
lie on one node, so pages drawn from the same few windows say the same thing again and again. Hence at least as many windows
are looked at as pages are asked for, about one page falls on a window, and where not all windows were looked at, those that
were are counted as if each were of one node: the sample is then worth fewer pages than were asked for, never more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from random import Random
from typing import Final, NamedTuple

from numascope.host.maps import AddressSpace, Kind
from numascope.host.pagemap import PAGE_BYTES
from numascope.observe.interval import share_interval, widened
from numascope.observe.residence import Asker, Finder, Steps, find_resident
from numascope.observe.share import LEAST_HITS, MemoryShare, NodeShare, Share
from numascope.observe.windows import Piece

WANTED_PAGES: Final = 1_280
"""Pages asked for at once; ±2.8 % at a share of one half."""

_ENOUGH_HITS: Final = 1_000
_MOST_ASKING_NS: Final = 10_000_000
_MOST_BATCHES: Final = 8
_KIND_PAGES: Final = 256
_SLACK: Final = 0.03
MOST_MISSING: Final = 0.25
"""Where more of the resident memory than this was not found, its shares are unknown."""

_PAGE_KIB: Final = PAGE_BYTES >> 10

Clock = Callable[[], int]
"""Nanoseconds."""


def share_steps(
    space: AddressSpace,
    finder: Finder,
    asker: Asker,
    random: Random,
    clock: Clock,
    rss_kib: int | None = None,
    teller: Asker | None = None,
) -> Steps[MemoryShare]:
    """Samples an address space, a step at a time; DeniedError, AbsentError as the readers say.

    `clock` counts CPU time in ns. `rss_kib` is what the kernel says is resident, huge pages included: what of it a bounded
    look did not find, or what does not answer, widens the intervals. `teller` is asked in place of `asker` for pages that are
    in memory: it may take longer for those that do not answer.
    """
    residence = yield from find_resident(space, finder, asker, random)
    asker = asker if teller is None else teller
    pieces, is_complete = residence.pieces, residence.is_complete
    began_ns = clock()
    answers = _ask(pieces, asker, random, WANTED_PAGES, is_complete=is_complete)
    while (
        len(answers.nodes) < _ENOUGH_HITS
        and not answers.is_all
        and clock() - began_ns < _MOST_ASKING_NS
        and answers.asked < _MOST_BATCHES * WANTED_PAGES
    ):
        yield
        answers = answers.plus(_ask(pieces, asker, random, WANTED_PAGES, is_complete=False))
    yield
    all_answer = len(answers.nodes) > (1.0 - _SLACK) * answers.asked
    missing = 0.0
    if rss_kib and not (is_complete and all_answer):
        missing = _missing(_resident_kib(pieces, answers) / rss_kib)
    total = _share(pieces, answers, missing)
    kinds: dict[Kind, Share] = {}
    for kind in sorted({one.kind for one in pieces}, key=_kind_order):
        own = [one for one in pieces if one.kind == kind]
        mine = answers.of(kind)
        if mine.asked < _KIND_PAGES and not mine.is_all:
            mine = _ask(own, asker, random, _KIND_PAGES, is_complete=is_complete)
            yield
        kinds[kind] = _share(own, mine, missing)
    reason = "" if total.nodes is not None else _why_unknown(total, is_complete=is_complete)
    return MemoryShare(total, kinds, residence.method, reason, not_counted(space))


def _missing(found: float) -> float:
    """The part that was not found; what is within the error of the estimate is none."""
    return 0.0 if found > 1.0 - _SLACK else 1.0 - found


def _kind_order(kind: Kind) -> tuple[str, int]:
    return (kind.name, kind.page_kib or 0)


def _why_unknown(total: Share, *, is_complete: bool) -> str:
    if is_complete and total.missing > MOST_MISSING:
        return (
            f"{100 * total.missing:.0f} % of its pages do not answer: Linux 6.1 to 6.5 hide those that NUMA balancing "
            "watches; run as root, whom their frames tell, or numascope memory --full"
        )
    if total.missing > MOST_MISSING or total.pages_resident >= LEAST_HITS:
        return "its memory is scattered so thinly that a bounded look does not find enough of it"
    return f"only {total.pages_resident} of {total.pages_asked} pages answered, and under {LEAST_HITS} no share is told"


def not_counted(space: AddressSpace) -> tuple[str, ...]:
    """What of an address space is left out, in words."""
    found = []
    if space.device_kib:
        found.append(f"{space.device_kib >> 10} MiB that drivers map are not counted: the kernel knows no node of them")
    if space.is_cut:
        found.append("there are more mappings than are read: what lies behind them is not counted")
    return tuple(found)


class _Answers(NamedTuple):
    """Pages asked for, and kind and node of those that answered; `is_all`: there are no more."""

    asked_of: tuple[Kind, ...]
    nodes: tuple[tuple[Kind, int], ...]
    is_all: bool

    @property
    def asked(self) -> int:
        return len(self.asked_of)

    def plus(self, other: _Answers) -> _Answers:
        return _Answers(self.asked_of + other.asked_of, self.nodes + other.nodes, other.is_all)

    def of(self, kind: Kind) -> _Answers:
        return _Answers(
            tuple(one for one in self.asked_of if one == kind),
            tuple(one for one in self.nodes if one[0] == kind),
            self.is_all,
        )


def _ask(pieces: Sequence[Piece], asker: Asker, random: Random, count: int, *, is_complete: bool) -> _Answers:
    is_all = is_complete and sum(one.pages for one in pieces) <= count
    drawn = list(_every(pieces) if is_all else _drawn(pieces, random, count))
    nodes = asker.ask([address for address, _ in drawn])
    hits = tuple((kind, node) for (_, kind), node in zip(drawn, nodes, strict=True) if node >= 0)
    return _Answers(tuple(kind for _, kind in drawn), hits, is_all)


def _every(pieces: Sequence[Piece]) -> Iterator[tuple[int, Kind]]:
    return ((one.start + page * PAGE_BYTES, one.kind) for one in pieces for page in range(one.pages))


def _drawn(pieces: Sequence[Piece], random: Random, count: int) -> Iterator[tuple[int, Kind]]:
    """A random page of each of `count` equal parts of the memory that the pieces stand for, by rising address.

    One in each part spreads them at least as well as any, and being random within its part no page is in step with an
    interleaved policy.
    """
    ends = list(accumulate(one.weight * one.pages for one in pieces))
    if not ends:
        return
    step, at = ends[-1] / count, 0
    for number in range(count):
        place = min((number + random.random()) * step, math.nextafter(ends[-1], 0.0))
        while ends[at] <= place:
            at += 1
        one = pieces[at]
        page = one.pages - 1 - int((ends[at] - place) / one.weight)
        yield one.start + min(max(page, 0), one.pages - 1) * PAGE_BYTES, one.kind


def _resident_kib(pieces: Sequence[Piece], answers: _Answers) -> int:
    stands_for = math.fsum(one.weight * one.pages for one in pieces)
    return round(stands_for * len(answers.nodes) / answers.asked) * _PAGE_KIB if answers.asked else 0


def _share(pieces: Sequence[Piece], answers: _Answers, missing: float) -> Share:
    hits, resident_kib = len(answers.nodes), _resident_kib(pieces, answers)
    worth = _worth(pieces, answers)
    if hits < LEAST_HITS or worth < LEAST_HITS or missing > MOST_MISSING:
        return Share(answers.asked, hits, resident_kib, None, worth, missing)
    counts: dict[int, int] = {}
    for _, node in answers.nodes:
        counts[node] = counts.get(node, 0) + 1
    nodes = tuple(
        NodeShare(
            node,
            count,
            widened(share_interval(count / hits, worth), missing),
            round(resident_kib * count / hits),
        )
        for node, count in sorted(counts.items())
    )
    return Share(answers.asked, hits, resident_kib, nodes, worth, missing)


def _worth(pieces: Sequence[Piece], answers: _Answers) -> float:
    """Of how many independent pages a sample says as much.

    The variance of a share p is p(1-p) times the sum of: 1/n for n pages that answered, and f/m for the part f of the
    memory that is known from m random windows, each taken as if it lay on one node as a whole (Kish's effective number,
    since windows are full to different degrees).
    """
    if answers.is_all:
        return math.inf
    hits = len(answers.nodes)
    windows: dict[int, float] = {}
    for one in pieces:
        if one.weight != 1.0:
            windows[one.window] = windows.get(one.window, 0.0) + one.weight * one.pages
    sampled = math.fsum(windows.values())
    if not sampled or not hits:
        return float(hits)
    stands_for = math.fsum(one.weight * one.pages for one in pieces)
    effective = sampled * sampled / math.fsum(size * size for size in windows.values())
    return 1.0 / (1.0 / hits + sampled / stands_for / effective)
