"""Every page of a process that is in memory, as runs of pages on one node: listed a few at a time, so that the process waits for none of it."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple, Protocol

from numascope.cpuset import CpuSet
from numascope.host import procfs
from numascope.host.hidden_pages import HiddenPages
from numascope.host.maps import AddressSpace, Region, read_maps
from numascope.host.page_entries import ALONE, SHARED, PageEntries
from numascope.host.page_nodes import MOST_PAGES, PageNodes
from numascope.host.pagemap import PAGE_BYTES, Found
from numascope.host.root import HostRoot
from numascope.observe.residence import Asker
from numascope.show.page_rows import Survey
from numascope.steer.page_places import HIDDEN, PagePlaces

COST_MS_PER_GIB: Final = (50, 150)
"""CPU time of a listing for each GiB in memory in pages of 4 KiB: 50 ms measured on Linux 6.18, more on slow or shared CPUs."""

_SPAN_BYTES: Final = 64 << 20
"""Without PAGEMAP_SCAN so much of `pagemap` is read at once; the kernel takes the lock for 2 MiB of addresses at a time."""

_PRESENT: Final = re.compile(rb"[\x01\x02]+")


class Entries(Protocol):
    """What PageEntries can do."""

    can_skip: bool

    def scan(self, start: int, end: int, most_pages: int = 0) -> Found:
        """Runs in memory, jumping over what is empty."""
        ...

    def states(self, start: int, end: int) -> bytes:
        """ABSENT, SHARED or ALONE for each page."""
        ...


class PageRun(NamedTuple):
    """Pages of one size side by side in memory on one node, or HIDDEN; `is_alone`: no other process maps them."""

    start: int
    pages: int
    page_bytes: int
    node: int
    is_alone: bool

    @property
    def base_pages(self) -> int:
        """Pages of the machine."""
        return self.pages * (self.page_bytes // PAGE_BYTES)

    def first(self, pages: int) -> PageRun:
        """Its first pages."""
        return self._replace(pages=pages)


class PageLister:
    """The address space of one process at the time when this was made; it is given back with `close`."""

    def __init__(self, root: HostRoot, pid: int) -> None:
        """DeniedError where this user may not read it, AbsentError where it is gone."""
        speaker = procfs.speaker_of(root, pid)
        self.tid = int(str(speaker).rpartition("/")[2])
        """A living thread of it, which answers for the process."""
        self._entries = PageEntries(root, speaker)
        self.asker = places_of(root, self.tid, self._entries)
        self.space = read_maps(root, speaker)

    def close(self) -> None:
        """Gives the descriptor back."""
        self._entries.close()

    def runs(self) -> Iterator[PageRun]:
        """All runs, by rising address; they are looked for as they are asked for. DeniedError, AbsentError."""
        return list_pages(self.space, self._entries, self.asker)


def places_of(root: HostRoot, tid: int, entries: PageEntries) -> PagePlaces:
    """Who is asked for the nodes of pages; `tid` is a living thread of the process whose `pagemap` that is."""
    asker = PageNodes(tid)
    return PagePlaces(asker, entries, HiddenPages(root, entries, asker))


def list_pages(space: AddressSpace, entries: Entries, asker: Asker) -> Iterator[PageRun]:
    """The runs of an address space; at most MOST_PAGES pages are asked for at once."""
    for region in space.regions:
        page_bytes = PAGE_BYTES if region.kind.page_kib is None else region.kind.page_kib << 10
        pieces = _huge(region, page_bytes, entries) if page_bytes > PAGE_BYTES else _small(region, entries)
        for batch in _batches(pieces, page_bytes):
            yield from _asked(batch, page_bytes, asker)


def list_again(runs: Iterable[PageRun], asker: Asker) -> Iterator[tuple[int, list[PageRun]]]:
    """A few at a time how many pages of the machine were asked for again, and those still there; none of the runs is to be longer than 64 MiB."""
    for page_bytes, same in groupby(runs, key=lambda one: one.page_bytes):
        pieces = ((run.start, bytes([ALONE if run.is_alone else SHARED]) * run.pages) for run in same)
        for batch in _batches(pieces, page_bytes):
            count = sum(len(states) for _, states in batch)
            yield count * (page_bytes // PAGE_BYTES), list(_asked(batch, page_bytes, asker))


def _asked(batch: Sequence[_Piece], page_bytes: int, asker: Asker) -> Iterator[PageRun]:
    addresses = [at for start, states in batch for at in range(start, start + len(states) * page_bytes, page_bytes)]
    nodes = asker.ask(addresses)
    done = 0
    for start, states in batch:
        yield from _runs(start, page_bytes, states, nodes[done : done + len(states)])
        done += len(states)


_Piece = tuple[int, bytes]
"""An address, and the state of each page from there on, all of which are in memory."""


def _small(region: Region, entries: Entries) -> Iterator[_Piece]:
    at = region.start
    while at < region.end:
        if entries.can_skip:
            found = entries.scan(at, region.end, MOST_PAGES)
            for start, end in found.runs:
                yield from _present(start, entries.states(start, end))
            until = found.until
        else:
            until = min(at + _SPAN_BYTES, region.end)
            yield from _present(at, entries.states(at, until))
        if until <= at:
            return
        at = until


def _present(start: int, states: bytes) -> Iterator[_Piece]:
    for one in _PRESENT.finditer(states):
        yield start + one.start() * PAGE_BYTES, one.group()


def _huge(region: Region, page_bytes: int, entries: Entries) -> Iterator[_Piece]:
    """Pages of hugetlbfs, each known by its first address: a region of them is whole pages."""
    for at in range(region.start, region.end - page_bytes + 1, page_bytes):
        state = entries.states(at, at + PAGE_BYTES)
        if state and state[0]:
            yield at, state


def _batches(pieces: Iterator[_Piece], page_bytes: int) -> Iterator[list[_Piece]]:
    batch: list[_Piece] = []
    count = 0
    for whole_start, whole in pieces:
        start, states = whole_start, whole
        while states:
            part = states[: MOST_PAGES - count]
            batch.append((start, part))
            count += len(part)
            start, states = start + len(part) * page_bytes, states[len(part) :]
            if count == MOST_PAGES:
                yield batch
                batch, count = [], 0
    if batch:
        yield batch


def _runs(start: int, page_bytes: int, states: bytes, nodes: list[int]) -> Iterator[PageRun]:
    """Pages whose node is negative are zero pages that nobody owns, or have gone, but for those that are HIDDEN."""
    if nodes.count(nodes[0]) == len(nodes) and states.count(states[:1]) == len(states):
        if nodes[0] >= 0 or nodes[0] == HIDDEN:
            yield PageRun(start, len(nodes), page_bytes, nodes[0], states[0] == ALONE)
        return
    at = start
    for (node, state), members in groupby(zip(nodes, states, strict=True)):
        count = sum(1 for _ in members)
        if node >= 0 or node == HIDDEN:
            yield PageRun(at, count, page_bytes, node, state == ALONE)
        at += count * page_bytes


def survey_pages(lister: PageLister, wanted: CpuSet, told: Callable[[int], None] = lambda _pages: None) -> Survey:
    """Counts all pages; `told` gets how many so far. DeniedError, AbsentError."""
    on: Counter[int] = Counter()
    to_move: Counter[int] = Counter()
    shared: Counter[int] = Counter()
    huge: Counter[int] = Counter()
    began_ns = time.thread_time_ns()
    began_by_frame = lister.asker.by_frame
    pages = untold = 0
    for run in lister.runs():
        pages += run.base_pages
        told(pages)
        if run.node == HIDDEN:
            untold += run.base_pages
            continue
        on[run.node] += run.base_pages
        if run.node not in wanted:
            (to_move if run.is_alone else shared)[run.node] += run.base_pages
            if run.is_alone and run.page_bytes > PAGE_BYTES:
                huge[run.page_bytes >> 10] += run.pages
    cost_ns = time.thread_time_ns() - began_ns
    watched = lister.asker.by_frame - began_by_frame
    return Survey(on, to_move, shared, huge, cost_ns, lister.space.is_cut, untold, watched)
