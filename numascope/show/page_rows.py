"""What is said of pages that are to be moved, are being moved, or were: values that the hand fills and screens show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from numascope.cpuset import CpuSet
from numascope.host.pagemap import PAGE_BYTES

PageOutcome = Literal["moved", "already", "elsewhere", "shared", "busy", "watched", "gone", "no-room", "untried"]
"""`already` on a wanted node; `elsewhere` no longer where we moved it to; `shared` with other processes; `busy` or pinned; `watched` by NUMA
balancing, so that the kernel does not find it; `gone` unmapped or
not in memory any more; `no-room` on the node that it was to go to; `untried` since the move ended before its turn came."""

OUTCOMES: Final[tuple[PageOutcome, ...]] = (
    "moved", "already", "elsewhere", "shared", "busy", "watched", "gone", "no-room", "untried",
)  # fmt: skip

Ending = Literal["done", "no-room", "interrupted", "gone", "raced", "refused"]
"""How the move of a process ended: `gone` the process did, `raced` it runs another program now, `refused` by the kernel or the journal."""


class PageOwner(NamedTuple):
    """Whose pages they are: pid, start (clock ticks since boot) and stack, by which it is known again, and its name on screens."""

    pid: int
    starttime_ticks: int
    start_stack: int
    """Where its stack begins, which each exec draws anew; 0 where that is not known."""
    comm: str
    rank: str
    """`rank 5 d5`; empty where it is no rank."""

    @property
    def name(self) -> str:
        """`python 41200 (rank 5 d5)`."""
        return f"{self.comm} {self.pid}" + (f" ({self.rank})" if self.rank else "")


class Survey(NamedTuple):
    """All pages of a process in memory, in pages of the machine (a huge page counts as those that it is made of)."""

    on: Mapping[int, int]
    """Node → pages there."""
    to_move: Mapping[int, int]
    """Node that is not wanted → pages there that this process alone maps."""
    shared: Mapping[int, int]
    """Node that is not wanted → pages there that others map too; they stay."""
    huge: Mapping[int, int]
    """Size in KiB of huge pages of hugetlbfs → how many of them are to be moved."""
    cost_ns: int
    """CPU time of the listing."""
    is_cut: bool = False
    """There are more mappings than are read."""
    untold: int = 0
    """Pages in memory that do not say where they lie, since NUMA balancing watches them; they are on no node here, and stay."""
    watched: int = 0
    """Pages among the others of which only their frames told: the kernel moves them once the process has touched them."""

    @property
    def pages_to_move(self) -> int:
        """Pages that the process alone maps on nodes that are not wanted."""
        return sum(self.to_move.values())

    @property
    def pages(self) -> int:
        """All pages in memory."""
        return sum(self.on.values()) + self.untold


@dataclass(frozen=True, slots=True)
class MovePreview:
    """What would be moved of a process, where to, and whether there is room."""

    owner: PageOwner
    nodes: CpuSet
    """The wanted nodes."""
    source: str
    """Why these: what the plan says, or --to."""
    policy: str | None
    survey: Survey
    room_kib: Mapping[int, int]
    """Wanted node → free memory above its watermarks, with `push_out` also clean page cache; a node that the kernel says nothing of is not in it."""
    cache_kib: int
    """Page cache on the wanted nodes."""
    free_huge: Mapping[int, int]
    """Size in KiB of huge pages → how many are free on the wanted nodes."""
    push_out: bool = False
    """Whether page cache may be dropped for the move."""


@dataclass(frozen=True, slots=True)
class MoveResult:
    """What became of the pages of a process."""

    owner: PageOwner
    ending: Ending
    counts: Mapping[PageOutcome, int]
    """Outcome → pages."""
    huge: int
    """Large pages among the moved that went as a whole."""
    took_s: float
    why: str = ""

    def of(self, outcome: PageOutcome) -> int:
        """How many pages had this outcome."""
        return self.counts.get(outcome, 0)


class PagesRow(NamedTuple):
    """What an entry of the journal says of the pages of one process."""

    owner: PageOwner
    moves: Mapping[tuple[int, int], int]
    """(from node, to node) → pages that were to be moved."""
    counts: Mapping[PageOutcome, int]
    reverted_by: int | None
    left: int
    """Pages that no revert has put back so far, as far as the journal knows."""


def mib_of(pages: int) -> float:
    """Pages as MiB."""
    return pages * PAGE_BYTES / (1 << 20)
