from __future__ import annotations

from numascope.machine.compare import Difference
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
