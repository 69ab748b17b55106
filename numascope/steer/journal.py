"""The journal: an entry is written before what it undoes is done, and read back as what every thread had and was given."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from msgspec import structs

from numascope.cpuset import CpuSet
from numascope.errors import InputError
from numascope.host.here import Here, boot_ticks
from numascope.review.change import Outcome, Thread
from numascope.steer.fields import MOST_TEXT
from numascope.steer.page_entry import MovedPages, fold_pages
from numascope.steer.page_records import Pages, PagesBack, PagesDone
from numascope.steer.records import (
    SCHEMA,
    Damage,
    Done,
    Header,
    Intent,
    Kind,
    Record,
    decode,
    encode,
    from_hex,
    hex_mask,
    printable,
)
from numascope.steer.store import Store
from numascope.steer.syscalls import Disk, LinuxDisk

FULL_BYTES: Final = 40 << 20
"""Entries are read whole, up to 64 MiB, and results take half as much as undo records: none grows so far that it could not be read back."""

_DONE: Final[frozenset[Outcome | None]] = frozenset({None, "set", "trimmed"})
"""After these a thread has, or after a crash may have, what was written."""

BACK: Final[frozenset[Outcome | None]] = frozenset({"set", "already", "trimmed", "gone"})
"""Outcomes of a revert after which a thread needs no other."""


class Source(NamedTuple):
    """What an entry is made for: the plan (path and hash), and the job as screens name it."""

    plan: str | None
    plan_sha256: str | None
    title: str


class OpenEntry:
    """An entry being written; its file is made with the first intents, so that an apply that finds nothing leaves nothing."""

    def __init__(
        self, store: Store, kind: Kind, source: Source, *, reverts: int | None = None, disk: Disk | None = None,
        full_bytes: int = FULL_BYTES, lives: Callable[[int, int], bool] = lambda _pid, _starttime: True,
    ) -> None:  # fmt: skip
        self._store = store
        self._kind: Kind = kind
        self._source = source
        self._reverts = reverts
        self._disk = disk if disk is not None else LinuxDisk()
        self._full_bytes = full_bytes
        self._lives = lives
        self._first: dict[Thread, Recorded] = {}
        """What earlier entries of a long hold say of threads of living processes."""
        self._descriptor = -1
        self._size = 0
        self.number: int | None = None
        """The entry's id; None as long as nothing is written."""
        self.earlier: list[int] = []
        """Entries that a long hold has filled before this one."""
        self.began_ticks: int | None = None
        self._is_settled = False
        """Whether the file's name is on the disk and the clock tick of its header is over."""

    def close(self) -> None:
        """Gives the descriptor back."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def intend(self, intents: Sequence[Intent] | Sequence[Pages]) -> None:
        """Puts undo records on the disk, file and directory; on InputError nothing of them is left, and nothing may be changed."""
        if not intents:
            return
        if self._size > self._full_bytes:
            self._turn_over()
        records: list[Record] = [self._from_the_first(one) if isinstance(one, Intent) else one for one in intents]
        is_new = self.number is None
        if is_new:
            records.insert(0, self._create())
        try:
            self._append(encode(records))
            self._disk.sync(self._descriptor)
            if not self._is_settled:
                self._disk.sync(self._store.directory)
        except OSError as error:
            self._undo_append(is_new=is_new)
            problem = (error.strerror or "cannot be written").lower()
            raise InputError(
                self._store.path, f"{problem}: no undo record can be written, nothing is changed"
            ) from error
        self._size = os.fstat(self._descriptor).st_size
        if not self._is_settled:
            self._is_settled = True
            self._pass_tick()

    def record(self, results: Sequence[Done | PagesDone | PagesBack]) -> str | None:
        """Notes what became of the intents, or of threads that need none; tells in words where that could not be written."""
        if self.number is None or not results:
            return None
        try:
            self._append(encode(list(results)))
        except OSError as error:
            self._undo_append(is_new=False)
            problem = (error.strerror or "cannot be written").lower()
            return f"{self._store.entry_path(self.number)}: {problem}; results are not kept, revert works without them"
        self._size = os.fstat(self._descriptor).st_size
        return None

    def begin(self) -> None:
        """Makes the entry's file with its header alone, for an entry that may have results without intents."""
        if self.number is None:
            header = self._create()
            try:
                self._append(encode([header]))
            except OSError as error:
                self._undo_append(is_new=True)
                problem = (error.strerror or "cannot be written").lower()
                raise InputError(self._store.path, f"{problem}: nothing is changed") from error
            self._size = os.fstat(self._descriptor).st_size

    def _turn_over(self) -> None:
        """A hold of many days goes on in a new entry; of anything else so much was never shown."""
        assert self.number is not None  # noqa: S101  (an empty entry is not full)
        if self._kind != "hold":
            raise InputError(
                self._store.entry_path(self.number), "is full: nothing more is changed under it, start anew"
            )
        path = self._store.entry_path(self.number)
        entry, _ = parse_entry(self._store.read(self.number), path)
        done = [one for one in (() if entry is None else entry.changes) if one.was_done]
        self._first = {one.thread: one for one in [*done, *self._first.values()] if self._lives(*one.process)}
        self.close()
        self.earlier.append(self.number)
        self.number, self._size, self._is_settled = None, 0, False

    def _from_the_first(self, intent: Intent) -> Intent:
        """With the set that the thread had before this hold first set it, which is what a revert of the newest entry gives back."""
        first = self._first.get(Thread(intent.pid, intent.tid, intent.starttime))
        if first is None:
            return intent
        return structs.replace(intent, before=hex_mask(first.before), before_was_cpuset=first.before_was_cpuset)

    def _create(self) -> Header:
        self.number, self._descriptor = self._store.create()
        self.began_ticks = boot_ticks()
        here: Here = self._store.here
        plan, sha256, title = self._source
        plan, title = None if plan is None else plan[:MOST_TEXT], title[:MOST_TEXT]
        return Header(
            SCHEMA, self.number, self._kind, time.time(), self.began_ticks, here.host, here.uid, here.boot_id,
            here.pid_namespace, here.time_namespace, plan, sha256, title, self._reverts,
        )  # fmt: skip

    def _append(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._disk.append(self._descriptor, view.tobytes()) :]

    def _undo_append(self, *, is_new: bool) -> None:
        """Takes a part of a line back, or the whole file where it holds nothing else."""
        if is_new and self.number is not None:
            self._store.forget(self.number)
            self.close()
            self.number = None
            return
        with contextlib.suppress(OSError):
            os.ftruncate(self._descriptor, self._size)

    def _pass_tick(self) -> None:
        """Waits, at most 10 ms, until threads born after the first change start in a later clock tick than the record names."""
        while self.began_ticks is not None and boot_ticks() <= self.began_ticks:
            time.sleep(0.001)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What an entry says of one thread: the set that it had at first, and the last one that it was given."""

    thread: Thread
    process_starttime: int
    comm: str
    label: str
    rank: str
    role: str
    before: CpuSet
    before_was_cpuset: bool
    after: CpuSet
    outcome: Outcome | None
    """None where the writer was killed before it noted a result."""
    read_back: CpuSet | None
    why: str
    reverted_by: int | None = None
    revert_outcome: Outcome | None = None
    set_again_by: int | None = None
    """A later entry that set this thread too and is still in force."""

    @property
    def process(self) -> tuple[int, int]:
        """Pid and start of its process."""
        return self.thread.pid, self.process_starttime

    @property
    def was_done(self) -> bool:
        """Whether the thread has, or may have, what was written."""
        return self.outcome in _DONE

    @property
    def is_open(self) -> bool:
        """Whether there is something to put back."""
        return self.was_done and self.revert_outcome not in BACK


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry as read; `results` are those of threads without an undo record (found in place, gone, raced)."""

    header: Header
    path: str
    changes: tuple[Recorded, ...]
    results: tuple[Done, ...]
    damages: tuple[Damage, ...]
    pages: tuple[MovedPages, ...] = ()
    backs: tuple[PagesBack, ...] = ()
    """In the revert of a move."""

    def processes(self) -> set[tuple[int, int]]:
        """Pid and start of each process of which it changed something."""
        return {one.process for one in self.changes} | {one.process for one in self.pages}


def parse_entry(data: bytes, path: str) -> tuple[Entry | None, list[Damage]]:
    """An entry and what in its file cannot be used; None where its header is, since then no pid in it can be trusted."""
    records, damages = decode(data, path)
    if not records or not isinstance(records[0], Header):
        return None, damages
    intents: dict[Thread, list[tuple[Intent, Done | None]]] = {}
    others: list[Done] = []
    for record in records[1:]:
        if not isinstance(record, Intent | Done):
            continue
        thread = Thread(record.pid, record.tid, record.starttime)
        if isinstance(record, Intent):
            intents.setdefault(thread, []).append((record, None))
        elif thread in intents and intents[thread][-1][1] is None:
            intents[thread][-1] = (intents[thread][-1][0], record)
        else:
            others.append(record)
    changes = tuple(_fold(thread, pairs) for thread, pairs in intents.items())
    backs = tuple(one for one in records if isinstance(one, PagesBack))
    return Entry(records[0], path, changes, tuple(others), tuple(damages), fold_pages(records), backs), damages


def _fold(thread: Thread, pairs: list[tuple[Intent, Done | None]]) -> Recorded:
    """The first set that was replaced and the last that replaced it; attempts that changed nothing stand only where no other does."""
    done = [pair for pair in pairs if pair[1] is None or pair[1].result in _DONE] or pairs[-1:]
    first, (last, result) = done[0][0], done[-1]
    read_back = None if result is None or result.read_back is None else from_hex(result.read_back)
    return Recorded(
        thread=thread,
        process_starttime=first.process_starttime,
        comm=printable(last.comm),
        label=printable(last.label),
        rank=printable(last.rank),
        role=printable(last.role),
        before=from_hex(first.before),
        before_was_cpuset=first.before_was_cpuset,
        after=from_hex(last.after),
        outcome=None if result is None else result.result,
        read_back=read_back,
        why="" if result is None else printable(result.why),
    )
