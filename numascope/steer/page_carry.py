"""Blocks of pages carried to their node in small batches, not faster than asked, each after a look at whose they are."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from numascope.host.pagemap import PAGE_BYTES
from numascope.host.root import AbsentError, HostRoot
from numascope.observe.residence import Asker
from numascope.show.page_rows import Ending, PageOutcome
from numascope.steer.page_batch import move_batch
from numascope.steer.page_owner import OwnerWatch
from numascope.steer.page_places import LEAST_TRIES, RETRY_AFTER_S
from numascope.steer.syscalls import LinuxPages, PageKernel

BATCH_PAGES: Final = 512
"""A thread that touches a page of a batch waits until the kernel is through with the batch: 2 MiB are a millisecond or two."""

BATCH_PAGES_FOR_RECLAIM: Final = 64
"""Where the kernel may reclaim for a batch, on Linux 6.3 and later its pages wait for that."""

STOPPED: Final[tuple[Ending, str]] = "interrupted", "stopped between two batches"

REFUSALS: Final = {
    1: "another user's process, or the call is filtered: CAP_SYS_PTRACE is needed (EPERM)",
    13: "the node is not among the memory nodes of its cpuset (EACCES)",
    19: "the node has no memory (ENODEV)",
    38: "this kernel or its filter has no move_pages (ENOSYS)",
}


def sleeping(for_s: float) -> bool:
    """Waits; nobody interrupts."""
    time.sleep(max(0.0, for_s))
    return False


@dataclass
class PageHand:
    """With what pages are moved: `pause` waits for some seconds and tells whether to stop; `told` gets the pages of each batch."""

    root: HostRoot
    limit_bytes_per_s: float
    kernel: PageKernel = field(default_factory=LinuxPages)
    pause: Callable[[float], bool] = sleeping
    told: Callable[[int], None] = lambda _pages: None
    batch_pages: int = BATCH_PAGES
    _due_s: float = field(default=0.0, init=False)

    def wait(self) -> bool:
        """Waits until the next batch is due, and tells whether to stop; what was slower than the limit is not made up for."""
        return self.pause(max(0.0, self._due_s - time.monotonic()))

    def count(self, pages: int, began_s: float) -> None:
        """A batch that began then was done."""
        self._due_s = max(self._due_s, began_s) + pages * PAGE_BYTES / self.limit_bytes_per_s
        self.told(pages)


class Carried(NamedTuple):
    """Of each page what became of it, how many large pages went as a whole, and why it ended early (None: it did not)."""

    outcomes: list[PageOutcome]
    huge: int
    ending: tuple[Ending, str] | None

    def counts(self) -> Counter[PageOutcome]:
        """Pages by outcome."""
        return Counter(self.outcomes)

    def of(self, wanted: PageOutcome, addresses: Sequence[int]) -> list[int]:
        """Those of the addresses that had this outcome."""
        return [at for at, outcome in zip(addresses, self.outcomes, strict=True) if outcome == wanted]


class Road(NamedTuple):
    """From whom pages are carried: his watch, a living thread of his, and who is asked for the nodes of his pages."""

    watch: OwnerWatch
    tid: int
    asker: Asker


def carry(addresses: Sequence[int], page_bytes: int, node: int, road: Road, hand: PageHand) -> Carried:
    """Moves pages that are elsewhere to a node; it ends between two batches where it is to stop, or where they are no longer whose they were."""
    outcomes: list[PageOutcome] = []
    huge = 0
    ending: tuple[Ending, str] | None = None
    size = max(1, hand.batch_pages * PAGE_BYTES // page_bytes)
    for at in range(0, len(addresses), size):
        ending = STOPPED if hand.wait() else road.watch.doubt()
        if ending is not None:
            break
        some = addresses[at : at + size]
        began_s = time.monotonic()
        try:
            done = move_batch(road.tid, some, node, hand.kernel, road.asker)
        except AbsentError:
            ending = "gone", "it ended"
            break
        except OSError as error:
            ending = "refused", f"where its pages are cannot be asked any more: {error.strerror}"
            break
        outcomes += done.outcomes
        huge += done.huge
        seen = len(some) - done.outcomes.count("watched")
        hand.count(seen * (page_bytes // PAGE_BYTES), began_s)
        if done.error:
            ending = "refused", REFUSALS.get(done.error, f"refused by the kernel (error {done.error})")
        elif "no-room" in done.outcomes:
            ending = "no-room", f"the kernel found no room on node {node} (ENOMEM)"
        if ending is not None:
            break
    outcomes += ["gone" if ending is not None and ending[0] == "gone" else "untried"] * (len(addresses) - len(outcomes))
    return Carried(outcomes, huge, ending)


def try_again(
    hand: PageHand, unseen: Callable[[], bool], once: Callable[[], tuple[Ending, str] | None], moved: Callable[[], int]
) -> tuple[Ending, str] | None:
    """Tries what was `watched` once more after a while, until nothing is `unseen` or it leads nowhere; what ended it early, else None.

    `once` is a try, and tells what ended it early; `moved` counts pages.
    """
    for number, after_s in enumerate(RETRY_AFTER_S, 1):
        if not unseen():
            break
        if hand.pause(after_s):
            return STOPPED
        before = moved()
        early = once()
        if early is not None:
            return early
        if number >= LEAST_TRIES and moved() == before:
            break
    return None
