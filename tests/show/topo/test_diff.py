from __future__ import annotations

from numascope.machine.compare import Comparison, Difference
from numascope.show.ink import plain
from numascope.show.topo.diff import diff_document, diff_lines

FOUND = [
    Difference("machine", "", "online CPUs", "0-79", "0-31"),
    Difference("node", "0", "CPUs", ",".join(map(str, range(0, 80, 2))), None),
    Difference("cores", "of 1 thread", "", None, "32 on CPUs 0-31"),
]


def test_what_is_gone_new_and_changed_has_a_sign_of_its_own() -> None:
    assert [plain(line) for line in diff_lines(FOUND, 80)] == [
        "~ machine: online CPUs 0-79 → 0-31",
        "- node 0: CPUs 0-78:2",
        "+ cores of 1 thread: 32 on CPUs 0-31",
    ]


def test_no_line_is_wider_than_the_screen() -> None:
    assert max(len(plain(line)) for line in diff_lines(FOUND * 3, 40)) <= 40


def test_the_document_holds_each_fact_before_and_after() -> None:
    document = diff_document(FOUND, "live", "other.tar.gz")
    assert document["source"] == {"before": "live", "after": "other.tar.gz"}
    assert document["differences"] == [one._asdict() for one in FOUND]


def test_what_only_one_side_tells_stands_below_and_in_the_notes() -> None:
    words = ["not told by the first: clocks", "not told by the second: hypervisor, node tier"]
    found = Comparison(FOUND[:1], ["clocks"], ["hypervisor", "node tier"])
    assert [plain(line) for line in diff_lines(found, 80)] == ["~ machine: online CPUs 0-79 → 0-31", *words]
    assert [plain(line) for line in diff_lines(Comparison([], [], ["clocks"]), 80)] == [
        "nothing differs",
        "not told by the second: clocks",
    ]
    assert diff_lines(Comparison([]), 80) == []
    assert diff_document(found, "live", "other.xml")["notes"] == words
