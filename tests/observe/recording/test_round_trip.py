"""What is written comes back, field by field, and what did not change as the same object."""

from __future__ import annotations

import os
import resource
import signal
import stat
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from observe.recording.samples import HEADER, Step, idle_sample, next_sample, read, record, steps
from processes import program

from numascope.errors import InputError
from numascope.host.root import HostRoot
from numascope.observe.recording.columns import advanced, moved, rows_of, spliced
from numascope.observe.recording.frames import Frame, encode_delta
from numascope.observe.recording.reader import open_recording
from numascope.observe.recording.writer import Recorder
from numascope.observe.sample import Sample, Threads
from numascope.observe.sampler import Sampler
from numascope.observe.strangers import Stranger

EVEN_SO = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
COUNTERS = st.lists(st.none() | st.integers(0, 99), max_size=9)


@EVEN_SO
@given(steps=steps(), keyframe_every=st.integers(1, 4))
def test_any_samples_come_back_as_they_were(tmp_path: Path, steps: list[Step], keyframe_every: int) -> None:
    record(tmp_path / "one", steps, keyframe_every=keyframe_every)

    frames, lost = read(tmp_path / "one")

    assert frames == [Frame(*step) for step in steps]
    assert lost == ""
    with open_recording(str(tmp_path / "one")) as recording:
        assert recording.count_frames() == len(steps)


@EVEN_SO
@given(steps=steps())
def test_what_did_not_change_is_the_same_object(tmp_path: Path, steps: list[Step]) -> None:
    record(tmp_path / "one", steps, keyframe_every=2)

    samples = [frame.sample for frame in read(tmp_path / "one")[0]]

    for before, after in pairwise(samples):
        for pid, facts in after.processes.items():
            assert facts is before.processes.get(pid) or facts != before.processes.get(pid)
        if before.threads.keys == after.threads.keys:
            assert after.threads.keys is before.threads.keys
            assert after.threads.row_of is before.threads.row_of
        for one in filter(None, after.threads.allowed):
            assert all(one is other for other in before.threads.allowed if one == other)


@given(before=COUNTERS, data=st.data())
def test_counters_that_moved_are_where_they_went(before: list[int | None], data: st.DataObject) -> None:
    after = data.draw(st.lists(st.none() | st.integers(0, 99), min_size=len(before), max_size=len(before)))

    assert advanced(before, moved(before, after)) == after


def test_rows_are_taken_out_and_put_in_where_they_are_in_the_new_column() -> None:
    assert spliced("abcd", [0, 2], [1, 3], "XY") == ["b", "X", "d", "Y"]
    assert spliced("", [], [0], "X") == ["X"]
    with pytest.raises(IndexError):
        spliced("a", [], [2], "X")


def test_rows_rise_within_their_column() -> None:
    assert rows_of([2, 1, 4], 8) == [2, 3, 7]
    for gaps in ([2, 0], [8], [-1]):
        with pytest.raises(ValueError, match="rise"):
            rows_of(gaps, 8)


def test_rows_in_another_order_need_a_keyframe(tmp_path: Path) -> None:
    first = idle_sample(8)
    keys = first.threads.keys[::-1]
    second = replace(first, threads=replace(first.threads, keys=keys, row_of={key: at for at, key in enumerate(keys)}))

    assert encode_delta(second, (), first, ()) is None
    record(tmp_path / "one", [(first, (), b"machine"), (second, (), None)])
    assert [frame.sample for frame in read(tmp_path / "one")[0]] == [first, second]


def test_a_frame_can_be_read_while_the_recording_goes_on(tmp_path: Path) -> None:
    path, sample = str(tmp_path / "one"), idle_sample(8)
    with Recorder(path, HEADER, redact=False) as recorder, open_recording(path) as recording:
        recorder.machine(b"machine")
        recorder.write(sample, (Stranger(7, "stress", 3, 0.5),))

        assert list(recording.frames()) == [Frame(sample, (Stranger(7, "stress", 3, 0.5),), b"machine")]
        assert recording.lost == "has no end: it was cut off, or is still being written, after frame 1"
        assert recorder.bytes_written == (tmp_path / "one").stat().st_size
        assert recorder.frames == 1


def test_the_header_comes_back_and_says_whether_it_was_redacted(tmp_path: Path) -> None:
    record(tmp_path / "one", [], redact=False)
    record(tmp_path / "two", [], redact=True)

    with open_recording(str(tmp_path / "one")) as one, open_recording(str(tmp_path / "two")) as two:
        assert (one.header.redacted, two.header.redacted) == (False, True)
        assert two.header == HEADER


def test_a_file_that_is_there_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("mine")

    with pytest.raises(InputError, match="one: is there already: give another name"):
        Recorder(str(tmp_path / "one"), HEADER)
    assert (tmp_path / "one").read_text() == "mine"


def test_a_recording_is_for_its_owner_alone(tmp_path: Path) -> None:
    record(tmp_path / "one", [])

    assert stat.S_IMODE((tmp_path / "one").stat().st_mode) == 0o600


def test_a_disk_that_fills_up_leaves_the_frames_before(tmp_path: Path) -> None:
    """A limit of the file's size stands for the disk: the kernel takes a part of the block and then no more."""
    random = Random(1)  # noqa: S311  # any numbers will do
    path, sample = tmp_path / "one", idle_sample(1000)
    child = os.fork()
    if child == 0:
        os._exit(_fills_up(str(path), sample, random))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3

    frames, lost = read(path)
    assert len(frames) == 3
    assert lost.startswith("has no end")


def _fills_up(path: str, sample: Sample, random: Random) -> int:
    """How many frames were written until InputError; in a process of its own, for the limit stays."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    recorder = Recorder(path, HEADER)
    recorder.machine(b"machine")
    for _ in range(3):
        recorder.write(sample, ())
        sample = next_sample(sample, 1.0, random)
    most = recorder.bytes_written + 100
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    try:
        recorder.write(sample, ())
    except InputError as error:
        return recorder.frames if "cannot be written any further" in str(error) else 98
    return 99


def test_a_recording_begins_with_its_machine(tmp_path: Path) -> None:
    with Recorder(str(tmp_path / "one"), HEADER) as recorder, pytest.raises(ValueError, match="machine"):
        recorder.write(idle_sample(8), ())


def bytes_a_frame(path: Path, active: float) -> list[int]:
    """Sizes of the frames of a minute with 10,000 threads."""
    random, sample, sizes = Random(3), idle_sample(10_000), []  # noqa: S311  # any numbers will do, the same each time
    with Recorder(str(path), HEADER) as recorder:
        recorder.machine(b"")
        for _ in range(60):
            before = recorder.bytes_written
            recorder.write(sample, ())
            sizes.append(recorder.bytes_written - before)
            sample = next_sample(sample, active, random)
    return sizes


def test_ten_thousand_threads_of_which_a_twentieth_works_take_12_kib_a_frame(tmp_path: Path) -> None:
    sizes = bytes_a_frame(tmp_path / "one", 0.05)

    assert sum(sizes) / 60 <= 12 << 10


def test_ten_thousand_threads_that_sleep_take_next_to_nothing(tmp_path: Path) -> None:
    sizes = bytes_a_frame(tmp_path / "one", 0.0)

    assert max(sizes[1:]) <= 1 << 10


@pytest.mark.live
def test_a_real_process_tree_is_read_back_as_it_was_sampled(tmp_path: Path) -> None:
    code = (
        "named('half', spin, 0.5); named('asleep', sleep)\n"
        "def churn():\n    while True: thread(time.sleep, 0.001); time.sleep(0.01)\n"
        "thread(churn)\nif os.fork() == 0: sleep()\nready(); sleep()"
    )
    steps: list[Step] = []
    with program(code) as child:
        sampler = Sampler(HostRoot(), [child.pid], [0])
        steps += [(sampler.sample(), (), b"machine" if at == 0 else None) for at in range(30)]
        sampler.close()
    record(tmp_path / "one", steps, keyframe_every=7)

    frames, lost = read(tmp_path / "one")

    assert frames == [Frame(*step) for step in steps]
    assert lost == ""
    assert len(frames[-1].sample.processes) == 2
    assert isinstance(frames[-1].sample.threads, Threads)
