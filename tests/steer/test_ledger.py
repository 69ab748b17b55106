"""Which entry is meant, and what later ones did to its threads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from processes import OWN_CPUS, needs_two_cpus, program
from steering import (
    FIRST,
    ROOT,
    SECOND,
    SLEEPERS,
    changes_of,
    do,
    here,
    masks,
    settle,
    store_in,
    undo,
    watching,
)

from numascope.errors import UsageError
from numascope.host.procfs import lives_in
from numascope.steer.ledger import choose, has_work, read_ledger
from numascope.steer.listing import rows_of

pytestmark = [pytest.mark.live, needs_two_cpus]


def test_an_entry_below_a_newer_one_names_it_and_can_be_put_back_after_it(tmp_path: Path) -> None:
    with (
        program(SLEEPERS.format(count=1)) as child,
        watching(tmp_path, child.pid, FIRST) as first,
        store_in(tmp_path) as store,
    ):
        before = masks(child.pid)
        settle(first, store)
        with watching(tmp_path, child.pid, SECOND) as second:
            settle(second, store)
        below = undo(store, 1)
        undo(store, 2)
        undo(store, 1)
        assert masks(child.pid) == before

    assert {(one.outcome, one.why.partition(":")[0]) for one in below} == {("changed", "entry 2 set it since")}


def test_an_entry_of_another_boot_or_namespace_is_listed_and_never_acted_on(tmp_path: Path) -> None:
    other_boot = here(boot_id="00000000-1111-2222-3333-444444444444", host="other")
    other_namespace = here(pid_namespace=12345)
    with program(SLEEPERS.format(count=1)) as child:
        before = masks(child.pid)
        for where in (other_boot, other_namespace):
            with watching(tmp_path, child.pid, FIRST) as session, store_in(tmp_path, where) as store:
                settle(session, store)
            for tid in before:
                os.sched_setaffinity(tid, OWN_CPUS)
        with store_in(tmp_path) as store:
            states = {row.state for row in rows_of(read_ledger(store), store.here)}
            nothing = undo(store)
            with pytest.raises(UsageError, match="namespace"):
                undo(store, 1)
            with pytest.raises(UsageError, match="no entry 2"):
                undo(store, 2)

    assert states == {"of another boot", "of another namespace"}
    assert nothing == ()


def test_without_an_id_the_newest_that_has_something_left_is_taken(tmp_path: Path) -> None:
    with (
        program(SLEEPERS.format(count=3)) as child,
        watching(tmp_path, child.pid, FIRST) as session,
        store_in(tmp_path) as store,
    ):
        before = masks(child.pid)
        changes = changes_of(session)
        do(changes[:2], store)
        do(changes[2:], store)
        second = {one.thread for one in undo(store)}
        first = {one.thread for one in undo(store)}
        assert undo(store) == ()
        assert masks(child.pid) == before
        ledger = read_ledger(store)

    assert second == {one.thread for one in changes[2:]}
    assert first == {one.thread for one in changes[:2]}
    assert [(one.header.id, one.header.kind, one.header.reverts) for one in ledger.entries] == [
        (1, "apply", None), (2, "apply", None), (3, "revert", 2), (4, "revert", 1),
    ]  # fmt: skip
    assert not any(map(has_work, ledger.entries))


def test_a_revert_is_not_reverted(tmp_path: Path) -> None:
    with (
        program(SLEEPERS.format(count=1)) as child,
        watching(tmp_path, child.pid, FIRST) as session,
        store_in(tmp_path) as store,
    ):
        settle(session, store)
        undo(store)
        with pytest.raises(UsageError, match="itself a revert"):
            choose(read_ledger(store), store.here, 2)


def test_a_job_that_ended_does_not_hide_an_older_one_that_lives(tmp_path: Path) -> None:
    with store_in(tmp_path) as store, program(SLEEPERS.format(count=2)) as living:
        with watching(tmp_path, living.pid, FIRST) as session:
            settle(session, store)
        with program(SLEEPERS.format(count=2)) as dead, watching(tmp_path, dead.pid, FIRST) as session:
            settle(session, store)

        chosen = choose(read_ledger(store), store.here, None, lives=lives_in(ROOT))

    assert chosen is not None
    assert {one.thread.pid for one in chosen.changes} == {living.pid}
