"""Masks set on real threads: proved by where they run, checked before and after, and never on anybody else."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
import time
from pathlib import Path

import pytest
from processes import answer, eventually, needs_two_cpus, program, tell
from steering import (
    FIRST,
    ON_FIRST,
    SECOND,
    SLEEPERS,
    Refusing,
    allowed,
    changes_of,
    do,
    masks,
    moved,
    outcomes,
    settle,
    store_in,
    undo,
    watching,
)

from numascope.cpuset import CpuSet
from numascope.errors import UsageError
from numascope.steer.ledger import read_ledger
from numascope.steer.syscalls import LinuxKernel

pytestmark = [pytest.mark.live, needs_two_cpus]


def cpu_of(tid: int) -> int:
    return int(Path(f"/proc/{tid}/stat").read_text().rpartition(")")[2].split()[36])


def run_ns(tid: int) -> int:
    return int(Path(f"/proc/{tid}/schedstat").read_text().split()[0])


def tid_of(pid: int, comm: str) -> int:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return next(int(task.name) for task in tasks if (task / "comm").read_text().strip() == comm)


def test_a_thread_that_was_moved_off_runs_where_it_was_planned_again(tmp_path: Path) -> None:
    code = ON_FIRST + 'named("worker", spin, 0.3); time.sleep(0.2); ready(); sleep()'
    with program(code) as child, watching(tmp_path, child.pid, FIRST) as session, store_in(tmp_path) as store:
        tid = tid_of(child.pid, "worker")
        os.sched_setaffinity(tid, {SECOND})
        assert eventually(lambda: cpu_of(tid) == SECOND)

        settled = settle(session, store)

        began_ns = run_ns(tid)
        seen = set()
        while run_ns(tid) - began_ns < 50_000_000:
            time.sleep(0.02)
            seen.add(cpu_of(tid))

    assert [(one.change.key.tid, one.outcome) for one in settled.results] == [(tid, "set")]
    assert seen == {FIRST}


def test_all_threads_that_share_the_old_set_are_set_and_read_back(tmp_path: Path) -> None:
    with (
        program(SLEEPERS.format(count=20)) as child,
        watching(tmp_path, child.pid, FIRST) as session,
        store_in(tmp_path) as store,
    ):
        settled = settle(session, store)
        assert allowed(child.pid) == {frozenset({FIRST})}

    assert outcomes(settled.results) == {"set"}
    assert {one.read_back for one in settled.results} == {CpuSet.of({FIRST})}
    assert len(settled.results) == 21


def test_children_that_are_there_are_set_too(tmp_path: Path) -> None:
    code = "child = os.fork()\nif not child: time.sleep(1000)\nready(); sleep()"
    with program(code) as parent, watching(tmp_path, parent.pid, FIRST) as session, store_in(tmp_path) as store:
        child = next(int(pid) for pid in Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split())
        try:
            settle(session, store)
            assert os.sched_getaffinity(child) == {FIRST}
        finally:
            os.kill(child, 9)


def test_what_is_in_place_leaves_no_entry(tmp_path: Path) -> None:
    with (
        program(ON_FIRST + SLEEPERS.format(count=2)) as child,
        watching(tmp_path, child.pid, FIRST) as session,
        store_in(tmp_path) as store,
    ):
        settled = settle(session, store)
        assert store.ids() == []

    assert (settled.results, settled.entry) == ((), None)


def test_a_thread_with_another_start_is_another_thread_and_not_touched(tmp_path: Path) -> None:
    with (
        program(SLEEPERS.format(count=1)) as child,
        watching(tmp_path, child.pid, FIRST) as session,
        store_in(tmp_path) as store,
    ):
        changes = [moved(one, starttime_ticks=one.key.starttime_ticks - 1) for one in changes_of(session)]
        before = masks(child.pid)
        kernel = Refusing({})
        results = do(changes, store, kernel)
        assert masks(child.pid) == before

    assert outcomes(results) == {"gone"}
    assert kernel.written == []


def test_a_thread_renamed_while_it_is_set_gets_its_old_mask_back(tmp_path: Path) -> None:
    code = (
        "def wait(): sys.stdin.readline(); name('new'); ready(); sleep()\n"
        'named("old", wait); time.sleep(0.2); ready(); sleep()'
    )
    with program(code) as child, watching(tmp_path, child.pid, FIRST) as session, store_in(tmp_path) as store:
        changes = changes_of(session)
        tid = tid_of(child.pid, "old")

        def rename(at: int, cpus: CpuSet) -> None:
            if at == tid and len(cpus) == 1:
                tell(child)
                assert answer(child) == "ready\n"

        before = masks(child.pid)
        results = do(changes, store, Refusing({}, rename))
        after = masks(child.pid)
        reverted = undo(store)

    result = next(one for one in results if one.change.key.tid == tid)
    assert result.outcome == "raced"
    assert "put back" in result.why
    assert after[tid] == before[tid]
    assert tid not in {one.thread.tid for one in reverted}


@pytest.mark.parametrize(
    ("code", "outcome"), [(errno.EINVAL, "refused"), (errno.EPERM, "refused"), (errno.ESRCH, "gone")]
)
def test_what_the_kernel_refuses_for_one_thread_stops_no_other(tmp_path: Path, code: int, outcome: str) -> None:
    with (
        program(SLEEPERS.format(count=5)) as child,
        watching(tmp_path, child.pid, FIRST) as session,
        store_in(tmp_path) as store,
    ):
        before = masks(child.pid)
        odd = sorted(before)[3]
        settled = settle(session, store, Refusing({odd: code}))
        now = masks(child.pid)
        undo(store)
        assert masks(child.pid) == before

    by_tid = {one.change.key.tid: one for one in settled.results}
    assert by_tid[odd].outcome == outcome
    assert bool(by_tid[odd].why) == (outcome == "refused")
    assert now[odd] == before[odd]
    assert outcomes([one for tid, one in by_tid.items() if tid != odd]) == {"set"}


def test_a_mask_that_somebody_changed_since_the_list_was_shown_is_left(tmp_path: Path) -> None:
    with (
        program(SLEEPERS.format(count=2)) as child,
        watching(tmp_path, child.pid, FIRST) as session,
        store_in(tmp_path) as store,
    ):
        changes = changes_of(session)
        tid = changes[-1].key.tid
        os.sched_setaffinity(tid, {SECOND})
        results = do(changes, store)
        assert os.sched_getaffinity(tid) == {SECOND}

    assert {one.change.key.tid for one in results if one.outcome == "raced"} == {tid}


def test_a_mask_changed_between_record_and_call_is_left_since_its_record_would_lie(tmp_path: Path) -> None:
    with (
        program(SLEEPERS.format(count=1)) as child,
        watching(tmp_path, child.pid, FIRST) as session,
        store_in(tmp_path) as store,
    ):
        changes = changes_of(session)
        last = changes[-1].key.tid

        def meddle(at: int, cpus: CpuSet) -> None:
            del cpus
            if at != last:
                os.sched_setaffinity(last, {SECOND})

        results = do(changes, store, Refusing({}, meddle))
        assert os.sched_getaffinity(last) == {SECOND}

    assert [one.outcome for one in results] == ["set", "raced"]


def test_two_applies_at_once_lose_no_record(tmp_path: Path) -> None:
    with program(SLEEPERS.format(count=100)) as child, store_in(tmp_path) as store:
        before = masks(child.pid)

        def one(own: Path) -> None:
            own.mkdir()
            with watching(own, child.pid, FIRST) as session, store_in(tmp_path) as same:
                settle(session, same)

        threads = [threading.Thread(target=one, args=(tmp_path / str(number),)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert allowed(child.pid) == {frozenset({FIRST})}
        recorded = [change.thread for entry in read_ledger(store).entries for change in entry.changes]
        while undo(store):
            pass
        assert masks(child.pid) == before

    assert len(recorded) == len(set(recorded)) == 101


def test_an_empty_set_is_never_written() -> None:
    with pytest.raises(UsageError, match="never written"):
        LinuxKernel().set_affinity(0, CpuSet())


def test_a_plan_of_several_cpus_narrows_nothing_that_is_inside(tmp_path: Path) -> None:
    """A thread that may use less than its target is where it should be."""
    both = f"{FIRST},{SECOND}"
    with program(ON_FIRST + SLEEPERS.format(count=2)) as child, watching(tmp_path, child.pid, both) as session:
        assert changes_of(session) == ()


def test_taskset_sees_what_was_set(tmp_path: Path) -> None:
    with (
        program(SLEEPERS.format(count=2)) as child,
        watching(tmp_path, child.pid, SECOND) as session,
        store_in(tmp_path) as store,
    ):
        settle(session, store)
        said = subprocess.run(["taskset", "-acp", str(child.pid)], capture_output=True, text=True, check=True).stdout

    assert {line.rpartition(": ")[2] for line in said.splitlines()} == {str(SECOND)}
