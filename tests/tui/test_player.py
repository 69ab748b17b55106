"""A recording in the dashboard: its speed, held still, and a frame at a time; a living job has none of this."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import reports
from hypothesis import given
from hypothesis import strategies as st
from screens import STEERING, Scripted, dashboard, drive, screen_text, until
from textual.pilot import Pilot

from numascope.cli.recorded import open_replay
from numascope.review.report import Report
from numascope.tui.app import Dashboard
from numascope.tui.commands import palette_commands
from numascope.tui.messages import ReportReady
from numascope.tui.sampling import Gap

HOURS_S = 7200.0
CENTURIES_S = 9.3e9
"""More than a thread can be told to wait (threading.TIMEOUT_MAX)."""


class Played(Scripted):
    """A recording of these reports with such gaps between them; after the last it has ended."""

    is_recorded = True

    def __init__(self, *shown: Report, gap_s: float = HOURS_S, speed: float = 1.0) -> None:
        super().__init__(*shown)
        self._gap_s = gap_s
        self._number = len(shown)
        self.speed = speed

    @property
    def interval_s(self) -> float:
        """The gap at this speed."""
        return self._gap_s / self.speed

    @interval_s.setter
    def interval_s(self, _: float) -> None:
        """Scripted sets one."""

    @property
    def pace(self) -> str:
        """As a replay has it."""
        return f"×{self.speed:g}"

    def step(self) -> Report:
        """The next report."""
        return replace(super().step(), ended=self.steps > self._number)


def played(number: int = 20, *, gap_s: float = HOURS_S, speed: float = 1.0) -> Dashboard:
    """A dashboard on a recording of so many frames."""
    source = Played(*[reports.eight_ranks()] * number, gap_s=gap_s, speed=speed)
    steering = replace(STEERING, read_only=True)
    return Dashboard(source, clock=lambda: 0.0, resident_mib=lambda: 38, steering=steering)


def shown_frame(app: Dashboard) -> int:
    """The number of the frame that is on the screen."""
    return 0 if app.report is None else app.report.sample.number


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize(("name", "keys"), [("replay", (">", ">")), ("replay-held", ("space",))])
def test_a_recording_is_shown_as_kept(
    name: str, keys: tuple[str, ...], size: tuple[int, int], golden_screen: Callable[[str, str], None]
) -> None:
    golden_screen(f"{name}--{size[0]}x{size[1]}", drive(played(), size, keys))


def test_the_speed_doubles_and_halves_between_an_eighth_and_sixty_four() -> None:
    words: list[str] = []

    async def look(app: Dashboard, pilot: Pilot[None]) -> None:
        for key in (*">>>>>>>", *"<<<<<<<<<<"):
            await pilot.press(key)
            words.append(app.state_word().text)

    drive(played(), (80, 24), steps=look)

    assert words[:7] == ["      ×2", "      ×4", "      ×8", "     ×16", "     ×32", "     ×64", "     ×64"]
    assert words[-5:] == ["      ×1", "    ×0.5", "   ×0.25", "  ×0.125", "  ×0.125"]


@pytest.mark.parametrize(
    ("began", "key", "becomes"), [(1000, ">", 1000), (1000, "<", 64), (3, ">", 6), (48, ">", 64), (0.1, "<", 0.1)]
)
def test_a_speed_beyond_the_ends_comes_back_by_the_key_that_leads_there(began: float, key: str, becomes: float) -> None:
    app = played(speed=began, gap_s=1e9)

    drive(app, (80, 24), (key,))

    assert app._source.speed == becomes  # type: ignore[attr-defined]


def test_a_new_speed_counts_at_once_in_the_middle_of_a_gap() -> None:
    """A minute at ×1 is a second at ×64."""

    async def look(app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press(*">>>>>>")
        await until(pilot, lambda: shown_frame(app) >= 2)

    drive(played(gap_s=60.0), (80, 24), steps=look)


@pytest.mark.parametrize("gap_s", [HOURS_S, CENTURIES_S])
def test_a_gap_of_hours_keeps_nobody_from_leaving(gap_s: float) -> None:
    app = played(gap_s=gap_s)

    drive(app, (80, 24), ("q",))

    assert app._source.closed  # type: ignore[attr-defined]
    assert app._source.steps == 1  # type: ignore[attr-defined]
    assert app._failure == ""


def test_each_press_of_the_full_stop_is_one_frame_as_long_as_it_is_held() -> None:
    frames: list[int] = []

    async def look(app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press(".")
        frames.append(shown_frame(app))
        assert ". steps while the recording is held still: Space holds it" in screen_text(app)
        await pilot.press("space", ".")
        await until(pilot, lambda: shown_frame(app) == 2)
        await pilot.press(*"...")
        await until(pilot, lambda: shown_frame(app) == 5)
        await pilot.pause(0.2)
        frames.append(shown_frame(app))
        assert app.state_word().text.strip() == "PAUSED"

    drive(played(), (80, 24), steps=look)

    assert frames == [1, 5]


def test_while_it_is_held_no_frame_comes_by_itself() -> None:
    frames: list[int] = []

    async def look(app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("space")
        await pilot.pause(0.2)
        before = app._source.steps  # type: ignore[attr-defined]
        await pilot.pause(0.5)
        frames.extend((before, app._source.steps))  # type: ignore[attr-defined]
        await pilot.press("space")
        await until(pilot, lambda: app._source.steps > before)  # type: ignore[attr-defined]

    drive(played(1000, gap_s=0.05), (80, 24), steps=look)

    assert frames[0] == frames[1]


def test_a_frame_that_came_as_it_was_held_is_the_next_one() -> None:
    """It waited unseen, and is not left out."""
    seen: list[tuple[int, int]] = []

    async def look(app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("space")
        assert app.report is not None
        app.on_report_ready(ReportReady(replace(app.report, sample=replace(app.report.sample, number=77))))
        seen.append((shown_frame(app), app._source.steps))  # type: ignore[attr-defined]
        await pilot.press(".")
        seen.append((shown_frame(app), app._source.steps))  # type: ignore[attr-defined]

    drive(played(), (80, 24), steps=look)

    assert seen == [(1, 1), (77, 1)]


def test_the_last_step_leads_to_the_end_and_from_there_nowhere() -> None:
    async def look(app: Dashboard, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: shown_frame(app) == 3)
        assert app.state_word().text.strip() == "ENDED"
        for key in "<>.":
            await pilot.press(key)
            assert "the last frame was shown" in screen_text(app)

    app = played(2)
    drive(app, (80, 24), ("space", ".", "."), steps=look)

    assert app._source.steps == 3  # type: ignore[attr-defined]
    assert app._source.speed == 1  # type: ignore[attr-defined]


def test_a_speed_that_the_state_word_does_not_show_is_said() -> None:
    held = drive(played(), (80, 24), ("space", "<")).splitlines()
    on = drive(played(), (80, 24), ("space", "<", "space")).splitlines()

    assert held[0].endswith("PAUSED")
    assert held[1] == " speed ×0.5"
    assert on[0].endswith("×0.5")
    assert "msrun 41200" in on[1]


def test_a_recording_does_not_age() -> None:
    """Neither a long gap nor a long pause makes what was shown untrue."""
    now_s = [0.0]
    app = played(gap_s=1.0, speed=1 / 8)
    app._clock = lambda: now_s[0]

    async def age(_: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("space")
        now_s[0] = 36000.0
        await pilot.press("space")

    assert "STALE" not in drive(app, (80, 24), steps=age)
    assert not app.stale


def test_on_a_living_job_the_keys_do_nothing_and_say_so() -> None:
    app = dashboard(reports.eight_ranks())
    last_line = drive(dashboard(reports.eight_ranks()), (120, 40)).splitlines()[-1]

    text = drive(app, (120, 40), ("space", "<", ">", "."))

    assert "live: only a recording can be played faster, slower or frame by frame" in text
    assert "live" not in last_line
    assert "speed" not in last_line
    assert "step" not in last_line
    assert app.state_word().text.strip() == "PAUSED"


def test_help_and_palette_tell_which_of_the_keys_work() -> None:
    palettes: dict[str, str] = {}

    async def read(app: Dashboard, pilot: Pilot[None]) -> None:
        del pilot
        palettes[app._source.pace] = " ".join(f"{one.title}: {one.help}" for one in palette_commands(app))

    live = drive(dashboard(reports.eight_ranks()), (120, 50), ("?",), steps=read)
    playing = drive(played(), (120, 50), ("?",), steps=read)
    held = drive(played(), (120, 50), ("space", "?"), steps=read)

    assert live.count("(live)") == 3
    assert "  <  slower: " in playing
    assert "  .  (playing) the next look" in playing
    assert "  .  the next look" in held
    assert "Slower: not now, live: " in palettes["live 1s"]
    assert "Slower: a recording at half the speed" in palettes["×1"]


def test_the_keys_are_letters_in_the_filter_line() -> None:
    app = played()

    text = drive(app, (80, 24), ("2", "slash", *"<.>", "enter"))

    assert "filter: <.>" in text
    assert app._source.speed == 1  # type: ignore[attr-defined]


def test_a_kept_recording_is_stepped_through_frame_by_frame(snapshots: Path) -> None:
    numbers: list[int] = []
    session = open_replay(str(snapshots / "recordings" / "eight-ranks.nsr"), speed=1 / 8)

    async def look(app: Dashboard, pilot: Pilot[None]) -> None:
        for _ in range(40):
            numbers.append(shown_frame(app))
            if app.report is not None and app.report.ended:
                return
            before = app.report
            await pilot.press(".")
            await until(pilot, lambda before=before: app.report is not before)  # type: ignore[misc]

    app = Dashboard(session, clock=lambda: 0.0)
    text = drive(app, (80, 24), ("space",), steps=look)

    assert all(later - before in (0, 1) for before, later in pairwise(numbers))
    assert numbers[-2:] == [29, 29]
    assert "END: the recording ends here" in text


@given(
    gap_s=st.floats(0.1, 1e5),
    parts=st.lists(st.tuples(st.floats(0, 0.2), st.sampled_from([0.125, 1.0, 8.0, 64.0, None])), max_size=5),
    speed=st.sampled_from([0.125, 1.0, 64.0]),
)
def test_what_is_left_of_a_gap_is_what_was_not_yet_played(
    gap_s: float, parts: list[tuple[float, float | None]], speed: float
) -> None:
    """Each part of it at its own speed; none passes while it is held (None)."""
    gap, now_s, played_s = Gap(0.0, gap_s), 0.0, 0.0
    for share, at in parts:
        gap.left_s(now_s, None if at is None else gap_s / at)
        passed_s = gap_s if at is None else gap_s * share / at
        now_s += passed_s
        played_s += 0.0 if at is None else passed_s * at

    left_s = gap.left_s(now_s, gap_s / speed)

    assert left_s == pytest.approx((gap_s - played_s) / speed, rel=1e-6, abs=1e-6 * gap_s)
