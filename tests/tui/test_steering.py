"""Changing things from the dashboard: nothing without a yes, then just what was shown, and back again."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import reports
from processes import program
from screens import STEERING, Scripted, dashboard, drive, screen_text
from steering import ON_FIRST, OWN_CPUS, ROOT, masks, settle, store_in, watching
from textual import events
from textual.pilot import Pilot

from numascope.cpuset import CpuSet
from numascope.observe.sample import ProcessFacts
from numascope.review.change import Thread
from numascope.review.report import Report
from numascope.show.ink import plain
from numascope.show.journal import ChangeRow, EntryRow
from numascope.show.journal_detail import detail_lines
from numascope.tui.app import Dashboard
from numascope.tui.messages import ReportReady
from numascope.tui.screens.confirm import Confirm
from numascope.tui.steering import Journal, Steering

MOVED = ON_FIRST + "thread(sleep); ready(); sleep()"
"""A program of two threads, both on the first CPU."""

two_cpus = pytest.mark.skipif(len(OWN_CPUS) < 2, reason="needs two CPUs to move a thread between them")


def own(report: Report, uid: int = 1004) -> Report:
    """The report with processes of that user."""
    pids = {one.key.pid for one in report.placements}
    facts = {pid: ProcessFacts(pid, 1, 8_841_207, pid, "python", ("python",), None, uid) for pid in pids}
    return replace(report, sample=replace(report.sample, processes=facts))


def journal() -> Journal:
    """Two applies and a revert of the first, as 16 November 2023 saw them."""
    actor = ChangeRow(
        41247, 42317, 8_841_207, "ActorThread_1", "ActorThread_1", "rank 5 d5", "runtime", CpuSet.parse("0-191"), True,  # noqa: FBT003
        CpuSet.parse("129"), "set", CpuSet.parse("129"), "", None, None,
    )  # fmt: skip
    loader = actor._replace(
        pid=41251, tid=47312, comm="python", label="loader 2", rank="rank 6 d6", role="minddata", before=CpuSet.parse("0"),
        before_was_cpuset=False, after=CpuSet.parse("0-7"), read_back=CpuSet.parse("0-7"),
    )  # fmt: skip
    many = tuple(
        loader._replace(tid=47400 + at, label=f"loader {at}", reverted_by=6, revert_result="set") for at in range(6)
    )
    newest = EntryRow(
        7, "apply", 1_700_086_385.0, "n1", 1004, "b", "/job/bind.json", "8f3c21d0aa", "msrun 41200", None,
        "can be reverted", True, (actor, loader), 0,  # noqa: FBT003
    )  # fmt: skip
    back = newest._replace(
        id=6, kind="revert", wall_s=1_700_083_470.0, reverts=5, state="done", can_revert=False, changes=many, gone=1
    )
    old = newest._replace(
        id=5, wall_s=1_700_083_211.0, plan="/job/old.json", state="reverted by 6", can_revert=False, changes=many
    )
    return Journal((old, back, newest), "/home/ada/.local/state/numascope")


async def until(pilot: Pilot[None], holds: Callable[[], bool], within_s: float = 20.0) -> None:
    """Waits until something comes true."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, screen_text(pilot.app)  # type: ignore[arg-type]
        await pilot.pause(0.02)
    await pilot.pause()


def is_asking(app: Dashboard) -> bool:
    """Whether the question can be answered."""
    return isinstance(app.screen, Confirm) and app.screen.state == "asking" and app.screen._yes_from <= time.monotonic()


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


@two_cpus
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


@two_cpus
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


@two_cpus
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


@two_cpus
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


@two_cpus
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


@two_cpus
def test_r_without_an_entry_says_so(tmp_path: Path) -> None:
    """One line, no question, and no directory is made."""

    async def steps(app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("r")
        await until(pilot, lambda: "nothing of ours is left to put back" in screen_text(app))

    with attached(tmp_path) as (app, _):
        drive(app, (80, 24), steps=steps)

    assert not (tmp_path / "numascope").exists()


@two_cpus
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


def test_a_y_that_was_typed_before_the_question_is_seen_does_not_count() -> None:
    """Both keys lie in the terminal's buffer when the first is read."""
    app = dashboard(own(reports.eight_ranks()))

    async def steps(app: Dashboard, pilot: Pilot[None]) -> None:
        app.post_message(events.Key("a", "a"))
        app.post_message(events.Key("y", "y"))
        await until(pilot, lambda: is_asking(app))

    drive(app, (80, 24), steps=steps)


def test_a_list_that_changes_has_to_be_looked_at_again() -> None:
    """For a second `y` does nothing; a list of the same kinds of threads asks for no second look."""
    report = own(reports.eight_ranks())
    at = next(at for at, one in enumerate(report.placements) if one.label == "loader 2" and one.verdict == "narrow")
    calm = replace(report.placements[at], allowed=report.placements[at].target.cpus, verdict="ok")  # type: ignore[union-attr]
    fewer = replace(report, placements=(*report.placements[:at], calm, *report.placements[at + 1 :]))
    seen: list[str] = []

    async def steps(app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("a")
        await until(pilot, lambda: is_asking(app))
        app.on_report_ready(ReportReady(replace(report, since_first_s=9.0)))
        await pilot.pause()
        seen.append(screen_text(app))
        app.on_report_ready(ReportReady(fewer))
        await pilot.press("y")
        seen.append(screen_text(app))
        assert isinstance(app.screen, Confirm)
        assert app.screen.state == "asking"
        await until(pilot, lambda: is_asking(app))

    drive(Dashboard(Scripted(report, interval_s=3600.0), steering=STEERING), (80, 24), steps=steps)

    assert "changed, look again" not in seen[0]
    assert "y  set 2 threads" in seen[0]
    assert "changed, look again" in seen[1]
    assert "y  set 1 thread " in seen[1]


@pytest.mark.parametrize(
    ("report", "word", "sentence"),
    [
        (own(reports.unplanned()), "no plan", "no plan to apply"),
        (reports.ended(own(reports.eight_ranks())), "ended", "is gone: there is nothing to set"),
        (own(reports.eight_ranks(), uid=1007), "not permitted", "belong to uid 1007, not to us (uid 1004)"),
    ],
)
def test_what_cannot_be_done_stands_in_brackets_and_says_why(report: Report, word: str, sentence: str) -> None:
    """The key is shown, never hidden."""
    app = dashboard(report, steering=replace(STEERING, may_set_others=False))

    text = drive(app, (120, 40), ("a",))

    assert f"(a: {word})" in text
    assert sentence in text


def test_nothing_to_apply_is_one_line_and_no_question() -> None:
    """With the reasons why nothing is on the list."""
    report = own(reports.eight_ranks())
    calm = tuple(one for one in report.placements if one.verdict == "ok")

    text = drive(dashboard(replace(report, placements=calm)), (80, 24), ("a",))

    assert "nothing to apply: 111 as planned already" in text


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_question_is_the_one_kept(size: tuple[int, int], golden_screen: Callable[[str, str], None]) -> None:
    """Letter by letter."""
    text = drive(dashboard(own(reports.eight_ranks())), size, ("a",))

    golden_screen(f"confirm--{size[0]}x{size[1]}", text)


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_journal_is_the_one_kept(size: tuple[int, int], golden_screen: Callable[[str, str], None]) -> None:
    """Three entries, the newest picked."""

    async def steps(app: Dashboard, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.desk.journal is not None)
        app.desk.take(journal())
        await pilot.pause()

    text = drive(dashboard(own(reports.eight_ranks())), size, ("4",), steps=steps)

    golden_screen(f"journal--{size[0]}x{size[1]}", text)


def test_a_question_in_a_window_that_is_too_small_cannot_be_answered() -> None:
    """What cannot be read is not agreed to."""

    async def steps(app: Dashboard, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: is_asking(app))
        await pilot.press("y")
        assert isinstance(app.screen, Confirm)
        assert app.screen.state == "asking"

    assert drive(dashboard(own(reports.eight_ranks())), (40, 5), ("a",), steps=steps).strip() == "needs 60x15"


def test_a_long_entry_is_cut_to_its_place_and_says_where_the_rest_is() -> None:
    """Threads of one kind are one line, others each have theirs."""
    entry = journal().rows[2]
    kinds = [entry.changes[0]._replace(tid=500 + at, label=f"{chr(65 + at)}ctor") for at in range(20)]
    seen = {Thread(one.pid, one.tid, one.starttime_ticks): CpuSet.parse("129") for one in kinds}

    lines = [plain(line) for line in detail_lines(entry._replace(changes=tuple(kinds)), seen, 80, 12)]

    assert len(lines) == 12
    assert any("more lines: numascope revert 7 --dry-run --all-rows" in line for line in lines)
    assert "rank 6 d6 loader ×6" in "\n".join(plain(line) for line in detail_lines(journal().rows[0], {}, 80, 12))
