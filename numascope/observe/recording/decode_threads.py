"""What stands for the thread columns in a frame to the columns: typed, bounded, and what did not change stays the same object. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, TypeVar

from numascope.cpuset import LARGEST_ID, CpuSet
from numascope.host.parse_sched import SchedCounters, Scheduling
from numascope.observe.recording import wire
from numascope.observe.recording.columns import advanced, rows_of, spliced
from numascope.observe.recording.encode_threads import spread
from numascope.observe.recording.format import DamagedError, printable
from numascope.observe.sample import ThreadKey, Threads

_MOST_SETS: Final = 1 << 12
_MOST_NUMBER: Final = 1 << 64
_PRIORITY: Final = re.compile(r"-?[0-9]{1,6}")

T = TypeVar("T")


class Sets:
    """Sets of CPUs by their hexadecimal form; equal ones are one object."""

    def __init__(self) -> None:
        self._known: dict[str, CpuSet] = {}

    def of(self, mask: str) -> CpuSet:
        """The set that a mask stands for."""
        found = self._known.get(mask)
        if found is None:
            if len(self._known) >= _MOST_SETS:
                self._known.clear()
            found = self._known[mask] = CpuSet(int(mask, 16))
        return found


class ThreadDecoder:
    """Reads the thread columns of one recording's frames; ValueError or IndexError at those that are damaged."""

    def __init__(self, sets: Sets) -> None:
        self._sets = sets

    def whole(self, rows: wire.Rows, number: int) -> Threads:
        """The columns of whole rows."""
        pids, tids, starts = (list(accumulate(one)) for one in (rows.pids, rows.tids, rows.starts))
        if min((*pids, *tids, *starts), default=0) < 0:
            raise DamagedError("a thread has a negative number")
        keys = tuple(map(ThreadKey, pids, tids, starts, rows.epochs))
        texts = [printable(text) for text in rows.texts]
        sets = [self._sets.of(mask) for mask in rows.masks]
        seen = [number - ago for ago in rows.seen]
        check(seen)
        threads = Threads(
            keys=keys,
            comms=tuple([texts[one] for one in rows.comms]),
            states=tuple([texts[one] for one in rows.states]),
            cpus=tuple(rows.cpus),
            allowed=tuple([None if one is None else sets[one] for one in rows.allowed]),
            run_ns=tuple(rows.run_ns),
            wait_ns=tuple(rows.wait_ns),
            slices=tuple(rows.slices),
            migrations=tuple(rows.migrations),
            scheduling=_scheduling([rows.texts[one] for one in rows.scheduling]),
            counters=_gathered(rows.counters, rows.slices),
            seen=tuple(seen),
            row_of={key: at for at, key in enumerate(keys)},
        )
        given = (rows.pids, rows.tids, rows.starts, rows.epochs)
        columns = [getattr(threads, name) for name in _COLUMNS]
        if {len(one) for one in (*given, *columns)} != {len(keys)}:
            raise DamagedError("its columns are of different lengths")
        return threads

    def changed(self, old: Threads, changes: wire.RowChanges, number: int) -> Threads:
        """The columns after these changes."""
        gone = rows_of(changes.gone, len(old.keys))
        born = None if changes.born is None else self.whole(changes.born, number)
        count = len(old.keys) - len(gone) + (0 if born is None else len(born.keys))
        if count > wire.MOST_THREADS:
            raise DamagedError(f"it has {count} threads")
        at = rows_of(changes.born_at, count)
        if len(at) != (0 if born is None else len(born.keys)):
            raise DamagedError("it has rows that are not said")

        def base(name: str) -> Sequence[object]:
            return spliced(getattr(old, name), gone, at, () if born is None else getattr(born, name))

        columns: dict[str, tuple[object, ...]] = {name: tuple(base(name)) for name in _COLUMNS}
        slices = columns["slices"]
        for name in _COUNTERS:
            columns[name] = _with_counts(columns[name], getattr(changes, name), _MOST_OF.get(name, _MOST_NUMBER))
        columns["seen"] = _with_seen(columns["seen"], changes.seen, number)
        columns["comms"] = _with_texts(columns["comms"], changes.comms)
        columns["states"] = _with_texts(columns["states"], changes.states)
        if changes.scheduling is not None:
            policies = _scheduling(changes.scheduling.texts)
            columns["scheduling"] = _with(columns["scheduling"], changes.scheduling.gaps, policies)
        if changes.counters is not None:
            columns["counters"] = _with_spread(columns["counters"], slices, columns["slices"], changes.counters)
        if changes.allowed is not None:
            sets = [self._sets.of(mask) for mask in changes.allowed.masks]
            found = [None if one is None else sets[one] for one in changes.allowed.allowed]
            columns["allowed"] = _with(columns["allowed"], changes.allowed.gaps, found)
        keys = tuple(base("keys")) if gone or at else old.keys
        row_of = {key: row for row, key in enumerate(keys)} if gone or at else old.row_of
        return Threads(keys=keys, row_of=row_of, **columns)  # type: ignore[arg-type]  # columns go by name


_COUNTERS: Final = ("cpus", "run_ns", "wait_ns", "slices", "migrations")
_COLUMNS: Final = (*_COUNTERS, "comms", "states", "allowed", "scheduling", "counters", "seen")
_MOST_OF: Final = {"cpus": LARGEST_ID + 1}


def check(numbers: Sequence[int | None], most: int = _MOST_NUMBER) -> None:
    """DamagedError where one of the numbers is below 0, or `most` or more."""
    if any(one is not None and not 0 <= one < most for one in numbers):
        raise DamagedError("a number is out of its range")


def _with(column: tuple[object, ...], gaps: Sequence[int], values: Sequence[object]) -> tuple[object, ...]:
    """The column with these values in the rows that the gaps stand for."""
    changed = list(column)
    for row, value in zip(rows_of(gaps, len(column)), values, strict=True):
        changed[row] = value
    return tuple(changed)


def _with_counts(column: tuple[object, ...], changes: wire.Counted | None, most: int) -> tuple[object, ...]:
    if changes is None:
        return column
    old: list[int | None] = [column[row] for row in rows_of(changes.gaps, len(column))]  # type: ignore[misc]  # counters
    new = advanced(old, changes.moves)
    check(new, most)
    return _with(column, changes.gaps, new)


def _with_seen(column: tuple[object, ...], changes: wire.Counted | None, number: int) -> tuple[object, ...]:
    if changes is None:
        return column
    seen = advanced([number] * len(changes.moves), changes.moves)
    check(seen)
    if None in seen:
        raise DamagedError("a row was never seen")
    return _with(column, changes.gaps, seen)


def _with_texts(column: tuple[object, ...], changes: wire.Renamed | None) -> tuple[object, ...]:
    return column if changes is None else _with(column, changes.gaps, [printable(text) for text in changes.texts])


def _scheduling(texts: Sequence[str]) -> tuple[Scheduling, ...]:
    """Policy, real-time priority and nice value out of each text; equal ones are one object."""
    known: dict[str, Scheduling] = {}
    for text in set(texts):
        parts = printable(text).rsplit(" ", 2)
        if len(parts) != 3 or not _PRIORITY.fullmatch(parts[1]) or not _PRIORITY.fullmatch(parts[2]):
            raise DamagedError("a thread has no scheduling policy")
        known[text] = Scheduling(parts[0], int(parts[1]), int(parts[2]))
    return tuple([known[text] for text in texts])


def _gathered(columns: Sequence[Sequence[int | None]], slices: Sequence[int | None]) -> tuple[SchedCounters, ...]:
    """The counters of each row out of their five lists and its slices; undoes `spread`."""
    left, involuntary, faults, pages, nodes = columns
    voluntary = [
        None if rest is None else ((count or 0) - (forced or 0) - rest) % _MOST_NUMBER
        for rest, count, forced in zip(left, slices, involuntary, strict=True)
    ]
    for column in (voluntary, involuntary, faults, pages, nodes):
        check(column)
    preferred = [None if node is None else node - 1 for node in nodes]
    return tuple(map(SchedCounters, voluntary, involuntary, faults, pages, preferred))


def _with_spread(
    column: tuple[object, ...], before: tuple[object, ...], after: tuple[object, ...], changes: wire.Spread
) -> tuple[object, ...]:
    """`before` and `after` are the slices of all rows."""
    rows = rows_of(changes.gaps, len(column))
    old: list[SchedCounters] = [column[row] for row in rows]  # type: ignore[misc]  # columns go by name
    was: list[int | None] = [before[row] for row in rows]  # type: ignore[misc]
    now: list[int | None] = [after[row] for row in rows]  # type: ignore[misc]
    lists = [advanced(then, moves) for then, moves in zip(spread(old, was), changes.moves, strict=True)]
    return _with(column, changes.gaps, _gathered(lists, now))


def kept(old: T | None, new: T) -> T:
    """An equal value is the old object."""
    return old if old is not None and old == new else new


def kept_threads(old: Threads, new: Threads) -> Threads:
    """The new columns, each as the old object where it is equal."""
    same = old.keys == new.keys
    columns = {name: kept(getattr(old, name), getattr(new, name)) for name in _COLUMNS}
    return Threads(keys=old.keys if same else new.keys, row_of=old.row_of if same else new.row_of, **columns)
