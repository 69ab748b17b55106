"""Where memory lies in the ranks' table, on the map's line, in diff's text and in its document."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import reports

from numascope.observe.balancing import Balancing
from numascope.review.outcome import Outcome
from numascope.review.report import MemoryView, Report
from numascope.show.cpu_words import balancing_words
from numascope.show.diff import diff_lines, memory_text
from numascope.show.diff_document import diff_document
from numascope.show.glyphs import to_ascii
from numascope.show.ink import plain
from numascope.show.rank_lines import gib_figure, off_words, ranks_table

FAR = reports.lies("3", 0.31, 2, 41.4, 1)
LONE = replace(reports.lies("0", 0.0, 0, 0.3), off=None, is_everywhere=True)


def row(report: Report, width: int, rank: int) -> str:
    return plain(ranks_table(report, width, 9)[1 + rank])


@pytest.mark.parametrize(("width", "text"), [(80, "31.0 ±2.6↑  41.4"), (120, "31.0 ±2.6 %↑  41.4"), (67, "31.0 ±2.6↑")])
def test_a_rank_has_its_share_with_the_interval_and_an_arrow_where_it_rose(width: int, text: str) -> None:
    assert text in row(reports.remote_memory(), width, 3)
    assert "0.4 ±0.6" in row(reports.remote_memory(), width, 7)
    assert "↓" in row(reports.remote_memory(), width, 7)


@pytest.mark.parametrize("width", range(40, 202, 3))
def test_heads_stand_above_their_columns_at_every_width(width: int) -> None:
    lines = [plain(line) for line in ranks_table(reports.remote_memory(), width, 9)]
    assert max(map(len, lines)) <= width
    for head, text in (("GiB", "41.4"), ("off-node%", "31.0 ±2.6")):
        if head in lines[0]:
            assert lines[0].index(head) + len(head) == lines[4].index(text) + len(text)


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_where_one_node_has_all_memory_there_is_no_column_of_what_is_off_it(width: int) -> None:
    lines = [plain(line) for line in ranks_table(reports.two_cpus(), width, 9)]
    assert "off-node" not in lines[0]
    assert "0.30" in lines[1]


@pytest.mark.parametrize(
    ("view", "off", "gib"),
    [(None, "?", "?"), (LONE, "–", "0.30"), (FAR, "31.0 ±2.6", "41.4"), (replace(FAR, off=None), "?", "41.4")],
)
def test_unknown_is_a_question_mark_and_not_applicable_a_dash(view: MemoryView | None, off: str, gib: str) -> None:
    assert (off_words(view), gib_figure(view)) == (off, gib)


def test_in_ascii_it_takes_as_many_cells() -> None:
    for line in ranks_table(reports.remote_memory(), 120, 9):
        translated = plain(to_ascii(line))
        assert len(translated) == len(plain(line))
        assert translated.isascii()
    assert "31.0+-2.6" in plain(to_ascii(ranks_table(reports.remote_memory(), 80, 9)[4]))


def test_diff_sums_memory_up_in_a_line_and_says_nothing_of_it_on_one_node() -> None:
    report = reports.remote_memory()
    assert memory_text(report) == "memory: 289.5 GiB of 8 ranks, off their nodes 0.2 to 31.0 %"
    unknown = replace(report, ranks=(replace(report.ranks[3], memory=replace(FAR, off=None)), report.ranks[0]))
    assert memory_text(unknown) == "memory: 82.7 GiB of 2 ranks, off their nodes 0.2 %, of 1 unknown where"
    assert memory_text(reports.two_cpus()) == ""
    text = "\n".join(plain(line) for line in diff_lines(report, Outcome(1, "findings"), width=80))
    assert "≠ remote-memory rank 3: 31.0 ±2.6 % of 41.4 GiB off N3, 12.8 GiB on N2" in text
    assert "numascope apply --memory move 41239 --to 3 --dry-run" in text


def test_the_document_has_share_and_interval_and_the_look_that_they_come_from() -> None:
    document: dict[str, Any] = dict(diff_document(reports.remote_memory()))
    rank = document["ranks"][3]
    assert (rank["share_off"], [round(end, 3) for end in rank["share_interval"]]) == (
        pytest.approx(0.31),
        [0.285, 0.336],
    )
    assert (rank["memory"]["home_nodes"], rank["memory"]["trend"], rank["memory"]["method"]) == (
        "3",
        "more",
        "PAGEMAP_SCAN",
    )
    assert [one["node"] for one in rank["memory"]["nodes"]] == [2, 3]
    assert rank["memory"]["policies"] == [{"policy": "default", "threads": 12, "tids": []}]
    assert json.loads(json.dumps(document)) == document

    lone: dict[str, Any] = dict(diff_document(reports.two_cpus()))
    assert (lone["ranks"][0]["share_off"], lone["ranks"][0]["share_interval"]) == (None, None)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (Balancing(0, 1, 9.0, 1200.0, 1020.0, 30.0), "NUMA balancing: 1,200 faults/s, 85 % local, 30 pages/s moved"),
        (Balancing(0, 1, 0.0, 0.0, 0.0, 0.0), "NUMA balancing: 0 faults/s, 0 pages/s moved"),
        (Balancing(0, 0), ""),
        (Balancing(0, 1), ""),
        (Balancing(), ""),
    ],
)
def test_numa_balancing_is_told_where_it_is_on_and_known(told: Balancing, words: str) -> None:
    assert balancing_words(told) == words
