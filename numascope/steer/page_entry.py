"""What an entry of the journal says of pages: for each process the ranges that were moved, and whether a revert has brought them back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from numascope.host.pagemap import PAGE_BYTES
from numascope.show.page_rows import OUTCOMES, PageOutcome, PageOwner, PagesRow
from numascope.steer.page_records import Pages, PagesBack, PagesDone, Range, parse_ranges, without
from numascope.steer.records import Record, printable

_LEFT: Final[tuple[PageOutcome, ...]] = ("elsewhere", "busy", "watched", "no-room", "untried")
"""Outcomes of a revert after which a page is there and not back; one that others map by now is no longer this process's own."""


class Block(NamedTuple):
    """Ranges of pages of one size that lay on node `before` and were moved to `after`."""

    before: int
    after: int
    page_bytes: int
    ranges: tuple[Range, ...]

    @property
    def pages(self) -> int:
        """Pages of the machine."""
        return sum(one.pages for one in self.ranges) * (self.page_bytes // PAGE_BYTES)


@dataclass(frozen=True, slots=True)
class MovedPages:
    """The pages of one process in one entry: each written intent with its result, None where the writer was killed before it."""

    owner: PageOwner
    intents: tuple[tuple[Pages, PagesDone | None], ...]
    reverted_by: int | None = None
    back: PagesBack | None = None
    """What the last revert says of them."""

    @property
    def process(self) -> tuple[int, int]:
        """Pid and start of the process."""
        return self.owner.pid, self.owner.starttime_ticks

    @property
    def is_open(self) -> bool:
        """Whether there may be something to put back."""
        if not any(done is None or done.counts.get("moved") for _, done in self.intents):
            return False
        if self.back is None:
            return True
        return self.back.result not in ("gone", "raced") and any(self.back.counts.get(one) for one in _LEFT)

    @property
    def is_untried(self) -> bool:
        """Whether there is, and no revert has gone through all of it."""
        return self.is_open and (self.back is None or self.back.result == "interrupted")

    def blocks(self) -> Iterator[Block]:
        """What was moved, or after a crash may have been, the latest first."""
        for intent, done in reversed(self.intents):
            page_bytes = intent.page_kib << 10
            ranges = parse_ranges(intent.ranges, page_bytes)
            if done is not None:
                ranges = without(ranges, parse_ranges(done.kept, page_bytes), page_bytes)
            if ranges:
                yield Block(intent.before, intent.after, page_bytes, ranges)

    def row(self) -> PagesRow:
        """As screens and documents show it."""
        moves: dict[tuple[int, int], int] = {}
        counts: dict[PageOutcome, int] = {}
        for intent, done in self.intents:
            each = (intent.page_kib << 10) // PAGE_BYTES
            key = (intent.before, intent.after)
            pages = sum(one.pages for one in parse_ranges(intent.ranges, intent.page_kib << 10)) * each
            moves[key] = moves.get(key, 0) + pages
            for outcome, count in ({"untried": pages // each} if done is None else done.counts).items():
                _add(counts, outcome, count * each)
        left = 0 if not self.is_open else counts.get("moved", 0)
        if self.back is not None and self.is_open:
            left = sum(self.back.counts.get(one, 0) for one in _LEFT)
        return PagesRow(self.owner, moves, counts, self.reverted_by, left)


def _add(counts: dict[PageOutcome, int], outcome: str, count: int) -> None:
    for known in OUTCOMES:
        if outcome == known:
            counts[known] = counts.get(known, 0) + count


def fold_pages(records: Iterable[Record]) -> tuple[MovedPages, ...]:
    """The records of an entry, process by process."""
    intents: dict[tuple[int, int], dict[int, tuple[Pages, PagesDone | None]]] = {}
    for one in records:
        if isinstance(one, Pages):
            intents.setdefault((one.pid, one.starttime), {})[one.number] = (one, None)
        elif isinstance(one, PagesDone):
            known = intents.get((one.pid, one.starttime), {})
            if one.number in known:
                known[one.number] = (known[one.number][0], one)
    return tuple(_moved(tuple(pairs.values())) for pairs in intents.values())


def _moved(pairs: tuple[tuple[Pages, PagesDone | None], ...]) -> MovedPages:
    first = pairs[0][0]
    owner = PageOwner(first.pid, first.starttime, first.start_stack, printable(first.comm), printable(first.rank))
    return MovedPages(owner, pairs)


def marked(
    pages: tuple[MovedPages, ...], backs: Mapping[tuple[int, int], tuple[int, PagesBack]]
) -> tuple[MovedPages, ...]:
    """With what later reverts say, by (pid, start): the entry's id and its line."""
    return tuple(
        replace(one, reverted_by=backs[one.process][0], back=backs[one.process][1]) if one.process in backs else one
        for one in pages
    )
