"""CPU and bytes of a recording's frames: 10,000 threads of eight ranks, 5 % of which ran in each second."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from random import Random

from commands import ratio, row

from numascope.observe.recording.reader import open_recording
from numascope.observe.recording.writer import Recorder

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests/observe/recording"))

from samples import HEADER, idle_sample, next_sample  # the samples that its tests are made of

THREADS, ACTIVE, FRAMES = 10_000, 0.05, 120
PROMISED_BYTES = 12 << 10


def main() -> None:
    """Prints both directions, and the size of a frame beside what was promised."""
    random = Random(7)  # noqa: S311  # any numbers will do, but the same ones each time
    sample, written_s = idle_sample(THREADS), 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "bench.nsr"))
        with Recorder(path, HEADER) as recorder:
            recorder.machine(b"")
            before = recorder.bytes_written
            for _ in range(FRAMES):
                began_s = time.thread_time()
                recorder.write(sample, ())
                written_s += time.thread_time() - began_s
                sample = next_sample(sample, ACTIVE, random)
            frame_bytes = (recorder.bytes_written - before) / FRAMES
        began_s = time.thread_time()
        with open_recording(path) as recording:
            read = sum(1 for _ in recording.frames())
        read_s = time.thread_time() - began_s
    assert read == FRAMES
    print(f"a recording of {THREADS:,} threads, {ACTIVE:.0%} active, {FRAMES} frames, keyframes among them")
    row("writing a frame", written_s / FRAMES)
    row("reading a frame", read_s / FRAMES)
    print(f"  {'size of a frame':<44} {frame_bytes / 1024:8.2f} KiB")
    ratio("size / promised", frame_bytes / PROMISED_BYTES, f"promised: at most {PROMISED_BYTES >> 10} KiB")


if __name__ == "__main__":
    main()
