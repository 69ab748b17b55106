"""The text of a list and of what became of it: within 80 cells, grouped, each reason said once."""

from __future__ import annotations

import json
from dataclasses import replace

from numascope.cpuset import CpuSet
from numascope.observe.sample import ThreadKey
from numascope.review.change import Change, Fragile, LeftAlone, ProcessMark, Result, Selection, Thread, Undone
from numascope.show.apply import outcomes_text, preview_lines, result_lines, undo_lines
from numascope.show.ink import Line, plain
from numascope.show.journal import ChangeRow, EntryRow, journal_document, journal_lines

MARK = ProcessMark(42207, 8_841_207, ("python", "train.py"))


def change(
    tid: int, label: str = "ActorThread_1", before: str = "0-191", after: str = "129", rank: str = "rank 5 d5"
) -> Change:
    return Change(
        ThreadKey(42207, tid, 8_841_207, 0), label, label, rank, "runtime", CpuSet.parse(before), CpuSet.parse(after),
        "escaped", "", MARK,
    )  # fmt: skip


def row(number: int, state: str = "can be reverted") -> EntryRow:
    one = ChangeRow(
        42207, 42317, 8_841_207, "ActorThread_1", "ActorThread_1", "rank 5 d5", "runtime", CpuSet.parse("0-191"), True,  # noqa: FBT003
        CpuSet.parse("129"), "set", CpuSet.parse("129"), "", None, None,
    )  # fmt: skip
    return EntryRow(
        number, "apply", 1_700_000_000.5 + number, "host", 1004, "boot", "/data/run7/bind.json", "8f3c", "msrun 41200", None,
        state, state == "can be reverted", (one,), 2,
    )  # fmt: skip


def texts(lines: list[Line]) -> list[str]:
    found = [plain(line) for line in lines]
    assert max(map(len, found), default=0) <= 80
    return found


def test_a_dry_run_reads_like_the_question() -> None:
    selection = Selection(
        (change(42317), change(47312, "loader 2", "0", "0-7", "rank 6 d6")),
        (
            LeftAlone(263, "as planned already"),
            LeftAlone(324, "not in the plan; they keep their parent's set", "200 KernelThread, 32 RPC"),
        ),
        589,
    )
    dry = texts(preview_lines(selection, "msrun 41200", dry=True))
    asked = texts(preview_lines(selection, "msrun 41200", dry=False))
    assert dry == [
        "would set 2 of 589 threads of msrun 41200; nothing is changed",
        "",
        "  rank 5 d5  ActorThread_1  42317  0-191  →  129  ! escaped",
        "  rank 6 d6  loader 2       47312  0      →  0-7  ! escaped",
        "",
        "left alone",
        "  263  as planned already",
        "  324  not in the plan; they keep their parent's set: 200 KernelThread, 32 RPC",
    ]
    assert asked[0] == "will set 2 of 589 threads of msrun 41200"
    assert asked[1:] == dry[1:]


def test_what_may_not_last_is_said_once_for_all_that_were_started_alike() -> None:
    fragile = tuple(Fragile(pid, "OMP_PROC_BIND=true", "libgomp") for pid in (47312, 47313, 47400))
    shown = texts(preview_lines(Selection((change(1),), (), 9, fragile), "msrun 41200", dry=True))
    assert shown[-3:] == [
        "may not last",
        "  47312 and 2 more  OMP_PROC_BIND=true: libgomp may set its threads again;",
        "                    numascope hold watches",
    ]


def test_many_alike_are_one_line_and_all_of_them_when_asked() -> None:
    many = Selection(tuple(change(tid) for tid in range(42317, 42357)), (), 40)
    assert texts(preview_lines(many, "msrun 41200", dry=True))[2:] == [
        "  rank 5 d5  ActorThread ×40  42317 …  0-191  →  129  ! escaped"
    ]
    assert len(preview_lines(many, "msrun 41200", dry=True, all_rows=True)) == 42


def test_ranks_are_listed_by_number() -> None:
    shown = Selection(tuple(change(tid, rank=f"rank {rank} d{rank}") for tid, rank in ((5, 10), (6, 2))), (), 2)
    assert [line.split()[1] for line in texts(preview_lines(shown, "x", dry=True))[2:]] == ["2", "10"]


def test_long_sets_are_cut_so_that_a_line_holds() -> None:
    scattered = ",".join(map(str, range(0, 400, 2)))
    selection = Selection(
        (change(42317, "a_very_long_thread_name_indeed", scattered, scattered, "msrun 41200 rank 11 d11"),), (), 1
    )
    texts(preview_lines(selection, "msrun 41200", dry=True))


def test_reasons_of_a_failure_are_said_once() -> None:
    results = [Result(change(tid), "refused", None, "another user's thread") for tid in range(9)]
    assert texts(result_lines(results))[-1] == "      another user's thread"
    assert len(result_lines(results)) == 2
    assert (
        outcomes_text(one.outcome for one in [*results, Result(change(99), "set", CpuSet.parse("129"))])
        == "1 set, 9 refused"
    )


def test_a_revert_says_what_each_gets_and_what_is_left() -> None:
    back = Undone(
        Thread(42207, 42317, 8_841_207), "ActorThread_1", "rank 5 d5", "runtime", CpuSet.parse("129"), CpuSet.parse("0-191"),
        was_cpuset=True, inherited=False, outcome="set", read_back=None,
    )  # fmt: skip
    left = replace(
        back, label="main", outcome="changed", why="somebody set it to 5 since: --force overrides", inherited=True
    )
    assert texts(undo_lines([back, left], dry=True)) == [
        "  rank 5 d5  main  42317  129  →  its cpuset  inherited, changed",
        "      somebody set it to 5 since: --force overrides",
        "  rank 5 d5  ActorThread_1  42317  129  →  its cpuset",
    ]


def test_the_journal_lists_the_newest_first_and_other_boots_last() -> None:
    lines = texts(journal_lines([row(9, "of another boot"), row(1), row(2, "partly, by 3")], ["damaged: x:3: no"]))
    assert [line.split()[0] for line in lines] == ["id", "2", "1", "9", "damaged:"]
    assert lines[2].endswith("3     1    2    0  can be reverted")
    assert lines[1].endswith("partly, by 3")


def test_an_empty_journal_says_so() -> None:
    assert texts(journal_lines([])) == ["nothing was ever changed from here"]


def test_the_document_has_sets_as_text_and_unknown_as_null() -> None:
    document = json.loads(json.dumps(journal_document([row(1)])))
    (entry,) = document["entries"]
    (one,) = entry["changes"]
    assert (document["schema"], document["partial"], entry["id"]) == ("numascope.journal/1", False, 1)
    assert (one["before"], one["before_was_cpuset"], one["after"], one["reverted_by"]) == ("0-191", True, "129", None)
