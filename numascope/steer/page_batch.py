"""One batch of pages moved to a node, and what became of each: by its status, and by where it is found afterwards."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Final, NamedTuple

from numascope.observe.residence import Asker
from numascope.show.page_rows import PageOutcome
from numascope.steer.page_places import HIDDEN
from numascope.steer.syscalls import UNTOLD, PageKernel

MOST_ROUNDS: Final = 16
_MEANING: Final[dict[int, PageOutcome]] = {
    errno.EACCES: "shared", errno.EBUSY: "busy", errno.ENOMEM: "no-room",
}  # fmt: skip
"""Statuses of move_pages(2)."""

_NOT_SEEN: Final = frozenset({-errno.ENOENT, -errno.EFAULT})
"""Statuses of a page that the kernel did not find: one that is there was watched by NUMA balancing (see HiddenPages)."""

_NOTHING_TO_DO: Final = frozenset({0, errno.ENOENT, errno.ENOMEM})
_NO_PROCESS: Final = frozenset({errno.ESRCH, errno.EINVAL})
"""No such process, or one that has no memory any more (`find_mm_struct` of mm/migrate.c)."""


class BatchResult(NamedTuple):
    """Of each page what became of it; `huge`: how many large pages went as a whole; `error`: why the kernel refused the call, 0 if it did not."""

    outcomes: list[PageOutcome]
    huge: int
    error: int


def move_batch(pid: int, addresses: Sequence[int], node: int, kernel: PageKernel, asker: Asker) -> BatchResult:
    """Moves pages that lie elsewhere to a node.

    The kernel stops at the first queue of pages of which some would not go, and says nothing of that queue and of what
    stands behind it. So these are tried again, after some rounds one by one: what a call gets nowhere with is busy or
    pinned. The pages of a large page but its first are told to be busy, though they went with it: that is seen by asking where they are.
    So is what the kernel did not find, being watched by NUMA balancing: that is `watched`, and not tried again here.
    """
    outcomes: list[PageOutcome] = ["busy"] * len(addresses)
    todo = list(range(len(addresses)))
    huge = 0
    rounds = 0
    while todo:
        rounds += 1
        tried = todo if rounds <= MOST_ROUNDS else todo[:1]
        rest = todo[len(tried) :]
        some = [addresses[at] for at in tried]
        answer = kernel.move_pages(pid, some, node)
        if answer.error in _NO_PROCESS:
            _mark(outcomes, todo, "gone")
            return BatchResult(outcomes, huge, 0)
        if answer.error not in _NOTHING_TO_DO:
            _mark(outcomes, todo, "untried")
            return BatchResult(outcomes, huge, answer.error)
        is_plain = not answer.error and answer.statuses.count(node) == len(some)
        places = answer.statuses if is_plain else asker.ask(some)
        left: list[int] = []
        for at, status, place in zip(tried, answer.statuses, places, strict=True):
            if place == node or (place == HIDDEN and status == node):
                outcomes[at] = "moved"
                huge += status == -errno.EBUSY
            elif place < 0 and place != HIDDEN:
                outcomes[at] = "gone"
            elif status in _NOT_SEEN:
                outcomes[at] = "watched"
            elif status == UNTOLD or status >= 0 or (place == HIDDEN and status == -errno.EBUSY):
                left.append(at)
            else:
                outcomes[at] = _MEANING.get(-status, "busy")
        if answer.error == errno.ENOMEM:
            _mark(outcomes, [*left, *rest], "no-room")
            break
        is_stuck = len(left) == len(tried)
        if is_stuck and len(tried) > 1 and HIDDEN in places:
            rounds = MOST_ROUNDS  # some may have gone: asked for alone, each is told
            is_stuck = False
        todo = rest if is_stuck else [*left, *rest]
    return BatchResult(outcomes, huge, 0)


def _mark(outcomes: list[PageOutcome], places: Sequence[int], outcome: PageOutcome) -> None:
    for at in places:
        outcomes[at] = outcome
