"""What a move says before, meanwhile and after."""

from __future__ import annotations

from collections.abc import Iterable

from numascope.cpuset import CpuSet
from numascope.show.ink import Line
from numascope.show.move import (
    counts_text,
    pace_text,
    policy_lines,
    preview_document,
    preview_lines,
    progress_text,
    result_document,
    result_lines,
)
from numascope.show.page_rows import MovePreview, MoveResult, PageOwner, Survey

OWNER = PageOwner(41_200, 8_841_200, 140_000, "python", "rank 3 d3")
SURVEY = Survey({0: 51_603, 1: 2_371}, {0: 51_200, 1: 1_254}, {0: 403, 1: 1_117}, {}, 12_000_000)
PREVIEW = MovePreview(
    OWNER, CpuSet.of([2]), "the plan binds its memory there", "default", SURVEY, {2: 338_842}, 0, {}
)  # fmt: skip


def text_of(lines: Iterable[Line]) -> str:
    return "\n".join("".join(span.text for span in line) for line in lines)


def test_a_preview_has_each_node_what_moves_and_what_stays() -> None:
    assert text_of(preview_lines(PREVIEW, dry=True, width=100)) == (
        "would move 204.9 MiB of 210.8 MiB of python 41200 (rank 3 d3) to node 2; nothing is changed\n"
        "  the plan binds its memory there; every page listed in 0.01 s of CPU\n"
        "  node           in memory     to move   shared, stays\n"
        "  N0             201.6 MiB   200.0 MiB         1.6 MiB\n"
        "  N1               9.3 MiB     4.9 MiB         4.4 MiB\n"
        "  N2 wanted        0.0 MiB\n"
        "  shared: other processes map these pages too (libraries, files, forked memory)\n"
        "  room above the kernel's watermarks: 330.9 MiB on node 2; needed: 204.9 MiB"
    )


def test_no_room_and_missing_huge_pages_are_said_before() -> None:
    survey = SURVEY._replace(to_move={0: 51_200}, huge={2048: 20})
    preview = MovePreview(OWNER, CpuSet.of([2]), "as --to says", None, survey, {2: 1_024}, 3 << 20, {2048: 8})
    text = text_of(preview_lines(preview, dry=False, width=80))
    assert "will move" in text
    assert "needed: 160.0 MiB" in text, "huge pages come from their own pool"
    assert "not all of it has room" in text
    assert "3.0 GiB there are page cache, which --push-out-cache has the kernel drop for it" in " ".join(text.split())
    assert "huge pages of 2 MiB (hugetlbfs): 20 would move, 8 are free on node 2" in text
    assert max(map(len, text.splitlines())) <= 80


def test_room_with_the_page_cache_that_may_go_is_said_to_be_that() -> None:
    preview = MovePreview(OWNER, CpuSet.of([2]), "as --to says", None, SURVEY, {2: 3 << 20}, 3 << 20, {}, push_out=True)
    text = " ".join(text_of(preview_lines(preview, dry=False, width=80)).split())
    assert "room, with page cache that can be dropped: 3.0 GiB on node 2; needed:" in text
    assert "--push-out-cache" not in text


def test_room_that_is_not_known_is_no_room_that_is_missing() -> None:
    preview = MovePreview(OWNER, CpuSet.of([2]), "as --to says", None, SURVEY, {}, 0, {})
    text = text_of(preview_lines(preview, dry=False, width=80))
    assert "watermarks: ?;" in text
    assert "not all of it" not in text


def test_pages_that_do_not_say_where_they_lie_are_told_of_before() -> None:
    survey = SURVEY._replace(untold=1_024, watched=2_560)
    preview = MovePreview(OWNER, CpuSet.of([2]), "as --to says", None, survey, {2: 338_842}, 0, {})
    text = " ".join(text_of(preview_lines(preview, dry=True, width=80)).split())
    assert "of 214.8 MiB of python" in text
    assert "1,024 pages (4.0 MiB) did not say where they lie (NUMA balancing): they are left alone" in text
    assert "2,560 pages (10.0 MiB) are watched by NUMA balancing" in text
    result = MoveResult(OWNER, "done", {"moved": 1, "watched": 2}, 0, 0.1)
    assert "; 2 left alone, NUMA balancing watches them" in counts_text(result)
    document = preview_document(preview)
    assert (document["untold"], document["watched"]) == (1_024, 2_560)


def test_what_a_move_cannot_do_is_said() -> None:
    text = text_of(policy_lines({"python 7": "default", "python 8": "bind:0"}, 1, "2", 200))
    assert "python 7 still go where its policy says (default: where the thread runs that touches them first)" in text
    assert "python 8 still go where its policy says (bind:0: where that says)" in text
    assert "cannot be set: start it under numactl --membind=2" in text
    assert "NUMA balancing is on" in text
    assert "NUMA balancing" not in text_of(policy_lines({"python 7": None}, 0, "2", 200))


def test_progress_is_a_bar_on_a_terminal_and_figures_elsewhere() -> None:
    assert progress_text(25_600, 51_200, 0.1, bar=False, width=80) == " 50 %  100.0 MiB of 200.0 MiB  0.98 GiB/s"
    bar = progress_text(25_600, 51_200, 0.1, bar=True, width=80)
    assert bar.startswith("[############............]  50 %")
    assert len(progress_text(51_200, 51_200, 9.0, bar=True, width=40)) < 40
    assert "0.25 s" not in pace_text(65_536, 1.0, 512)
    assert "at most 1 GiB/s in batches of 512 pages: 0.2 s or more" in pace_text(65_536, 1.0, 512)


def test_each_outcome_is_counted_and_an_early_end_has_its_reason() -> None:
    result = MoveResult(OWNER, "no-room", {"moved": 1_024, "busy": 3, "no-room": 7}, 2, 0.5, "node 2 has no more room")
    assert counts_text(result) == (
        "1,024 pages (4.0 MiB) moved, with 2 large pages each as a whole; 3 busy or pinned; 7 stay, no room"
    )
    text = text_of(result_lines([result], 120))
    assert "no room: node 2 has no more room" in text
    assert "1,024 pages (4.0 MiB) back" in text_of(result_lines([result], 120, back=True))


def test_the_documents_have_every_outcome_and_unknown_is_null() -> None:
    found = preview_document(PREVIEW)
    assert found["to_nodes"] == "2"
    nodes = found["nodes"]
    assert isinstance(nodes, list)
    assert nodes[0] == {"node": 0, "pages": 51_603, "to_move": 51_200, "shared": 403, "room_kib": None}
    pages = result_document(MoveResult(OWNER, "done", {"moved": 5}, 0, 0.1))["pages"]
    assert isinstance(pages, dict)
    assert (pages["moved"], pages["busy"], len(pages)) == (5, 0, 9)
