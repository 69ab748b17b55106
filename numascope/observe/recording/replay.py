"""A recording as a source of samples and strangers like the live ones, one frame after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from numascope.cpuset import CpuSet
from numascope.errors import InputError
from numascope.observe.recording.frames import Frame
from numascope.observe.recording.reader import Recording
from numascope.observe.sample import Sample
from numascope.observe.strangers import Stranger

RECORDING_ENDS = "the recording ends here"
"""The note of its last report."""


class Replay:
    """Steps through the frames of a recording; `is_over` once the last one was given."""

    def __init__(self, recording: Recording) -> None:
        self._frames: Iterator[Frame] = recording.frames()
        first = next(self._frames, None)
        if first is None:
            raise InputError(
                recording.path, "holds no whole frame: nothing was seen, or it was cut off before the first"
            )
        self._next: Frame | None = first
        self._frame = first
        self.machine = first.machine or b""
        """The capture of the machine as of the frame that was given last."""

    @property
    def is_over(self) -> bool:
        """Whether every frame was given."""
        return self._next is None

    @property
    def gap_s(self) -> float:
        """The time from the frame that was given last to the next one; 0 at the end."""
        if self._next is None:
            return 0.0
        return max(0.0, (self._next.sample.monotonic_ns - self._frame.sample.monotonic_ns) / 1e9)

    def sample(self) -> Sample:
        """The next frame's sample; at the end the last one again."""
        if self._next is not None:
            self._frame, self._next = self._next, next(self._frames, None)
            self.machine = self._frame.machine or self.machine
        return self._frame.sample

    def scan(self, watched: Collection[int], cpus: CpuSet) -> tuple[Stranger, ...]:
        """Those that were seen then: busy ones, and those on `cpus` at first sight."""
        return tuple(
            one for one in self._frame.strangers if one.pid not in watched and (one.busy is not None or one.cpu in cpus)
        )
