"""Pages that NUMA balancing watches are there, whether or not it can be told where."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from numascope.host.maps import ANONYMOUS, AddressSpace, Region
from numascope.host.page_entries import ABSENT, ALONE, SHARED
from numascope.host.pagemap import PAGE_BYTES, Found
from numascope.host.root import HostRoot
from numascope.steer.page_carry import PageHand, try_again
from numascope.steer.page_places import HIDDEN, LEAST_TRIES, RETRY_AFTER_S, PagePlaces
from numascope.steer.pages import PageRun, list_again, list_pages

NOT_FOUND, ZEROS = -errno.ENOENT, -errno.EFAULT


@dataclass
class Memory:
    """Pages by number: what the kernel answers, the state in `pagemap`, and the node of the frame (None: not told)."""

    answers: Sequence[int]
    kinds: Sequence[int]
    frames: Sequence[int | None] = ()
    can_skip: bool = False
    asked_frames: list[int] = field(default_factory=list)

    def ask(self, addresses: Sequence[int]) -> list[int]:
        """As the kernel."""
        return [self.answers[at // PAGE_BYTES] for at in addresses]

    def scan(self, start: int, end: int, most_pages: int = 0) -> Found:
        """This kernel has none."""
        raise NotImplementedError

    def states(self, start: int, end: int) -> bytes:
        """Of pages side by side."""
        return bytes(self.kinds[start // PAGE_BYTES : end // PAGE_BYTES])

    def states_of(self, addresses: Sequence[int]) -> bytes:
        """Of single pages."""
        return bytes(self.kinds[at // PAGE_BYTES] for at in addresses)

    def places(self) -> PagePlaces:
        """What is tested."""
        return PagePlaces(self, self, _Frames(self))

    def space(self) -> AddressSpace:
        """All of it in one region."""
        return AddressSpace((Region(0, len(self.kinds) * PAGE_BYTES, ANONYMOUS),), 0, is_cut=False)


@dataclass
class _Frames:
    memory: Memory

    def ask(self, addresses: Sequence[int]) -> list[int]:
        numbers = [at // PAGE_BYTES for at in addresses]
        self.memory.asked_frames += numbers
        frames = [self.memory.frames[one] if self.memory.frames else None for one in numbers]
        return [self.memory.answers[one] if node is None else node for one, node in zip(numbers, frames, strict=True)]


def addresses(count: int) -> list[int]:
    return [at * PAGE_BYTES for at in range(count)]


def test_a_watched_page_is_found_by_its_frame_or_else_hidden() -> None:
    answers, kinds = [0, NOT_FOUND, NOT_FOUND, ZEROS], [ALONE, ALONE, SHARED, ALONE]
    told = Memory(answers, kinds, [None, 1, 2, 3]).places()
    assert told.ask(addresses(4)) == [0, 1, 2, 3]
    assert told.by_frame == 3
    assert told.seen().ask(addresses(4)) == [0, HIDDEN, HIDDEN, HIDDEN]
    untold = Memory(answers, kinds).places()
    assert untold.ask(addresses(4)) == [0, HIDDEN, HIDDEN, HIDDEN]
    assert untold.by_frame == 0


def test_what_is_not_in_memory_and_the_page_of_zeros_are_not_looked_for() -> None:
    memory = Memory([NOT_FOUND, ZEROS, ZEROS], [ABSENT, ABSENT, SHARED], [1, 1, 1])
    assert memory.places().ask(addresses(3)) == [NOT_FOUND, ZEROS, ZEROS]
    assert memory.asked_frames == []


def test_pages_that_do_not_say_where_they_lie_are_listed_as_such() -> None:
    memory = Memory([0, 0, NOT_FOUND, NOT_FOUND, ZEROS, 1], [ALONE, ALONE, ALONE, ALONE, SHARED, SHARED])
    assert list(list_pages(memory.space(), memory, memory.places())) == [
        PageRun(0, 2, PAGE_BYTES, 0, is_alone=True),
        PageRun(2 * PAGE_BYTES, 2, PAGE_BYTES, HIDDEN, is_alone=True),
        PageRun(5 * PAGE_BYTES, 1, PAGE_BYTES, 1, is_alone=False),
    ]


def test_listed_again_a_page_is_where_it_is_by_now_and_what_is_gone_is_missing() -> None:
    hidden = [PageRun(at * PAGE_BYTES, 2, PAGE_BYTES, HIDDEN, is_alone=True) for at in (0, 4)]
    memory = Memory([1, 1, 7, 7, NOT_FOUND, NOT_FOUND], [ALONE] * 5 + [ABSENT])
    assert list(list_again(hidden, memory.places())) == [
        (4, [
            PageRun(0, 2, PAGE_BYTES, 1, is_alone=True),
            PageRun(4 * PAGE_BYTES, 1, PAGE_BYTES, HIDDEN, is_alone=True),
        ]),
    ]  # fmt: skip


@dataclass
class Tries:
    """Pages of which each try moves some."""

    left: int
    each: int
    waits: list[float] = field(default_factory=list)
    moved: int = 0

    def hand(self, stops: Callable[[], bool] = lambda: False) -> PageHand:
        """It does not wait."""

        def pause(for_s: float) -> bool:
            self.waits.append(for_s)
            return stops()

        return PageHand(HostRoot(), 1.0, pause=pause)

    def once(self) -> None:
        """A try."""
        some = min(self.each, self.left)
        self.left, self.moved = self.left - some, self.moved + some


@pytest.mark.parametrize(
    ("left", "each", "tries"), [(0, 1, 0), (3, 2, 2), (9, 0, LEAST_TRIES), (99, 1, len(RETRY_AFTER_S))]
)
def test_it_is_tried_again_until_nothing_is_left_or_it_leads_nowhere(left: int, each: int, tries: int) -> None:
    one = Tries(left, each)
    assert try_again(one.hand(), lambda: one.left > 0, one.once, lambda: one.moved) is None
    assert one.waits == list(RETRY_AFTER_S[:tries])


def test_who_is_to_stop_does_not_try_again() -> None:
    one = Tries(5, 1)
    early = try_again(one.hand(lambda: True), lambda: one.left > 0, one.once, lambda: one.moved)
    assert early == ("interrupted", "stopped between two batches")
    assert one.left == 5
