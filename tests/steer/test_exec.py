"""A process that became another program between the list and the act is not the one that was agreed to."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from processes import EXECS_ITSELF, OWN_CPUS, PRELUDE, answer, needs_aslr, needs_two_cpus, program, tell
from steering import FIRST, SOURCE, allowed, changes_of, do, hand, masks, select, store_in, watching

from numascope.steer.journal import OpenEntry
from numascope.steer.settle import apply_until_settled

pytestmark = [pytest.mark.live, needs_two_cpus]


def let_it_exec(child: subprocess.Popen[str]) -> None:
    """A program that waits for a line becomes the next one, which says that it is ready."""
    tell(child)
    assert answer(child) == "ready\n"


def test_a_process_that_became_another_program_since_the_list_was_shown_is_not_touched(tmp_path: Path) -> None:
    sleeper = PRELUDE + "ready(); sleep()"
    code = f"ready(); sys.stdin.readline(); os.execv(sys.executable, [sys.executable, '-c', {sleeper!r}])"
    with program(code) as child, watching(tmp_path, child.pid, FIRST) as session, store_in(tmp_path) as store:
        changes = changes_of(session)
        before = masks(child.pid)
        let_it_exec(child)
        results = do(changes, store)
        assert masks(child.pid) == before

    assert [one.outcome for one in results] == ["raced"]
    assert "exec" in results[0].why


def test_nor_is_anything_that_this_other_program_starts(tmp_path: Path) -> None:
    """The list was agreed to for the old program, whatever the plan would say of the new one."""
    sleeper = PRELUDE + "for _ in range(3): thread(sleep)\nready(); sleep()"
    code = f"ready(); sys.stdin.readline(); os.execv(sys.executable, [sys.executable, '-c', {sleeper!r}])"
    with program(code) as child, watching(tmp_path, child.pid, FIRST) as session, store_in(tmp_path) as store:
        report = session.step()
        shown = select(report, {})
        let_it_exec(child)
        with store.locked():
            entry = OpenEntry(store, "apply", SOURCE)
            settled = apply_until_settled(session.step, select, entry, hand(), (report, shown))
        assert allowed(child.pid) == {frozenset(OWN_CPUS)}
        assert store.ids() == []

    assert [one.outcome for one in settled.results] == ["raced"]


@needs_aslr
def test_one_that_started_anew_with_the_same_name_and_arguments_is_told_by_its_stack(tmp_path: Path) -> None:
    with program(EXECS_ITSELF) as child, watching(tmp_path, child.pid, FIRST) as session, store_in(tmp_path) as store:
        changes = changes_of(session)
        before = masks(child.pid)
        let_it_exec(child)
        results = do(changes, store)
        assert masks(child.pid) == before
        assert store.ids() == []

    assert [one.outcome for one in results] == ["raced"]
    assert "exec" in results[0].why
