"""Ranges of pages as the journal keeps them, and entries that speak of pages among those that do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from steering import SOURCE, here, store_in

from numascope.errors import UsageError
from numascope.show.journal import journal_document, journal_lines
from numascope.show.journal_detail import detail_lines
from numascope.steer.journal import Entry, OpenEntry, parse_entry
from numascope.steer.ledger import choose, has_work, read_ledger
from numascope.steer.listing import rows_of
from numascope.steer.page_records import (
    Pages,
    PagesBack,
    PagesDone,
    Range,
    addresses_of,
    joined,
    parse_ranges,
    ranges_text,
    without,
)
from numascope.steer.records import Record, decode, encode

PAGE = 4096
numbers = st.sets(st.integers(0, 5_000), max_size=200)


def ranges_of(pages: set[int]) -> tuple[Range, ...]:
    return joined((0x7F00_0000_0000 + one * PAGE for one in sorted(pages)), PAGE)


@given(numbers)
def test_ranges_are_read_as_they_were_written(pages: set[int]) -> None:
    ranges = ranges_of(pages)
    assert parse_ranges(ranges_text(ranges, PAGE), PAGE) == ranges
    assert len(addresses_of(ranges, PAGE)) == len(pages)


@given(numbers, numbers)
def test_what_was_kept_is_left_out(pages: set[int], kept: set[int]) -> None:
    assert without(ranges_of(pages), ranges_of(kept), PAGE) == ranges_of(pages - kept)


@given(st.text(alphabet="0123456789abcdef:,", max_size=60))
def test_a_range_that_the_journal_cannot_hold_is_damage(text: str) -> None:
    raw = encode([pages(1, ())]).replace(b'"ranges":""', b'"ranges":"' + text.encode() + b'"')
    records, damages = decode(raw, "0001.jsonl")
    assert damages
    # The line is no header, so it is damage as the first one; as another it is read or refused as a whole.
    assert records == []


def test_no_address_is_beyond_what_a_process_can_have() -> None:
    assert parse_ranges("fffffffffffffff:fff", PAGE) == ()
    assert parse_ranges("1000:ffffffffffff", PAGE) == ()


def pages(number: int, ranges: tuple[Range, ...], before: int = 0, pid: int = 41_200) -> Pages:
    return Pages(pid, 8_841_200, 140_000, "python", "rank 0 d0", number, before, 1, 4, ranges_text(ranges, PAGE))


FIRST = (Range(0x7F00_0000_0000, 512),)
SECOND = (Range(0x7F00_0040_0000, 100),)


def written(folder: Path, records: list[Record]) -> Entry:
    """An entry of a move, read back."""
    with store_in(folder) as store, store.locked():
        entry = OpenEntry(store, "move", SOURCE)
        entry.intend([one for one in records if isinstance(one, Pages)])
        entry.record([one for one in records if isinstance(one, PagesDone | PagesBack)])
        entry.close()
        assert entry.number is not None
        found, damages = parse_entry(store.read(entry.number), "0001.jsonl")
    assert found is not None
    assert damages == []
    return found


def done(number: int, kept: tuple[Range, ...] = (), **counts: int) -> PagesDone:
    return PagesDone(41_200, 8_841_200, number, counts, 0, ranges_text(kept, PAGE))


def test_what_was_moved_is_what_was_written_without_what_was_kept(tmp_path: Path) -> None:
    kept = (Range(FIRST[0].start + 10 * PAGE, 2),)
    entry = written(tmp_path, [pages(1, FIRST), pages(2, SECOND), done(1, kept, moved=510, busy=2)])
    (one,) = entry.pages
    latest, first = one.blocks()
    assert latest.ranges == SECOND, "after a crash all may have moved"
    assert first.ranges == (Range(FIRST[0].start, 10), Range(FIRST[0].start + 12 * PAGE, 500))
    assert (first.before, first.after, one.owner.start_stack) == (0, 1, 140_000)
    assert one.row().counts == {"moved": 510, "busy": 2, "untried": 100}


def test_an_entry_of_pages_is_work_until_a_revert_went_through_it(tmp_path: Path) -> None:
    written(tmp_path, [pages(1, FIRST), done(1, moved=512)])
    with store_in(tmp_path) as store:
        assert has_work(read_ledger(store).entries[0])
        for ending, left, is_work in (("interrupted", {"untried": 12}, True), ("done", {"moved": 12}, False)):
            with store.locked():
                back = OpenEntry(store, "revert", SOURCE, reverts=1)
                back.begin()
                back.record([PagesBack(41_200, 8_841_200, ending, left)])  # type: ignore[arg-type]
                back.close()
            assert has_work(read_ledger(store).entries[0]) == is_work
        rows = rows_of(read_ledger(store), store.here)
    assert rows[0].state == "reverted by 3"
    assert rows[0].pages[0].left == 0


def test_pages_that_are_elsewhere_are_left_for_a_revert_by_number(tmp_path: Path) -> None:
    written(tmp_path, [pages(1, FIRST), done(1, moved=512)])
    with store_in(tmp_path) as store:
        with store.locked():
            back = OpenEntry(store, "revert", SOURCE, reverts=1)
            back.begin()
            back.record([PagesBack(41_200, 8_841_200, "done", {"moved": 500, "elsewhere": 12})])
            back.close()
        entry = read_ledger(store).entries[0]
    assert (has_work(entry), has_work(entry, force=True), entry.pages[0].row().left) == (False, True, 12)


def test_who_cannot_put_pages_back_is_not_given_an_entry_of_them(tmp_path: Path) -> None:
    written(tmp_path, [pages(1, FIRST), done(1, moved=512)])
    with store_in(tmp_path) as store:
        ledger = read_ledger(store)
        assert choose(ledger, here(), None) is None
        assert choose(ledger, here(), None, moves=True) is ledger.entries[0]
        with pytest.raises(UsageError, match="from a terminal"):
            choose(ledger, here(), 1)


def test_the_list_says_how_much_was_moved(tmp_path: Path) -> None:
    written(tmp_path, [pages(1, FIRST), done(1, moved=512)])
    with store_in(tmp_path) as store:
        lines = journal_lines(rows_of(read_ledger(store), store.here))
    text = "\n".join("".join(span.text for span in line) for line in lines)
    assert "2.0 MiB moved" in text
    assert "can be reverted" in text


def test_an_entry_in_full_says_from_where_to_where_and_what_became_of_the_pages(tmp_path: Path) -> None:
    written(tmp_path, [pages(1, FIRST), pages(2, SECOND, before=2), done(1, moved=510, busy=2)])
    with store_in(tmp_path) as store:
        (row,) = rows_of(read_ledger(store), store.here)
    lines = ["".join(span.text for span in line) for line in detail_lines(row, {}, 100, 12)]
    text = "\n".join(lines)
    assert len(lines) == 12
    assert "python 41200 (rank 0 d0)  node 0 → 1 2.0 MiB, node 2 → 1 0.4 MiB" in text
    assert "pages: 510 moved, 2 busy, 100 untried" in text
    assert "numascope revert 1, from any terminal" in text


def test_the_document_has_the_pages_of_each_process(tmp_path: Path) -> None:
    written(tmp_path, [pages(1, FIRST), done(1, moved=512)])
    with store_in(tmp_path) as store:
        document = journal_document(rows_of(read_ledger(store), store.here))
    entries = document["entries"]
    assert isinstance(entries, list)
    entry = entries[0]
    assert (entry["kind"], entry["changes"]) == ("move", [])
    assert entry["pages"][0]["moves"] == [{"from": 0, "to": 1, "pages": 512}]
    assert entry["pages"][0]["results"] == {"moved": 512}
    assert entry["pages"][0]["left"] == 512
