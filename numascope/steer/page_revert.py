"""Pages brought back to the node that they came from: of the same program, and only those that are still where we moved them to."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from numascope.host.page_entries import PageEntries
from numascope.host.pagemap import PAGE_BYTES
from numascope.host.procfs import speaker_of
from numascope.host.root import AbsentError
from numascope.show.page_rows import Ending, MoveResult, PageOutcome
from numascope.steer.journal import Entry, OpenEntry
from numascope.steer.page_carry import PageHand, Road, carry, try_again
from numascope.steer.page_entry import Block, MovedPages
from numascope.steer.page_owner import OwnerWatch
from numascope.steer.page_places import HIDDEN
from numascope.steer.page_records import PagesBack, addresses_of, joined
from numascope.steer.page_room import Rooms
from numascope.steer.pages import places_of

_STEP_PAGES: Final = 1 << 14
_MOST_UNSEEN: Final = 1 << 14


def plan_pages_back(entry: Entry, hand: PageHand) -> tuple[MoveResult, ...]:
    """What a revert would do with the pages of each process (`moved`: would go back); nothing is moved."""
    return tuple(_back(one, hand, dry=True) for one in entry.pages if one.is_open)


def pages_back(entry: Entry, into: OpenEntry, hand: PageHand) -> tuple[MoveResult, ...]:
    """Brings the pages of each process back, and journals what became of them; run again it goes on where it was interrupted.

    The undo record of what is done here is the entry itself: it has every range, and the node that it is on now.
    """
    found: list[MoveResult] = []
    for one in entry.pages:
        if one.is_open:
            into.begin()
            result = _back(one, hand, dry=False)
            counts = {str(outcome): count for outcome, count in result.counts.items()}
            note = into.record([PagesBack(*one.process, result.ending, counts, result.why)])
            if note is not None:
                result = MoveResult(result.owner, "refused", result.counts, result.huge, result.took_s, note)
            found.append(result)
            if result.ending == "interrupted":
                break
    return tuple(found)


def _back(one: MovedPages, hand: PageHand, *, dry: bool) -> MoveResult:
    began_s = time.monotonic()
    back = _Back(hand, dry=dry)
    ending, why = back.run(one)
    return MoveResult(one.owner, ending, dict(back.counts), back.huge, time.monotonic() - began_s, why)


class _Back:
    """The pages of one process being brought back."""

    def __init__(self, hand: PageHand, *, dry: bool) -> None:
        self.hand = hand
        self.dry = dry
        self.rooms = Rooms(hand.root)
        self.counts: Counter[PageOutcome] = Counter()
        self.huge = 0
        self.full = ""
        self.unseen: list[Block] = []

    def run(self, one: MovedPages) -> tuple[Ending, str]:
        """How it ended, and why."""
        with contextlib.ExitStack() as stack:
            try:
                speaker = speaker_of(self.hand.root, one.owner.pid)
                tid = int(str(speaker).rpartition("/")[2])
                watch = OwnerWatch(self.hand.root, one.owner, tid)
                stack.callback(watch.close)
                entries = PageEntries(self.hand.root, speaker)
                stack.callback(entries.close)
                places = places_of(self.hand.root, tid, entries)
                road, later = Road(watch, tid, places), Road(watch, tid, places.seen())
                early = self.each(one.blocks(), road, watch.doubt())
                if not self.dry:
                    early = early or try_again(
                        self.hand, lambda: bool(self.unseen), lambda: self.again(later), lambda: self.counts["moved"]
                    )
            except AbsentError:
                return "gone", "it ended"
            except OSError as error:
                return "refused", f"its pages cannot be looked at: {error.strerror}"
        return early or (("no-room", self.full) if self.full else ("done", ""))

    def each(self, blocks: Iterable[Block], road: Road, doubt: tuple[Ending, str] | None) -> tuple[Ending, str] | None:
        """Brings blocks back; after what ended it early the rest is only counted."""
        early = doubt
        for block in blocks:
            early = self.block(block, road, early)
        return early

    def again(self, road: Road) -> tuple[Ending, str] | None:
        """What could not be seen once more."""
        blocks, self.unseen = self.unseen, []
        self.counts["watched"] -= sum(block.pages for block in blocks)
        return self.each(blocks, road, None)

    def block(self, block: Block, road: Road, early: tuple[Ending, str] | None) -> tuple[Ending, str] | None:
        """Brings one block back; after what ended it early the rest is only counted."""
        each = block.page_bytes // PAGE_BYTES
        for addresses in _steps(addresses_of(block.ranges, block.page_bytes), each):
            if early is not None:
                self.counts["gone" if early[0] in ("gone", "raced") else "untried"] += len(addresses) * each
                continue
            due = self.sort(addresses, block, road)
            if self.dry:
                self.counts["moved"] += len(due) * each
                continue
            carried = carry(due, block.page_bytes, block.before, road, self.hand)
            for outcome, count in carried.counts().items():
                self.counts[outcome] += count * each
            self.keep(carried.of("watched", due), block)
            self.huge += carried.huge if each == 1 else carried.counts()["moved"]
            if carried.ending is not None and carried.ending[0] == "no-room":
                self.rooms.close(block.before, block.page_bytes)
                self.full = self.full or carried.ending[1]
            else:
                early = carried.ending
        return early

    def keep(self, addresses: Sequence[int], block: Block) -> None:
        """Pages of a block that could not be seen, to be tried again."""
        if addresses and len(self.unseen) < _MOST_UNSEEN:
            self.unseen.append(block._replace(ranges=joined(addresses, block.page_bytes)))

    def sort(self, addresses: Sequence[int], block: Block, road: Road) -> list[int]:
        """Those that are still where we moved them to, as far as there is room for them; the rest is counted."""
        each = block.page_bytes // PAGE_BYTES
        due: list[int] = []
        hidden: list[int] = []
        for address, node in zip(addresses, road.asker.ask(addresses), strict=True):
            if node == block.after:
                due.append(address)
            elif node == HIDDEN:
                hidden.append(address)
            else:
                outcome: PageOutcome = "gone" if node < 0 else "already" if node == block.before else "elsewhere"
                self.counts[outcome] += each
        self.counts["watched"] += len(hidden) * each
        self.keep(hidden, block)
        self.rooms.refresh()
        room = self.rooms.of(block.before, block.page_bytes)
        if len(due) > room:
            self.counts["no-room"] += (len(due) - room) * each
            self.full = self.full or f"node {block.before}, where they came from, has no room for them"
        return due[:room]


def _steps(addresses: Sequence[int], each: int) -> Iterator[Sequence[int]]:
    size = max(1, _STEP_PAGES // each)
    return (addresses[at : at + size] for at in range(0, len(addresses), size))
