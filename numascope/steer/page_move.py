"""The pages of a process moved to the wanted nodes: listed, written down and synced, then moved, some 64 MiB at a time."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from numascope.cpuset import CpuSet
from numascope.errors import InputError
from numascope.host.pagemap import PAGE_BYTES
from numascope.host.root import AbsentError
from numascope.observe.residence import Asker
from numascope.show.page_rows import Ending, MoveResult, PageOutcome, PageOwner
from numascope.steer.journal import OpenEntry
from numascope.steer.page_carry import Carried, PageHand, Road, carry, try_again
from numascope.steer.page_entry import Block
from numascope.steer.page_owner import OwnerWatch
from numascope.steer.page_places import HIDDEN
from numascope.steer.page_records import Pages, PagesDone, Range, addresses_of, joined, ranges_text
from numascope.steer.page_room import Rooms
from numascope.steer.pages import PageLister, PageRun, list_again

STRETCH_PAGES: Final = 1 << 14
"""Pages between two syncs of the journal: 64 MiB with pages of 4 KiB."""

_MOST_UNSEEN: Final = 1 << 16
"""So many runs of pages that could not be seen are kept to be tried again."""


def move_pages_of(owner: PageOwner, nodes: CpuSet, entry: OpenEntry, hand: PageHand, rooms: Rooms) -> MoveResult:
    """Moves what this process alone maps, and what is not on one of the nodes, to the one of them with most room.

    Every range is on the disk with the node that it came from before a page of it is moved. InputError where nothing could
    be written, and nothing was moved.
    """
    began_s = time.monotonic()
    move = _Move(owner, nodes, entry, hand, rooms)
    ending, why = move.run()
    return MoveResult(owner, ending, dict(move.counts), move.huge, time.monotonic() - began_s, why)


class _Move:
    """One process being moved."""

    def __init__(self, owner: PageOwner, nodes: CpuSet, entry: OpenEntry, hand: PageHand, rooms: Rooms) -> None:
        self.owner = owner
        self.nodes = nodes
        self.entry = entry
        self.hand = hand
        self.rooms = rooms
        self.counts: Counter[PageOutcome] = Counter()
        self.huge = 0
        self.written = 0
        self.full = ""
        self.unseen: list[PageRun] = []

    def run(self) -> tuple[Ending, str]:
        """How it ended, and why."""
        with contextlib.ExitStack() as stack:
            try:
                lister = PageLister(self.hand.root, self.owner.pid)
                stack.callback(lister.close)
                watch = OwnerWatch(self.hand.root, self.owner, lister.tid)
                stack.callback(watch.close)
                doubt = watch.doubt()
                if doubt is not None:
                    return doubt
                return self.all(lister, Road(watch, lister.tid, lister.asker))
            except AbsentError:
                return "gone", "it ended"
            except OSError as error:
                return "refused", f"its pages cannot be listed: {error.strerror}"

    def all(self, lister: PageLister, road: Road) -> tuple[Ending, str]:
        early = self.each(lister.runs(), road) or try_again(
            self.hand,
            lambda: bool(self.unseen),
            lambda: self.each(self.again(lister.asker.seen()), road),
            lambda: self.counts["moved"],
        )
        # One that ended, or became another program, gives an empty list.
        return early or road.watch.doubt() or (("no-room", self.full) if self.full else ("done", ""))

    def again(self, seen: Asker) -> Iterator[PageRun]:
        """What could not be seen, as the kernel sees it now."""
        runs, self.unseen = self.unseen, []
        for pages, found in list_again(runs, seen):
            self.counts["watched"] -= pages
            self.counts["gone"] += pages - sum(one.base_pages for one in found)
            yield from found

    def each(self, runs: Iterable[PageRun], road: Road) -> tuple[Ending, str] | None:
        """Stretch by stretch; what ends it early is told."""
        for stretch in _stretches(self.due(runs)):
            self.rooms.refresh()
            blocks = self.blocks(stretch)
            try:
                early = self.do(blocks, road)
            except InputError as error:
                if not self.counts["moved"]:
                    raise
                return "refused", f"stopped: {error}"
            if early is not None:
                return early
        return None

    def due(self, runs: Iterable[PageRun]) -> Iterator[PageRun]:
        """The runs that are to be moved; the rest is counted."""
        for run in runs:
            if run.node in self.nodes:
                self.counts["already"] += run.base_pages
            elif not run.is_alone:
                self.counts["shared"] += run.base_pages
            elif run.node == HIDDEN:
                self.counts["watched"] += run.base_pages
                self.keep(run)
            else:
                yield run

    def keep(self, run: PageRun) -> None:
        """To be tried again."""
        if len(self.unseen) < _MOST_UNSEEN:
            self.unseen.append(run)

    def blocks(self, runs: Sequence[PageRun]) -> list[Block]:
        """Each run, or as much of it as there is room for, with the node that it goes to."""
        found: dict[tuple[int, int, int], list[Range]] = {}
        for whole in runs:
            run = whole
            while run.pages:
                node, room = self.rooms.roomiest(self.nodes, run.page_bytes)
                count = min(run.pages, room)
                if not count:
                    self.counts["no-room"] += run.base_pages
                    self.full = self.full or _no_room(self.nodes, run.page_bytes)
                    break
                self.rooms.take(node, run.page_bytes, count)
                found.setdefault((run.node, node, run.page_bytes), []).append(Range(run.start, count))
                run = run._replace(start=run.start + count * run.page_bytes, pages=run.pages - count)
        return [Block(*key, tuple(ranges)) for key, ranges in found.items()]

    def do(self, blocks: Sequence[Block], road: Road) -> tuple[Ending, str] | None:
        """Records first, then block by block; what ends it early is told."""
        intents = [self.intent(block) for block in blocks]
        self.entry.intend(intents)
        early: tuple[Ending, str] | None = None
        results: list[PagesDone] = []
        for block, intent in zip(blocks, intents, strict=True):
            addresses = addresses_of(block.ranges, block.page_bytes)
            if early is None:
                carried = carry(addresses, block.page_bytes, block.after, road, self.hand)
            else:
                carried = Carried(["gone" if early[0] == "gone" else "untried"] * len(addresses), 0, None)
            results.append(self.take(block, intent, addresses, carried))
            if carried.ending is not None and carried.ending[0] == "no-room":
                self.rooms.close(block.after, block.page_bytes)
                self.full = self.full or carried.ending[1]
            else:
                early = early or carried.ending
        note = self.entry.record(results)
        return early if note is None else (early or ("refused", f"stopped: {note}"))

    def intent(self, block: Block) -> Pages:
        self.written += 1
        owner = self.owner
        return Pages(
            owner.pid, owner.starttime_ticks, owner.start_stack, owner.comm, owner.rank, self.written, block.before,
            block.after, block.page_bytes >> 10, ranges_text(block.ranges, block.page_bytes),
        )  # fmt: skip

    def take(self, block: Block, intent: Pages, addresses: Sequence[int], carried: Carried) -> PagesDone:
        """Counts what became of a block; pages that a full node did not take are of no room, tried or not."""
        counts = carried.counts()
        if carried.ending is not None and carried.ending[0] == "no-room":
            counts["no-room"] += counts.pop("untried", 0)
        each = block.page_bytes // PAGE_BYTES
        for outcome, count in counts.items():
            self.counts[outcome] += count * each
        huge = carried.huge if each == 1 else counts["moved"]
        self.huge += huge
        for unseen in joined(carried.of("watched", addresses), block.page_bytes):
            self.keep(PageRun(*unseen, block.page_bytes, HIDDEN, is_alone=True))
        kept = (at for at, outcome in zip(addresses, carried.outcomes, strict=True) if outcome != "moved")
        return PagesDone(
            intent.pid, intent.starttime, intent.number, {str(one): count for one, count in counts.items() if count},
            huge, ranges_text(joined(kept, block.page_bytes), block.page_bytes),
        )  # fmt: skip


def _no_room(nodes: CpuSet, page_bytes: int) -> str:
    which = f"node {nodes}" if len(nodes) == 1 else f"nodes {nodes}"
    if page_bytes > PAGE_BYTES:
        return f"no huge page of {page_bytes >> 20} MiB is free on {which}"
    return f"{which} has no more room above the kernel's watermarks: --push-out-cache has the kernel drop page cache for it"


def _stretches(runs: Iterable[PageRun]) -> Iterator[list[PageRun]]:
    """The runs, cut so that no stretch has more pages than are to be moved between two syncs; one huge page may."""
    stretch: list[PageRun] = []
    room = STRETCH_PAGES
    for whole in runs:
        run, each = whole, whole.page_bytes // PAGE_BYTES
        while run.pages:
            count = min(run.pages, max(1, room // each))
            stretch.append(run.first(count))
            room -= count * each
            run = run._replace(start=run.start + count * run.page_bytes, pages=run.pages - count)
            if room < 1:
                yield stretch
                stretch, room = [], STRETCH_PAGES
    if stretch:
        yield stretch
