"""CPU time outside is bounded by what two samples prove, and never guessed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.cpuset import CpuSet
from numascope.review.evidence import NOTHING, Look, extend

TARGET = CpuSet.parse("0-3")
WIDE = CpuSet.parse("0-7")
MS = 1_000_000


def look(cpu: int | None, run_ms: int | None, migrations: int | None, allowed: CpuSet | None = WIDE) -> Look:
    return Look(cpu, allowed, None if run_ms is None else run_ms * MS, migrations)


@pytest.mark.parametrize(
    ("before", "after", "bounds_ms", "seen"),
    [
        (look(5, 0, 7), look(5, 40, 7), (40, 40), 1),  # outside all along, no migration: exact
        (look(1, 0, 7), look(1, 40, 7), (0, 0), 0),  # inside all along
        (look(1, 0, 7), look(5, 40, 8), (0, 40), 1),  # ended outside: from none to all
        (look(5, 0, 7), look(1, 40, 8), (0, 40), 0),  # began outside
        (look(5, 0, 7), look(6, 40, 8), (40, 40), 1),  # one move from outside to outside
        (look(5, 0, 7), look(6, 40, 9), (0, 40), 1),  # two moves: it may have been inside
        (look(1, 0, 7), look(2, 40, 9), (0, 40), 0),  # inside at both ends, moved, and the mask reaches out
        (look(1, 0, 7, TARGET), look(2, 40, 9, TARGET), (0, 0), 0),  # moved within a mask that does not
        (look(1, 0, 7, TARGET), look(2, 40, 9, None), (0, 40), 0),  # an unknown mask proves nothing
        (look(5, 40, 7), look(5, 40, 7), (0, 0), 0),  # did not run: its CPU is old news
        (look(5, 0, None), look(5, 40, None), (0, 40), 1),  # no migration count: the same CPU twice is no proof
        (look(None, 0, 7), look(5, 40, 7), (0, 40), 1),
        (look(1, None, 7), look(5, 40, 8), (0, 0), 0),  # CPU time unknown
        (look(1, 50, 7), look(5, 40, 8), (0, 0), 0),  # ran backward: another program by now
    ],
)
def test_each_interval_gives_the_bounds_it_proves(
    before: Look, after: Look, bounds_ms: tuple[int, int], seen: int
) -> None:
    outside = extend(NOTHING, before, after, TARGET)

    assert (outside.min_ns, outside.max_ns) == (bounds_ms[0] * MS, bounds_ms[1] * MS)
    assert outside.seen == seen
    assert outside.samples == 1


@st.composite
def journeys(draw: st.DrawFn) -> tuple[list[tuple[int, int]], list[int]]:
    """What a thread did: (CPU, ms) pieces, and after which pieces somebody looked."""
    pieces = draw(st.lists(st.tuples(st.integers(0, 7), st.integers(1, 30)), min_size=1, max_size=30))
    looks = draw(st.sets(st.integers(0, len(pieces) - 1), min_size=1, max_size=len(pieces)))
    return pieces, sorted(looks)


@given(journeys())
def test_the_truth_always_lies_within_the_bounds(journey: tuple[list[tuple[int, int]], list[int]]) -> None:
    pieces, looks = journey
    outside, run_ms, migrations, true_ms = NOTHING, 0, 0, 0
    before = look(pieces[0][0], 0, 0)
    at: int = pieces[0][0]
    measured_ms = 0
    for index, (cpu, length_ms) in enumerate(pieces):
        migrations += cpu != at
        at = cpu
        run_ms += length_ms
        true_ms += length_ms if cpu not in TARGET else 0
        if index in looks:
            after = look(cpu, run_ms, migrations)
            outside = extend(outside, before, after, TARGET)
            before = after
            measured_ms = true_ms

    assert outside.min_ns <= measured_ms * MS <= outside.max_ns
