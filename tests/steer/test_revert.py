"""Masks put back: each thread its own, nobody else's, after a crash too, and journaled itself."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from processes import OWN_CPUS, answer, eventually, needs_two_cpus, program, tell
from steering import (
    FIRST,
    ON_FIRST,
    SECOND,
    SLEEPERS,
    SOURCE,
    allowed,
    masks,
    outcomes,
    settle,
    store_in,
    undo,
    watching,
)

from numascope.steer.journal import OpenEntry
from numascope.steer.ledger import read_ledger
from numascope.steer.records import Intent

pytestmark = [pytest.mark.live, needs_two_cpus]


def test_every_thread_gets_its_own_old_mask_back(tmp_path: Path) -> None:
    with (
        program(SLEEPERS.format(count=9)) as child,
        watching(tmp_path, child.pid, FIRST) as session,
        store_in(tmp_path) as store,
    ):
        for tid in sorted(masks(child.pid))[::3]:
            os.sched_setaffinity(tid, {SECOND})
        before = masks(child.pid)
        settle(session, store)
        assert allowed(child.pid) == {frozenset({FIRST})}
        found = undo(store)
        assert masks(child.pid) == before
        assert undo(store) == ()

    assert len(set(before.values())) == 2
    assert outcomes(found) == {"set"}


def test_what_somebody_changed_since_is_left_unless_forced(tmp_path: Path) -> None:
    with (
        program(SLEEPERS.format(count=3)) as child,
        watching(tmp_path, child.pid, FIRST) as session,
        store_in(tmp_path) as store,
    ):
        before = masks(child.pid)
        settle(session, store)
        tid = sorted(before)[2]
        os.sched_setaffinity(tid, {SECOND})

        found = undo(store)
        left = masks(child.pid)
        nothing_else = undo(store)
        forced = undo(store, force=True)
        assert masks(child.pid) == before

    assert {one.thread.tid for one in found if one.outcome == "changed"} == {tid}
    assert {key for key in before if left[key] != before[key]} == {tid}
    assert {one.outcome for one in nothing_else} == {"changed"}, "it is told again, not forgotten"
    assert [(one.thread.tid, one.outcome) for one in forced] == [(tid, "set")]


def test_a_thread_that_ended_is_gone_and_no_error(tmp_path: Path) -> None:
    code = "def wait(): sys.stdin.readline()\none = thread(wait); ready(); one.join(); ready(); sleep()"
    with program(code) as child, watching(tmp_path, child.pid, FIRST) as session, store_in(tmp_path) as store:
        settle(session, store)
        tell(child)
        assert answer(child) == "ready\n"
        assert eventually(lambda: len(masks(child.pid)) == 1)
        found = undo(store)

    assert sorted(one.outcome for one in found) == ["gone", "set"]


def test_threads_born_later_with_the_new_set_get_what_their_group_had(tmp_path: Path) -> None:
    code = (
        "def more():\n"
        "    sys.stdin.readline(); thread(sleep); thread(sleep)\n"
        "    if not os.fork(): time.sleep(1000)\n"
        "    ready(); sleep()\n"
        "thread(more); ready(); sleep()"
    )
    with program(code) as child, watching(tmp_path, child.pid, FIRST) as session, store_in(tmp_path) as store:
        before = masks(child.pid)
        settle(session, store)
        tell(child)
        assert answer(child) == "ready\n"
        offspring = [
            int(pid)
            for tid in masks(child.pid)
            for pid in Path(f"/proc/{child.pid}/task/{tid}/children").read_text().split()
        ]
        try:
            assert allowed(child.pid) == {frozenset({FIRST})}
            found = undo(store)
            assert set(masks(child.pid).values()) == set(before.values())
            assert [set(masks(pid).values()) for pid in offspring] == [set(before.values())]
        finally:
            for pid in offspring:
                os.kill(pid, 9)

    assert [one.inherited for one in found].count(True) == 3


def test_a_bystander_that_had_the_new_set_before_keeps_it(tmp_path: Path) -> None:
    code = f'named("bound", lambda: (os.sched_setaffinity(0, {{{FIRST}}}), sleep()))\nthread(sleep); time.sleep(0.2); ready(); sleep()'
    with program(code) as child, watching(tmp_path, child.pid, FIRST) as session, store_in(tmp_path) as store:
        before = masks(child.pid)
        settle(session, store)
        undo(store)
        assert masks(child.pid) == before

    assert len(set(before.values())) == 2


def test_a_thread_that_follows_its_cpuset_is_given_every_possible_cpu(tmp_path: Path) -> None:
    with (
        program(SLEEPERS.format(count=1)) as child,
        watching(tmp_path, child.pid, FIRST) as session,
        store_in(tmp_path) as store,
    ):
        settle(session, store)
        undo(store)
        apply, revert = read_ledger(store).entries

    possible = Path("/sys/devices/system/cpu/possible").read_text().strip()
    assert {one.before_was_cpuset for one in apply.changes} == {True}
    assert {str(one.after) for one in revert.changes} == {possible}


def test_one_that_was_bound_by_hand_is_given_its_very_mask(tmp_path: Path) -> None:
    with (
        program(ON_FIRST + SLEEPERS.format(count=1)) as child,
        watching(tmp_path, child.pid, SECOND) as session,
        store_in(tmp_path) as store,
    ):
        settle(session, store)
        undo(store)
        apply, revert = read_ledger(store).entries

    assert {one.before_was_cpuset for one in apply.changes} == {False}
    assert {str(one.after) for one in revert.changes} == {str(FIRST)}


def test_threads_born_while_others_are_put_back_are_found(tmp_path: Path) -> None:
    code = (
        "def short(): time.sleep(0.05)\n"
        "def busy():\n"
        "    while True: thread(short); time.sleep(0.002)\n"
        "for _ in range(3): thread(busy)\n"
        "time.sleep(0.2); ready(); sleep()"
    )
    with program(code) as child, watching(tmp_path, child.pid, FIRST) as session, store_in(tmp_path) as store:
        settle(session, store)
        time.sleep(0.2)
        assert allowed(child.pid) == {frozenset({FIRST})}
        found = undo(store)
        assert allowed(child.pid) == {frozenset(OWN_CPUS)}

    assert any(one.inherited for one in found)


def test_an_old_set_that_is_offline_as_a_whole_stays_in_the_journal(tmp_path: Path) -> None:
    with program(ON_FIRST + SLEEPERS.format(count=0)) as child, store_in(tmp_path) as store:
        start = int(Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19])
        after, far = f"{1 << FIRST:x}", f"{1 << 8000:x}"
        with store.locked():
            entry = OpenEntry(store, "apply", SOURCE)
            entry.intend([Intent(child.pid, child.pid, start, start, "python", "main", "", "main", far, False, after)])  # noqa: FBT003
            entry.close()
        found = undo(store)
        again = undo(store)
        assert allowed(child.pid) == {frozenset({FIRST})}

    assert [one.outcome for one in (*found, *again)] == ["pending", "pending"]
    assert "online" in found[0].why


def test_threads_born_later_get_mains_old_set_where_the_others_had_several(tmp_path: Path) -> None:
    code = (
        f"def elsewhere():\n    os.sched_setaffinity(0, {{{SECOND}}}); sleep()\n"
        "thread(elsewhere); time.sleep(0.2); ready(); sys.stdin.readline(); thread(sleep); print('born', flush=True); sleep()"
    )
    with store_in(tmp_path) as store, program(code) as child:
        before = masks(child.pid)
        with watching(tmp_path, child.pid, FIRST) as session:
            settle(session, store)
        tell(child)
        assert answer(child) == "born\n"
        undo(store)
        after = masks(child.pid)

    born = set(after) - set(before)
    assert len(born) == 1
    assert {key: after[key] for key in before} == before
    assert after[born.pop()] == before[child.pid]
