"""Journal files as they may be found: torn, damaged, or written by somebody with ideas."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from steering import SOURCE, here, store_in

from numascope.cpuset import CpuSet
from numascope.errors import InputError
from numascope.host.here import boot_ticks
from numascope.review.change import Thread
from numascope.steer.journal import Entry, OpenEntry, Source, parse_entry
from numascope.steer.ledger import read_ledger
from numascope.steer.records import Done, Header, Intent, Record, decode, encode, from_hex, hex_mask


def intent(tid: int, before: str = "ff", after: str = "1") -> Intent:
    return Intent(41200, tid, 8_841_207, 8_841_200, "python", "main", "rank 0 d0", "main", before, False, after)  # noqa: FBT003


def header() -> Header:
    return Header(
        "numascope.journal/1", 7, "apply", 1_700_000_000.5, 12, "host", 1004, "boot", 1, 2, "bind.json", "8f3c", "msrun"
    )


RECORDS: list[Record] = [
    header(),
    *(intent(tid) for tid in range(1, 5)),
    *(Done(41200, tid, 8_841_207, "set", "1") for tid in range(1, 5)),
    intent(2, before="1", after="2"),
    Done(41200, 2, 8_841_207, "trimmed", "2", "cut"),
]
FILE = encode(RECORDS)


def entry(data: bytes) -> Entry:
    found, _ = parse_entry(data, "0007.jsonl")
    assert found is not None
    return found


def test_what_was_written_is_read() -> None:
    found = entry(FILE)
    assert found.header == header()
    assert [one.thread.tid for one in found.changes] == [1, 2, 3, 4]
    assert found.damages == ()


def test_a_thread_set_twice_has_the_first_old_set_and_the_last_new_one() -> None:
    twice = entry(FILE).changes[1]
    assert (str(twice.before), str(twice.after), twice.outcome) == ("0-7", "1", "trimmed")


def test_an_attempt_that_was_refused_leaves_the_one_before_it() -> None:
    more = encode([intent(1, before="1", after="4"), Done(41200, 1, 8_841_207, "refused")])
    first = entry(FILE + more).changes[0]
    assert (str(first.before), str(first.after), first.outcome) == ("0-7", "0", "set")


def test_without_a_result_a_thread_may_have_been_set() -> None:
    (one,) = entry(encode([header(), intent(1)])).changes
    assert one.outcome is None
    assert one.is_open


@given(st.integers(0, len(FILE)))
@settings(max_examples=300)
def test_a_file_torn_at_any_byte_is_read_up_to_there(at: int) -> None:
    found, damages = parse_entry(FILE[:at], "0007.jsonl")
    assert damages == []
    whole = FILE[:at].count(b"\n")
    assert (found is None) == (whole == 0)
    if found is not None:
        written = RECORDS[1:whole]
        assert {one.thread.tid for one in found.changes} == {one.tid for one in written if isinstance(one, Intent)}


@given(st.integers(1, len(RECORDS) - 1), st.binary(max_size=40).filter(lambda raw: b"\n" not in raw))
def test_a_damaged_line_is_named_and_the_rest_is_used(number: int, raw: bytes) -> None:
    lines = FILE.splitlines()
    lines[number] = raw
    records, damages = decode(b"\n".join(lines) + b"\n", "0007.jsonl")
    assert [one.place for one in damages] == [f"0007.jsonl:{number + 1}"]
    assert records == [one for at, one in enumerate(RECORDS) if at != number]


@pytest.mark.parametrize(
    "wrong",
    [
        {"pid": 0}, {"pid": -1}, {"pid": "41200"}, {"tid": 1 << 40}, {"before": ""}, {"before": "0x1"}, {"before": "f" * 16385},
        {"before": "1\n"}, {"after": None}, {"starttime": -5}, {"comm": 5}, {"comm": "x" * 5000}, {"before_was_cpuset": 1},
        {"line": "command"},
    ],
)  # fmt: skip
def test_a_field_that_no_record_has_is_never_used(wrong: dict[str, object]) -> None:
    line = {**json.loads(encode([intent(1)])), **wrong}
    records, damages = decode(encode([header()]) + json.dumps(line).encode() + b"\n", "x")
    assert records == [header()]
    assert [one.place for one in damages] == ["x:2"]


def test_without_a_header_no_pid_is_trusted() -> None:
    found, damages = parse_entry(encode([intent(1)]), "x")
    assert found is None
    assert len(damages) == 1


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_an_error(raw: bytes) -> None:
    parse_entry(raw, "x")


@given(st.sets(st.integers(0, 8191)))
def test_a_mask_is_read_as_it_was_written(cpus: set[int]) -> None:
    assert from_hex(hex_mask(CpuSet.of(cpus))) == CpuSet.of(cpus)


def test_control_characters_in_a_record_never_reach_a_screen() -> None:
    line = json.loads(encode([intent(1)])) | {"comm": "a\x1b[31m", "rank": "b\u202e"}
    found = entry(encode([header()]) + json.dumps(line).encode() + b"\n").changes[0]
    assert found.comm == "a\\x1b[31m"
    assert found.rank == "b\\u{202e}"


def test_an_entry_in_the_place_of_another_is_not_used(tmp_path: Path) -> None:
    with store_in(tmp_path) as store:
        (tmp_path / "numascope" / here().boot_id / "0003.jsonl").write_bytes(FILE)
        ledger = read_ledger(store)
    assert ledger.entries == ()
    assert "not the entry" in ledger.damages[0].problem


def test_records_written_are_on_the_disk_before_anybody_goes_on(tmp_path: Path) -> None:
    """File and directory are synced, in this order, and the first change starts in a later clock tick than the header names."""
    done: list[str] = []

    class Watched:
        def append(self, descriptor: int, data: bytes) -> int:
            done.append("append")
            return os.write(descriptor, data)

        def sync(self, descriptor: int) -> None:
            done.append("directory" if descriptor == store.directory else "file")

    with store_in(tmp_path) as store, store.locked():
        one = OpenEntry(store, "apply", Source("bind.json", "8f", "python"), disk=Watched())
        one.intend([intent(1)])
        assert one.began_ticks is not None
        assert boot_ticks() > one.began_ticks
        one.intend([intent(2)])
        one.close()
        found = read_ledger(store).entries[0]
    assert done == ["append", "file", "directory", "append", "file"]
    assert [change.thread for change in found.changes] == [Thread(41200, 1, 8_841_207), Thread(41200, 2, 8_841_207)]


def test_a_hold_that_fills_its_entry_goes_on_in_a_new_one_with_the_first_old_sets(tmp_path: Path) -> None:
    """Reverting the newest alone gives a thread what it had before the hold began."""
    with store_in(tmp_path) as store, store.locked():
        one = OpenEntry(store, "hold", SOURCE, full_bytes=1_000)
        one.intend([intent(tid) for tid in range(1, 6)])
        one.record([Done(41200, tid, 8_841_207, "set", "1") for tid in range(1, 6)])
        one.intend([intent(2, before="2"), intent(9, before="2")])
        numbers = [*one.earlier, one.number]
        one.close()
        first, second = read_ledger(store).entries
    assert numbers == [1, 2]
    assert len(first.changes) == 5
    assert {each.thread.tid: each.before for each in second.changes} == {2: CpuSet(0xFF), 9: CpuSet(0x2)}


def test_anything_else_that_fills_its_entry_stops(tmp_path: Path) -> None:
    with store_in(tmp_path) as store, store.locked():
        one = OpenEntry(store, "apply", SOURCE, full_bytes=1_000)
        one.intend([intent(tid) for tid in range(1, 6)])
        with pytest.raises(InputError, match="is full"):
            one.intend([intent(6)])
        one.close()
        assert store.ids() == [1]
