"""Masks of many threads in one piece of memory are those of the kernel, whoever changes, ends or comes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from processes import OWN_CPUS, eventually, needs_two_cpus

from numascope.cpuset import CpuSet
from numascope.host.affinity import AffinityReader, own_affinity
from numascope.host.root import AbsentError

pytestmark = pytest.mark.live

ALL = CpuSet.of(OWN_CPUS)
NO_THREAD = 1 << 22
"""Above every pid_max."""


@contextmanager
def threads(count: int) -> Iterator[tuple[list[int], Callable[[int], None]]]:
    """Threads of this process that sleep, and what ends one of them."""
    ends = [threading.Event() for _ in range(count)]
    tids: dict[int, int] = {}
    ready = threading.Barrier(count + 1)

    def body(at: int) -> None:
        tids[at] = threading.get_native_id()
        ready.wait()
        ends[at].wait()

    running = [threading.Thread(target=body, args=(at,)) for at in range(count)]
    for one in running:
        one.start()
    ready.wait()

    def end(at: int) -> None:
        ends[at].set()
        running[at].join()
        assert eventually(lambda: not os.path.exists(f"/proc/self/task/{tids[at]}"))

    try:
        yield [tids[at] for at in range(count)], end
    finally:
        for event in ends:
            event.set()
        for one in running:
            one.join()


def test_equal_masks_are_one_object_in_a_table_and_out_of_it() -> None:
    reader = AffinityReader()
    with threads(5) as (tids, _):
        found, missing = reader.table().read(tids)
        other, _ = reader.table().read(tids[:2])

        assert missing == 0
        assert found == [ALL] * 5
        assert len({id(one) for one in [*found, *other, reader.read(0), reader.read(tids[3])]}) == 1
    assert own_affinity() == ALL


def test_while_nothing_changes_the_list_is_the_same_object() -> None:
    with threads(3) as (tids, _):
        table = AffinityReader().table()
        first, _ = table.read(tids)

        assert table.read(tids)[0] is first
        assert table.read(list(tids))[0] is first


@needs_two_cpus
def test_masks_changed_one_by_one_are_seen_one_by_one() -> None:
    with threads(4) as (tids, _):
        table = AffinityReader().table()
        before, _ = table.read(tids)
        kept = list(before)
        for at, tid in enumerate(tids):
            os.sched_setaffinity(tid, {OWN_CPUS[at % 2]})
            now, missing = table.read(tids)
            assert missing == 0
            assert now is not before
            assert now == [CpuSet.of([OWN_CPUS[i % 2]]) for i in range(at + 1)] + [ALL] * (3 - at)
        assert before == kept, "a list that was given stays what it was"
        assert now[0] is now[2]


@needs_two_cpus
def test_masks_changed_all_at_once_are_seen_at_once_and_back_again() -> None:
    with threads(4) as (tids, _):
        table = AffinityReader().table()
        first, _ = table.read(tids)
        for tid in tids:
            os.sched_setaffinity(tid, {OWN_CPUS[1]})
        assert table.read(tids)[0] == [CpuSet.of([OWN_CPUS[1]])] * 4
        for tid in tids:
            os.sched_setaffinity(tid, OWN_CPUS)
        back, _ = table.read(tids)

        assert back == first
        assert back[0] is first[0]


def test_a_thread_that_ended_has_no_mask_and_the_others_keep_theirs() -> None:
    reader = AffinityReader()
    table = reader.table()
    with threads(3) as (tids, end):
        table.read(tids)
        end(1)
        found, missing = table.read(tids)

        assert (found, missing) == ([ALL, None, ALL], 1)
        assert table.read(tids) == ([ALL, None, ALL], 1), "and is told again"
        with pytest.raises(AbsentError):
            reader.read(tids[1])
        assert table.read([tids[0], tids[2]]) == ([ALL, ALL], 0)


@needs_two_cpus
def test_other_threads_in_the_same_number_have_their_own_masks() -> None:
    with threads(4) as (tids, _):
        os.sched_setaffinity(tids[2], {OWN_CPUS[0]})
        os.sched_setaffinity(tids[3], {OWN_CPUS[1]})
        table = AffinityReader().table()

        assert table.read(tids[:2])[0] == [ALL, ALL]
        assert table.read(tids[2:])[0] == [CpuSet.of([OWN_CPUS[0]]), CpuSet.of([OWN_CPUS[1]])]
        assert table.read([tids[3], tids[2]])[0] == [CpuSet.of([OWN_CPUS[1]]), CpuSet.of([OWN_CPUS[0]])]
        assert table.read(tids)[0] == [ALL, ALL, CpuSet.of([OWN_CPUS[0]]), CpuSet.of([OWN_CPUS[1]])]


def test_of_nobody_there_is_nothing() -> None:
    table = AffinityReader().table()

    assert table.read([]) == ([], 0)
    assert table.read([NO_THREAD]) == ([None], 1)
    assert table.read([]) == ([], 0)


@needs_two_cpus
def test_more_masks_than_are_remembered_are_right_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numascope.host.affinity._MOST_SETS", 1)
    with threads(2) as (tids, _):
        os.sched_setaffinity(tids[1], {OWN_CPUS[0]})
        table = AffinityReader().table()

        for _ in range(3):
            assert table.read(tids)[0] == [ALL, CpuSet.of([OWN_CPUS[0]])]
