"""Bytes to frames: typed, bounded, and what did not change between two frames stays the very same object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final, TypeVar

import msgspec

from numascope.cpuset import LARGEST_ID, CpuSet
from numascope.observe.recording import wire
from numascope.observe.recording.columns import advanced, rows_of, spliced
from numascope.observe.recording.format import DamagedError, printable
from numascope.observe.sample import CpuTicks, NodeCounters, ProcessFacts, Sample, ThreadKey, Threads
from numascope.observe.strangers import Stranger

_KEY: Final = msgspec.msgpack.Decoder(wire.Key)
_DELTA: Final = msgspec.msgpack.Decoder(wire.Delta)
_MOST_SETS: Final = 1 << 12
_MOST_NUMBER: Final = 1 << 64

_Seen = tuple[Sample, tuple[Stranger, ...]]
T = TypeVar("T")


class FrameDecoder:
    """Reads the frames of one recording in their order; ValueError, IndexError or msgspec.MsgspecError at one that is damaged."""

    def __init__(self) -> None:
        self._last: _Seen | None = None
        self._sets: dict[str, CpuSet] = {}

    def key(self, payload: bytes) -> _Seen:
        """The frame of a keyframe."""
        key = _KEY.decode(payload)
        threads = self._threads(key.rows, key.moment.number)
        facts: Mapping[int, ProcessFacts] = self._facts(key.facts)
        cpus, nodes = _of_cpus(_counted({}, key.cpus)), _of_nodes(_counted({}, key.nodes))
        if self._last is not None:
            old = self._last[0]
            threads = _kept_threads(old.threads, threads)
            facts = _kept(old.processes, {pid: _kept(old.processes.get(pid), one) for pid, one in facts.items()})
            cpus, nodes = _kept(old.cpu_ticks, cpus), _kept(old.nodes, nodes)
        self._last = _sample(key.moment, None, threads, facts, cpus, nodes), _strangers(key.strangers)
        return self._last

    def delta(self, payload: bytes) -> _Seen:
        """The frame of a delta."""
        if self._last is None:
            raise DamagedError("what changed stands before any keyframe")
        delta = _DELTA.decode(payload)
        old, strangers = self._last
        threads, facts, cpus, nodes = old.threads, old.processes, old.cpu_ticks, old.nodes
        if delta.rows is not None:
            threads = self._changed_threads(threads, delta.rows, delta.moment.number)
        if delta.facts is not None:
            facts = self._changed_facts(facts, delta.facts)
        if delta.cpus is not None:
            before = {cpu: (one.busy, one.total) for cpu, one in cpus.items()}
            cpus = _of_cpus(_counted(before, delta.cpus))
        if delta.nodes is not None:
            was = {at: (one.free_kib, one.hit, one.miss, one.foreign, one.other_node) for at, one in nodes.items()}
            nodes = _of_nodes(_counted(was, delta.nodes))
        if delta.strangers is not None:
            strangers = _strangers(delta.strangers)
        self._last = _sample(delta.moment, old, threads, facts, cpus, nodes), strangers
        return self._last

    def _set(self, mask: str) -> CpuSet:
        found = self._sets.get(mask)
        if found is None:
            if len(self._sets) >= _MOST_SETS:
                self._sets.clear()
            found = self._sets[mask] = CpuSet(int(mask, 16))
        return found

    # Threads

    def _threads(self, rows: wire.Rows, number: int) -> Threads:
        pids, tids, starts = (list(accumulate(one)) for one in (rows.pids, rows.tids, rows.starts))
        if min((*pids, *tids, *starts), default=0) < 0:
            raise DamagedError("a thread has a negative number")
        keys = tuple(map(ThreadKey, pids, tids, starts, rows.epochs))
        texts = [printable(text) for text in rows.texts]
        sets = [self._set(mask) for mask in rows.masks]
        seen = [number - ago for ago in rows.seen]
        _check(seen)
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
            seen=tuple(seen),
            row_of={key: at for at, key in enumerate(keys)},
        )
        given = (rows.pids, rows.tids, rows.starts, rows.epochs)
        columns = [getattr(threads, name) for name in _COLUMNS]
        if {len(one) for one in (*given, *columns)} != {len(keys)}:
            raise DamagedError("its columns are of different lengths")
        return threads

    def _changed_threads(self, old: Threads, changes: wire.RowChanges, number: int) -> Threads:
        gone = rows_of(changes.gone, len(old.keys))
        born = None if changes.born is None else self._threads(changes.born, number)
        count = len(old.keys) - len(gone) + (0 if born is None else len(born.keys))
        if count > wire.MOST_THREADS:
            raise DamagedError(f"it has {count} threads")
        at = rows_of(changes.born_at, count)
        if len(at) != (0 if born is None else len(born.keys)):
            raise DamagedError("it has rows that are not said")

        def base(name: str) -> Sequence[object]:
            return spliced(getattr(old, name), gone, at, () if born is None else getattr(born, name))

        columns: dict[str, tuple[object, ...]] = {name: tuple(base(name)) for name in _COLUMNS}
        for name in _COUNTERS:
            columns[name] = _with_counts(columns[name], getattr(changes, name), _MOST_OF.get(name, _MOST_NUMBER))
        columns["seen"] = _with_seen(columns["seen"], changes.seen, number)
        columns["comms"] = _with_texts(columns["comms"], changes.comms)
        columns["states"] = _with_texts(columns["states"], changes.states)
        if changes.allowed is not None:
            sets = [self._set(mask) for mask in changes.allowed.masks]
            found = [None if one is None else sets[one] for one in changes.allowed.allowed]
            columns["allowed"] = _with(columns["allowed"], changes.allowed.gaps, found)
        keys = tuple(base("keys")) if gone or at else old.keys
        row_of = {key: row for row, key in enumerate(keys)} if gone or at else old.row_of
        return Threads(keys=keys, row_of=row_of, **columns)  # type: ignore[arg-type]  # columns go by name

    # Processes

    def _facts(self, found: Sequence[wire.Facts]) -> dict[int, ProcessFacts]:
        return {
            one.pid: ProcessFacts(
                pid=one.pid,
                ppid=one.ppid,
                starttime_ticks=one.starttime_ticks,
                sid=one.sid,
                comm=printable(one.comm),
                cmdline=tuple(map(printable, one.cmdline)),
                environ=None
                if one.environ is None
                else {printable(name): printable(value) for name, value in one.environ.items()},
                uid=one.uid,
                threads=one.threads,
                cpuset=None if one.cpuset is None else self._set(one.cpuset),
                policy=None if one.policy is None else printable(one.policy),
                policy_denied=one.policy_denied,
                started_s=one.started_s,
                libraries=tuple(map(printable, one.libraries)),
                start_stack=one.start_stack,
            )
            for one in found
        }

    def _changed_facts(self, old: Mapping[int, ProcessFacts], changes: wire.FactChanges) -> Mapping[int, ProcessFacts]:
        gone = set(changes.gone)
        facts = {pid: one for pid, one in old.items() if pid not in gone} | self._facts(changes.changed)
        if len(facts) > wire.MOST_PROCESSES:
            raise DamagedError(f"it has {len(facts)} processes")
        return dict(sorted(facts.items()))


_COUNTERS: Final = ("cpus", "run_ns", "wait_ns", "slices", "migrations")
_COLUMNS: Final = (*_COUNTERS, "comms", "states", "allowed", "seen")
_MOST_OF: Final = {"cpus": LARGEST_ID + 1}


def _check(numbers: Sequence[int | None], most: int = _MOST_NUMBER) -> None:
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
    _check(new, most)
    return _with(column, changes.gaps, new)


def _with_seen(column: tuple[object, ...], changes: wire.Counted | None, number: int) -> tuple[object, ...]:
    if changes is None:
        return column
    seen = advanced([number] * len(changes.moves), changes.moves)
    _check(seen)
    if None in seen:
        raise DamagedError("a row was never seen")
    return _with(column, changes.gaps, seen)


def _with_texts(column: tuple[object, ...], changes: wire.Renamed | None) -> tuple[object, ...]:
    return column if changes is None else _with(column, changes.gaps, [printable(text) for text in changes.texts])


def _counted(before: Mapping[int, tuple[int | None, ...]], counters: wire.Counters) -> dict[int, list[int | None]]:
    """Id → its counters now."""
    ids = list(before) if counters.ids is None else counters.ids
    olds = [before[one] for one in ids] if counters.ids is None else [(None,) * 5] * len(ids)
    width = len(counters.moves)
    if any(len(old) < width for old in olds):
        raise DamagedError("it has counters that nobody keeps")
    columns = [advanced([old[at] for old in olds], moves) for at, moves in enumerate(counters.moves)]
    for column in columns:
        _check(column)
    return {one: [column[row] for column in columns] for row, one in enumerate(ids)}


def _of_cpus(counters: Mapping[int, Sequence[int | None]]) -> Mapping[int, CpuTicks]:
    found: dict[int, CpuTicks] = {}
    for cpu, (busy, total) in counters.items():
        if busy is None or total is None:
            raise DamagedError("a CPU has no ticks")
        found[cpu] = CpuTicks(busy, total)
    return found


def _of_nodes(counters: Mapping[int, Sequence[int | None]]) -> Mapping[int, NodeCounters]:
    if any(len(one) != 5 for one in counters.values()):
        raise DamagedError("a node has not its five counters")
    return {node: NodeCounters(*one) for node, one in counters.items()}


def _strangers(rows: Sequence[wire.StrangerRow]) -> tuple[Stranger, ...]:
    return tuple(Stranger(one.pid, printable(one.comm), one.cpu, one.busy) for one in rows)


def _kept(old: T | None, new: T) -> T:
    """An equal value is the old object."""
    return old if old is not None and old == new else new


def _kept_threads(old: Threads, new: Threads) -> Threads:
    same = old.keys == new.keys
    columns = {name: _kept(getattr(old, name), getattr(new, name)) for name in _COLUMNS}
    return Threads(keys=old.keys if same else new.keys, row_of=old.row_of if same else new.row_of, **columns)


def _sample(
    moment: wire.Moment,
    before: Sample | None,
    threads: Threads,
    facts: Mapping[int, ProcessFacts],
    cpus: Mapping[int, CpuTicks],
    nodes: Mapping[int, NodeCounters],
) -> Sample:
    return Sample(
        number=moment.number,
        monotonic_ns=moment.monotonic_ns,
        wall_s=moment.wall_s,
        threads=threads,
        processes=facts,
        cpu_ticks=cpus,
        nodes=nodes,
        vanished=moment.vanished,
        denied=_texts(moment.denied, () if before is None else before.denied),
        ended=moment.ended,
        cost_ns=moment.cost_ns,
        own_ns=moment.own_ns,
        notes=_texts(moment.notes, () if before is None else before.notes),
    )


def _texts(texts: Sequence[str] | None, before: tuple[str, ...]) -> tuple[str, ...]:
    return before if texts is None else tuple(map(printable, texts))
