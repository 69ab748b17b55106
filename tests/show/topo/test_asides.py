"""What stands beside the map: borders that are crossed, and lists in steps."""

from __future__ import annotations

import pytest

from numascope.cpuset import CpuSet
from numascope.machine.objects import Cache, Node
from numascope.machine.walk import Overlap, Place
from numascope.show.topo.asides import overlap_words, stepped_words
from numascope.show.topo.words import cpus_named, ordinal

CPUS = CpuSet.span(4, 11)
NODE = Place("node", CPUS, Node(1, CPUS, None, None))
L3 = Place("cache", CPUS, Cache(3, "Unified", 16384, CPUS))


def test_what_lies_in_several_spans_them() -> None:
    assert overlap_words([Overlap(NODE, "package", (0, 1)), Overlap(L3, "package", (0, 1))]) == [
        "node 1 spans packages 0, 1",
        "L3 16 MiB spans packages: 0,1",
    ]


def test_what_crosses_the_border_of_one_is_in_part_in_that() -> None:
    assert overlap_words([Overlap(NODE, "package", (0,)), Overlap(L3, "node", (2,))]) == [
        "node 1 is partly in package 0",
        "L3 16 MiB is partly in node 2",
    ]


@pytest.mark.parametrize(
    ("number", "text"),
    [(2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (21, "21st"), (112, "112th"), (122, "122nd")],
)
def test_steps_are_counted_in_english(number: int, text: str) -> None:
    assert ordinal(number) == text
    (told,) = stepped_words([f"node 0   0-900:{number}"])
    assert told == f"0-900:{number} is every {text} CPU from 0 to 900, as taskset writes it"


def test_one_cpu_is_one() -> None:
    assert (cpus_named(CpuSet.of([3])), cpus_named(CPUS)) == ("CPU 3", "CPUs 4-11")
