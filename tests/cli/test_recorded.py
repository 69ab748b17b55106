"""A session on a recording, as the dashboard plays it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from numascope.cli.recorded import ReplaySession, open_replay


@pytest.fixture
def session(snapshots: Path) -> Iterator[ReplaySession]:
    """One that was recorded every second."""
    opened = open_replay(str(snapshots / "recordings" / "torchrun.nsr"))
    yield opened
    opened.close()


def test_the_time_to_the_next_frame_follows_the_speed_at_once(session: ReplaySession) -> None:
    session.step()
    seen = []
    for speed in (1, 0.125, 8):
        session.speed = speed
        seen.append(session.interval_s)

    assert seen[0] == pytest.approx(1.0, abs=0.05)
    assert seen == pytest.approx([seen[0], 8 * seen[0], seen[0] / 8])


def test_frames_do_not_come_without_any_rest(session: ReplaySession) -> None:
    session.step()
    session.speed = 1e9

    assert session.interval_s == 0.01


def test_asked_for_the_time_while_a_frame_is_read_it_tells_the_last_one(session: ReplaySession) -> None:
    """The screen's thread asks whenever it likes; only the sampler's may move the replay."""
    session.step()
    before = session.interval_s

    while not session.replay.is_over:
        session.replay.sample()

    assert session.interval_s == before


@pytest.mark.parametrize(
    ("speed", "word"), [(1, "×1"), (4, "×4"), (0.5, "×0.5"), (0.125, "×0.125"), (1000, "×1000"), (100 / 3, "×33.33")]
)
def test_the_pace_is_told_in_eight_cells(session: ReplaySession, speed: float, word: str) -> None:
    session.speed = speed

    assert session.pace == word
    assert len(word) <= 8
