"""Whoever watches for days keeps no more at the end than at the start: a short day, its clock passed in, of a job that never stands still."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.live

BENCH = Path(__file__).resolve().parent.parent.parent / "bench"
TICKS, LOOKS = 1_500, 3


@pytest.fixture(scope="module")
def day() -> Iterator[ModuleType]:
    found = importlib.util.spec_from_file_location("day", BENCH / "day.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.path.insert(0, str(BENCH))
    try:
        found.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(BENCH))


def test_what_is_kept_does_not_grow_while_threads_and_processes_come_and_go(day: ModuleType) -> None:
    with day.restless_job(2, 60) as (pid, step):
        first, *_, last = day.looks_of(pid, step, TICKS, LOOKS, lambda: 0)

    assert first.threads == last.threads == 61
    assert first.tick == TICKS // LOOKS
    assert {"Placer._ledgers", "Sampler._processes", "Columns.keys", "ProcessTree._members"} <= last.kept.keys()
    assert last.descriptors == first.descriptors
    assert day.grown(first, last) == []


def test_one_entry_a_thread_that_was_born_would_be_noticed(day: ModuleType) -> None:
    """The comparison itself: a container that keeps the ended threads of ten ticks is told by its name."""
    kept = Counter({"Placer._ledgers": 60})
    first = day.Look(500, 90, 60, 70, 0, 0, kept)
    last = first._replace(tick=1_500, kept=Counter({"Placer._ledgers": 160}))

    assert day.grown(first, last) == ["Placer._ledgers: 60 → 160"]
    assert day.grown(first, first._replace(descriptors=71)) == ["open descriptors: 70 → 71"]
