"""A recording that was cut off, torn or forged gives its first frames or one clear error, and never a traceback."""

from __future__ import annotations

import contextlib
import os
import zlib
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from observe.recording.samples import HEADER, Step, idle_sample, read, record, steps

from numascope.errors import InputError
from numascope.observe.recording.format import (
    HEAD_BYTES,
    MAGIC,
    MOST_BYTES,
    Kind,
    encode_header,
    pack_block,
    parse_head,
)
from numascope.observe.recording.frames import Frame, encode_delta, encode_key
from numascope.observe.recording.reader import open_recording

EVEN_SO = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
START = MAGIC + pack_block(Kind.HEADER, encode_header(HEADER))
MACHINE = pack_block(Kind.MACHINE, b"machine")


def end_of_header(data: bytes) -> int:
    return len(MAGIC) + HEAD_BYTES + parse_head(data[len(MAGIC) :]).packed_bytes


def frames_of(path: Path, data: bytes) -> tuple[list[Frame], str]:
    path.write_bytes(data)
    return read(path)


@settings(EVEN_SO, max_examples=5)
@given(steps=steps())
def test_cut_off_at_any_byte_it_gives_the_frames_before(tmp_path: Path, steps: list[Step]) -> None:
    record(tmp_path / "whole", steps, keyframe_every=2)
    data = (tmp_path / "whole").read_bytes()
    wanted = [Frame(*step) for step in steps]
    most = 0

    for cut in range(end_of_header(data), len(data)):
        frames, lost = frames_of(tmp_path / "cut", data[:cut])
        assert frames == wanted[: len(frames)]
        assert lost == f"has no end: it was cut off, or is still being written, after frame {len(frames)}"
        assert len(frames) >= most
        most = len(frames)
    assert most == len(wanted)


def test_cut_off_before_the_end_of_its_header_it_is_one_clear_error(tmp_path: Path) -> None:
    for cut in range(len(START)):
        with pytest.raises(InputError, match=r"is no recording|cut off within its header"):
            frames_of(tmp_path / "cut", START[:cut])


@settings(EVEN_SO, max_examples=100)
@given(steps=steps(), data=st.data())
def test_whatever_byte_is_another_the_frames_before_it_come_back(
    tmp_path: Path, steps: list[Step], data: st.DataObject
) -> None:
    record(tmp_path / "whole", steps, keyframe_every=2)
    raw = bytearray((tmp_path / "whole").read_bytes())
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] ^= data.draw(st.integers(1, 255))

    try:
        frames, lost = frames_of(tmp_path / "torn", bytes(raw))
    except InputError:
        assert at < end_of_header((tmp_path / "whole").read_bytes())
        return
    assert frames == [Frame(*step) for step in steps][: len(frames)]
    assert lost != ""


@settings(EVEN_SO, max_examples=200)
@given(steps=steps(), data=st.data())
def test_a_forged_payload_with_a_right_checksum_is_no_traceback(
    tmp_path: Path, steps: list[Step], data: st.DataObject
) -> None:
    (first, strangers, _), (second, *_) = steps[0], steps[-1]
    payloads = [(Kind.KEY, encode_key(first, strangers)), (Kind.DELTA, encode_delta(second, (), first, strangers))]
    blocks = []
    for kind, payload in payloads:
        forged = bytearray(payload or b"")
        for at in data.draw(st.lists(st.integers(0, max(0, len(forged) - 1)), max_size=3)):
            forged[at : at + 1] = data.draw(st.binary(min_size=0, max_size=3))
        blocks.append(pack_block(kind, bytes(forged)))

    frames, _ = frames_of(tmp_path / "forged", START + MACHINE + b"".join(blocks))

    for frame in frames:
        threads = frame.sample.threads
        columns = (threads.comms, threads.states, threads.cpus, threads.allowed, threads.run_ns, threads.seen)
        assert {len(one) for one in columns} == {len(threads.keys)}


@EVEN_SO
@given(data=st.binary(max_size=300))
def test_any_bytes_are_no_traceback(tmp_path: Path, data: bytes) -> None:
    for start in (b"", MAGIC, START, START + MACHINE):
        (tmp_path / "any").write_bytes(start + data)
        with contextlib.suppress(InputError), open_recording(str(tmp_path / "any")) as recording:
            recording.count_frames()
            assert not list(recording.frames())


@EVEN_SO
@given(
    payload=st.recursive(st.none() | st.integers(-5, 5) | st.text(max_size=3), lambda one: st.lists(one, max_size=12))
)
def test_any_message_is_no_traceback(tmp_path: Path, payload: object) -> None:
    packed = msgspec.msgpack.encode(payload)
    key = pack_block(Kind.KEY, encode_key(idle_sample(8), ()))
    for blocks in (pack_block(Kind.KEY, packed), key + pack_block(Kind.DELTA, packed)):
        frames, lost = frames_of(tmp_path / "any", START + MACHINE + blocks)
        assert len(frames) <= 1
        assert lost.startswith("is damaged after frame")


def test_a_payload_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    packed = zlib.compress(bytes(MOST_BYTES[Kind.END] + 1))
    head = bytes([Kind.END]) + len(packed).to_bytes(4, "big")
    block = head + zlib.crc32(packed, zlib.crc32(head)).to_bytes(4, "big") + packed

    assert frames_of(tmp_path / "bomb", START + MACHINE + block) == (
        [],
        "is damaged after frame 0: it is not what one block unpacks to",
    )


def test_frames_before_any_machine_and_bytes_after_the_end_are_damage(tmp_path: Path) -> None:
    key, end = pack_block(Kind.KEY, encode_key(idle_sample(8), ())), pack_block(Kind.END, b"")

    assert frames_of(tmp_path / "one", START + key) == ([], "is damaged after frame 0: it stands before any machine")
    assert frames_of(tmp_path / "one", START + MACHINE + key + end)[1] == ""
    assert frames_of(tmp_path / "one", START + end + b"x") == (
        [],
        "is damaged after frame 0: something follows its end",
    )


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is no recording"),
        (b"\x7fELF" * 99, "is no recording"),
        (b"numascope recording 0\n", "is no recording"),
        (b"numascope recording x\n", "is no recording"),
        (b"numascope recording 2\n" + START, "is a recording of version 2, which this numascope cannot read"),
        (b"numascope recording 17\n" + START, "is a recording of version 17"),
        (MAGIC, "is cut off within its header"),
        (MAGIC + MACHINE, "its header is damaged"),
        (MAGIC + pack_block(Kind.HEADER, b"\x80"), "its header is damaged"),
        (START[:-3] + b"abc", "its header is damaged"),
    ],
)
def test_what_is_no_recording_is_said_in_one_line(tmp_path: Path, data: bytes, problem: str) -> None:
    path = tmp_path / "one"
    path.write_bytes(data)

    with pytest.raises(InputError) as told:
        open_recording(str(path))
    assert problem in str(told.value)
    assert "\n" not in str(told.value)


def test_what_cannot_be_opened_is_said_too(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, problem in (("absent", "there is no such file"), ("", "is no recording"), ("pipe", "is no recording")):
        with pytest.raises(InputError, match=problem):
            open_recording(str(tmp_path / name))
    with pytest.raises(InputError, match="zero byte"):
        open_recording("a\0b")


def test_texts_of_a_forged_frame_are_harmless(tmp_path: Path) -> None:
    sample = idle_sample(8)
    hostile = encode_key(sample, ()).replace(b"\xa6python", b"\xa6\x1b[31mx")
    frames, _ = frames_of(tmp_path / "one", START + MACHINE + pack_block(Kind.KEY, hostile))

    assert "\\x1b[31mx" in frames[0].sample.threads.comms
    assert all(text.isprintable() for text in frames[0].sample.threads.comms)
    assert {one.comm for one in frames[0].sample.processes.values()} == {"\\x1b[31mx"}
