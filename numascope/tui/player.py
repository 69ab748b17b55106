"""What `<`, `>` and `.` do: a recording is played faster or slower, and while it is held still a frame at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from numascope.tui.desk import Closed
from numascope.tui.sampling import Sampling
from numascope.tui.source import ReportSource, is_recording

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numascope.tui.app import Dashboard

SLOWEST: Final = 1 / 8
FASTEST: Final = 64.0
"""The speeds that `<` and `>` go to."""

_SPEEDS: Final = ("<", ">")
_STEP: Final = "."
_LIVE: Final = Closed("live", "live: only a recording can be played faster, slower or frame by frame")
_ENDED: Final = Closed("ended", "the last frame was shown: replay the file again to see it from its start")
_PLAYING: Final = Closed("playing", ". steps while the recording is held still: Space holds it")


class Player:
    """Plays the source of one dashboard if that is a recording; lives in the thread of the screen."""

    def __init__(self, app: Dashboard, source: ReportSource, sampling: Sampling) -> None:
        self._app = app
        self._recording = source if is_recording(source) else None
        self._sampling = sampling
        self.is_stepping = False
        """A report that comes while paused was asked for."""

    def closed(self) -> Mapping[str, Closed]:
        """The keys that do nothing now, and why."""
        if self._recording is None:
            return dict.fromkeys((*_SPEEDS, _STEP), _LIVE)
        if self._app.report is not None and self._app.report.ended:
            return dict.fromkeys((*_SPEEDS, _STEP), _ENDED)
        return {} if self._app.paused else {_STEP: _PLAYING}

    def closed_keys(self) -> dict[str, str]:
        """The same, each with its word."""
        return {key: why.word for key, why in self.closed().items()}

    def hold(self, *, held: bool) -> None:
        """Holds a recording still, or lets it go on; a job does neither."""
        self.is_stepping = False
        if self._recording is not None:
            self._sampling.hold(held=held)
            self._app.say("")

    def change_speed(self, doublings: int) -> None:
        """Twice as fast so many times, or half where it is negative; at once, also in the middle of a long gap."""
        recording = self._recording
        if recording is None or not self._may(_SPEEDS[0]):
            return
        before = recording.speed
        wanted = min(FASTEST, max(SLOWEST, before * 2.0**doublings))
        if (wanted > before) == (doublings > 0):  # one that was started beyond the ends does not jump back to them
            recording.speed = wanted
            self._sampling.look_up()
        is_shown = recording.pace in self._app.state_word().text
        self._app.say("" if is_shown else f"speed {recording.pace}")

    def step(self) -> None:
        """The next frame of a recording that is held still: one that came just as it was held, else a new one."""
        if not self._may(_STEP):
            return
        if self._app.newest is not self._app.report:
            self._app.show_newest()
        else:
            self.is_stepping = True
            self._sampling.step_held()

    def _may(self, key: str) -> bool:
        """Whether it can be done; if not, why is said."""
        why = self.closed().get(key)
        if why is not None:
            self._app.say(why.sentence)
        return why is None
