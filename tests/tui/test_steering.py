"""Changing things from the dashboard: nothing without a yes, then just what was shown, and back again."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from processes import OWN_CPUS, needs_two_cpus, program
from screens import drive, is_asking, screen_text, until
from steering import ON_FIRST, ROOT, masks, settle, store_in, watching
from textual.pilot import Pilot

from numascope.tui.app import Dashboard
from numascope.tui.screens.confirm import Confirm
from numascope.tui.steering import Steering

MOVED = ON_FIRST + "thread(sleep); ready(); sleep()"
"""A program of two threads, both on the first CPU."""


def has_told(app: Dashboard) -> bool:
    """Whether the results stand in the question's place."""
    return isinstance(app.screen, Confirm) and app.screen.state == "told"


@contextmanager
def attached(folder: Path, *, read_only: bool = False) -> Iterator[tuple[Dashboard, int]]:
    """A dashboard on a program whose two threads are planned on the second CPU; and its pid."""
    steering = Steering(ROOT, {"NUMASCOPE_STATE": str(folder)}, os.geteuid(), may_set_others=False, read_only=read_only)
    with program(MOVED) as child, watching(folder, child.pid, OWN_CPUS[1]) as session:
        yield Dashboard(session, steering=steering), child.pid


def mask(cpu: int) -> set[int]:
    """The mask of one CPU as the number that the kernel writes."""
    return {1 << cpu}


def now(pid: int) -> set[int]:
    """The masks of a process's threads."""
    return {int(text.replace(",", ""), 16) for text in masks(pid).values()}


@needs_two_cpus
@pytest.mark.parametrize("key", ["enter", "escape", "n", "q", "x"])
def test_whatever_is_not_y_changes_nothing(tmp_path: Path, key: str) -> None:
    """The list is seen, no entry is written, and every thread has the set that it had."""
    seen: list[str] = []

    async def steps(app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("a")
        await until(pilot, lambda: is_asking(app))
        seen.append(screen_text(app))
        await pilot.press(key)
        await pilot.pause(0.1)

    with attached(tmp_path) as (app, pid):
        drive(app, (80, 24), steps=steps)
        assert now(pid) == mask(OWN_CPUS[0])

    assert "will set 2 of 2 threads" in seen[0]
    with store_in(tmp_path) as store:
        assert store.ids() == []


@needs_two_cpus
def test_y_sets_what_was_shown_and_r_puts_it_back(tmp_path: Path) -> None:
    """Results stand in the question's place, the journal lists the entry, and the screen has gone on meanwhile."""
    seen: list[str] = []

    async def steps(app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("a")
        await until(pilot, lambda: is_asking(app))
        assert app.newest is not None
        number = app.newest.sample.number
        await pilot.press("y")
        await until(pilot, lambda: has_told(app))
        assert app.newest.sample.number > number
        seen.append(screen_text(app))
        assert now(pid) == mask(OWN_CPUS[1])
        await pilot.press("escape", "4")
        await until(pilot, lambda: "can be reverted" in screen_text(app))
        await pilot.press("r")
        await until(pilot, lambda: is_asking(app))
        seen.append(screen_text(app))
        await pilot.press("y")
        await until(pilot, lambda: has_told(app))
        assert now(pid) == mask(OWN_CPUS[0])
        await pilot.press("escape")
        await until(pilot, lambda: "reverted by 2" in screen_text(app))

    with attached(tmp_path) as (app, pid):
        drive(app, (80, 24), steps=steps)

    assert "2 set; each read back" in seen[0]
    assert "Recorded as entry 1" in seen[0]
    assert "will put back 2 threads of apply bind.json" in seen[1]


@needs_two_cpus
def test_while_another_numascope_changes_threads_nothing_is_done(tmp_path: Path) -> None:
    """The reason stands in the question's place, and the screen goes on."""
    seen: list[str] = []

    async def steps(app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("a")
        await until(pilot, lambda: is_asking(app))
        await pilot.press("y")
        await until(pilot, lambda: has_told(app))
        seen.append(screen_text(app))
        assert app.newest is not None
        number = app.newest.sample.number
        await until(pilot, lambda: app.newest is not None and app.newest.sample.number > number)

    with store_in(tmp_path) as store, store.locked(), attached(tmp_path) as (app, pid):
        drive(app, (80, 24), steps=steps)
        assert now(pid) == mask(OWN_CPUS[0])

    assert "another numascope is changing threads" in seen[0]


@needs_two_cpus
def test_after_the_target_has_ended_its_journal_is_still_there(tmp_path: Path) -> None:
    """The sampler's thread has no look to take any more, and does what is asked."""

    async def steps(app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("a")
        await until(pilot, lambda: is_asking(app))
        await pilot.press("y")
        await until(pilot, lambda: has_told(app))
        await pilot.press("escape")
        os.kill(pid, signal.SIGKILL)
        await until(pilot, lambda: app.report is not None and app.report.ended)
        await pilot.press("r")
        await until(pilot, lambda: "entry 1: nothing to put back, 2 ended meanwhile" in screen_text(app))
        await pilot.press("4")
        await until(pilot, lambda: "apply bind.json" in screen_text(app))

    with attached(tmp_path) as (app, pid):
        drive(app, (80, 24), steps=steps)


@needs_two_cpus
def test_r_means_the_newest_entry_whose_threads_are_still_there(tmp_path: Path) -> None:
    """A job that was set later and has ended does not stand in the way."""

    async def steps(app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("r")
        await until(pilot, lambda: is_asking(app))
        assert "Revert entry 1?" in screen_text(app)

    with attached(tmp_path) as (app, pid):
        with store_in(tmp_path) as store, watching(tmp_path, pid, OWN_CPUS[1]) as session:
            settle(session, store)
        with (
            program(MOVED) as other,
            store_in(tmp_path) as store,
            watching(tmp_path, other.pid, OWN_CPUS[1]) as session,
        ):
            settle(session, store)
            assert store.ids() == [1, 2]
        drive(app, (80, 24), steps=steps)


@needs_two_cpus
def test_r_without_an_entry_says_so(tmp_path: Path) -> None:
    """One line, no question, and no directory is made."""

    async def steps(app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("r")
        await until(pilot, lambda: "nothing of ours is left to put back" in screen_text(app))

    with attached(tmp_path) as (app, _):
        drive(app, (80, 24), steps=steps)

    assert not (tmp_path / "numascope").exists()


@needs_two_cpus
def test_read_only_takes_the_keys_away_and_says_why(tmp_path: Path) -> None:
    """In the last line, in the help, and where the key is pressed."""

    async def steps(app: Dashboard, pilot: Pilot[None]) -> None:
        assert "(a r: read-only)" in screen_text(app)
        for key in ("a", "r"):
            await pilot.press(key)
            await pilot.pause(0.05)
            assert "read-only: this dashboard changes nothing" in screen_text(app)
            assert not isinstance(app.screen, Confirm)
        await pilot.press("question_mark")
        await until(pilot, lambda: "a  (read-only) apply" in screen_text(app))

    with attached(tmp_path, read_only=True) as (app, _):
        drive(app, (80, 30), steps=steps)
