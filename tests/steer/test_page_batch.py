"""A batch of pages against a kernel that answers as `do_pages_move` of mm/migrate.c does: each page gets the outcome that is its own."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from numascope.show.page_rows import PageOutcome
from numascope.steer.page_batch import move_batch
from numascope.steer.page_places import HIDDEN
from numascope.steer.syscalls import UNTOLD, PageAnswer

Fate = Literal["free", "shared", "pinned", "locked-away", "gone", "large", "watched"]
"""`pinned` is taken from its list and will not go; `locked-away` is on no list; `large` shares a large page with its neighbours;
`watched` by NUMA balancing it is there and not seen."""

PAGE = 4096
TO = 1
WANTED: dict[Fate, PageOutcome] = {
    "free": "moved", "large": "moved", "shared": "shared", "pinned": "busy", "locked-away": "busy", "gone": "gone",
    "watched": "watched",
}  # fmt: skip


@dataclass
class Memory:
    """Pages by address, all on node 0 at first; `room` is how many can still be moved."""

    fates: list[Fate]
    room: int = 1 << 30
    calls: int = 0
    nodes: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.nodes = {at * PAGE: 0 for at, fate in enumerate(self.fates) if fate != "gone"}

    def fate(self, address: int) -> Fate:
        """What is to become of a page."""
        return self.fates[address // PAGE]

    def whole(self, address: int) -> list[int]:
        """The pages that go together: neighbours that are large are one large page."""
        first = last = address // PAGE
        if self.fates[first] == "large":
            while first and self.fates[first - 1] == "large":
                first -= 1
            while last + 1 < len(self.fates) and self.fates[last + 1] == "large":
                last += 1
        return [at * PAGE for at in range(first, last + 1)]

    def ask(self, addresses: Sequence[int]) -> list[int]:
        """The node of each."""
        return [self.nodes.get(one, -errno.ENOENT) for one in addresses]

    def move_pages(self, pid: int, addresses: Sequence[int], node: int) -> PageAnswer:
        """Queues pages; at each that cannot be queued it is told why, and the queue is moved; it ends where some would not go."""
        del pid
        self.calls += 1
        statuses = [UNTOLD] * len(addresses)
        queue: list[int] = []
        for at, address in enumerate(addresses):
            status = self.queued(address, node, [addresses[one] for one in queue])
            if status is None:
                queue.append(at)
                continue
            statuses[at] = status
            error = self.flush(queue, addresses, statuses, node)
            if error is not None:
                return PageAnswer(error, statuses)
            queue = []
        error = self.flush(queue, addresses, statuses, node)
        return PageAnswer(error or 0, statuses)

    def queued(self, address: int, node: int, queue: Sequence[int]) -> int | None:
        """The status of a page that cannot be queued; None of one that was."""
        fate = self.fate(address)
        if fate in ("gone", "watched"):
            return -errno.ENOENT
        if self.nodes[address] == node:
            return node
        if fate == "shared":
            return -errno.EACCES
        is_taken = bool(set(self.whole(address)) & set(queue))
        return -errno.EBUSY if fate == "locked-away" or is_taken else None

    def flush(self, queue: Sequence[int], addresses: Sequence[int], statuses: list[int], node: int) -> int | None:
        """None where all went; 0 where some did not, ENOMEM where there is no room."""
        has_failed = False
        for at in queue:
            if self.fate(addresses[at]) == "pinned":
                has_failed = True
                continue
            if not self.room:
                return errno.ENOMEM
            self.room -= 1
            for one in self.whole(addresses[at]):
                self.nodes[one] = node
        if has_failed:
            return 0
        for at in queue:
            statuses[at] = node
        return None


fates = st.lists(
    st.sampled_from(["free", "free", "free", "shared", "pinned", "locked-away", "gone", "large", "watched"]),
    min_size=1,
    max_size=80,
)


@given(fates)
def test_each_page_has_the_outcome_that_is_its_own(given_fates: list[Fate]) -> None:
    memory = Memory(given_fates)
    done = move_batch(7, [at * PAGE for at in range(len(given_fates))], TO, memory, memory)

    assert done.outcomes == [WANTED[one] for one in given_fates]
    assert done.error == 0
    assert memory.calls <= 16 + len(given_fates)
    for at, outcome in enumerate(done.outcomes):
        assert (outcome == "moved") == (memory.nodes.get(at * PAGE) == TO)


@given(fates, st.integers(0, 20))
def test_without_room_what_moved_is_told_and_nothing_is_tried_again(given_fates: list[Fate], room: int) -> None:
    memory = Memory(given_fates, room)
    done = move_batch(7, [at * PAGE for at in range(len(given_fates))], TO, memory, memory)

    for at, outcome in enumerate(done.outcomes):
        assert (outcome == "moved") == (memory.nodes.get(at * PAGE) == TO)
    assert memory.calls <= 16 + len(given_fates)


def test_pages_that_all_go_are_moved_by_one_call() -> None:
    memory = Memory(["free"] * 512)
    done = move_batch(7, [at * PAGE for at in range(512)], TO, memory, memory)
    assert (memory.calls, done.huge, set(done.outcomes)) == (1, 0, {"moved"})


def test_a_large_page_is_counted_once_and_its_pages_all_moved() -> None:
    memory = Memory(["large"] * 512)
    done = move_batch(7, [at * PAGE for at in range(512)], TO, memory, memory)
    assert (done.huge, set(done.outcomes)) == (1, {"moved"})


def test_pinned_pages_among_shared_ones_hold_nobody_up() -> None:
    memory = Memory(["pinned", "shared", "free", "pinned", "shared", "free", "free"])
    done = move_batch(7, [at * PAGE for at in range(7)], TO, memory, memory)
    assert done.outcomes == ["busy", "shared", "moved", "busy", "shared", "moved", "moved"]


class Refusing:
    """A kernel that refuses each call."""

    def __init__(self, error: int) -> None:
        self.error = error

    def move_pages(self, pid: int, addresses: Sequence[int], node: int) -> PageAnswer:
        """Says no."""
        del pid, node
        return PageAnswer(self.error, [UNTOLD] * len(addresses))


def test_a_process_without_memory_has_no_pages_any_more() -> None:
    memory = Memory(["free"] * 4)
    done = move_batch(7, [0, PAGE], TO, Refusing(errno.ESRCH), memory)
    assert (done.outcomes, done.error) == (["gone", "gone"], 0)


def test_a_refused_call_has_tried_nothing() -> None:
    memory = Memory(["free"] * 4)
    done = move_batch(7, [0, PAGE], TO, Refusing(errno.EPERM), memory)
    assert (done.outcomes, done.error) == (["untried", "untried"], errno.EPERM)


@dataclass
class Marking(Memory):
    """Whatever is asked for was marked just before, and whose frames may not be known."""

    def ask(self, addresses: Sequence[int]) -> list[int]:
        """No node is told."""
        return [HIDDEN if one in self.nodes else -errno.ENOENT for one in addresses]


@given(fates)
def test_a_page_that_is_marked_as_soon_as_it_moved_is_not_gone(given_fates: list[Fate]) -> None:
    memory = Marking(given_fates)
    done = move_batch(7, [at * PAGE for at in range(len(given_fates))], TO, memory, memory)

    for outcome, fate in zip(done.outcomes, given_fates, strict=True):
        assert (outcome == "gone") == (fate == "gone")
        assert outcome != "moved" or WANTED[fate] == "moved"
        assert outcome == "moved" or fate != "free"
