"""Threads of the job that lived and died between two looks are no strangers on its CPUs."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest
import reports

from numascope.cpuset import CpuSet
from numascope.review.cast import Cast
from numascope.review.conditions import Scene, _unseen
from numascope.review.report import Placement
from numascope.review.strangers import others_on

S = 1_000_000_000


def main(pid: int, allowed: str | None) -> Placement:
    return reports.placement(pid, "main", "main", 0, "0-3", allowed, 0)


def scene(then: dict[int, int], now: dict[int, int], *placements: Placement, seconds: int = 2) -> Scene:
    first = replace(reports.sample(0), unseen_ns=then)
    last = replace(reports.sample(seconds), unseen_ns=now)
    return Scene(
        sample=last, before=first, first=first, cast=Cast((), (), ()), placements=placements, ranks=(), loads={},
        shares={}, nodes={}, cgroups={}, own_busy=0.0,
    )  # fmt: skip


def test_it_is_what_came_up_in_a_second_where_the_main_thread_may_run() -> None:
    assert _unseen(scene({10: S}, {10: 2 * S}, main(10, "0-3"))) == {CpuSet.parse("0-3"): 0.5}


def test_processes_of_one_mask_add_up_and_of_another_stand_by_themselves() -> None:
    found = _unseen(
        scene({10: 0, 11: 0, 12: 0}, {10: S, 11: S, 12: S}, main(10, "0-3"), main(11, "0-3"), main(12, "4"))
    )

    assert found == {CpuSet.parse("0-3"): 1.0, CpuSet.parse("4"): 0.5}


@pytest.mark.parametrize(
    "nothing",
    [
        scene({10: S}, {10: S}, main(10, "0-3")),  # nobody came and went
        scene({}, {10: S}, main(10, "0-3")),  # since when is unknown
        scene({10: 2 * S}, {10: S}, main(10, "0-3")),  # it is another process's
        scene({10: 0}, {10: S}, main(10, None)),  # where they could run is unknown
        scene({10: 0}, {10: S}),  # its main thread is not seen
        scene({10: 0}, {10: S}, main(10, "0-3"), seconds=0),  # no time passed
    ],
)
def test_what_is_not_known_is_not_taken_off(nothing: Scene) -> None:
    assert _unseen(nothing) == {}


def test_what_such_threads_used_is_taken_off_every_cpu_that_they_could_use() -> None:
    unseen = _unseen(scene({10: 0}, {10: S}, main(10, "0-1")))
    others = others_on([], {0: 0.8, 1: 0.3, 2: 0.8}, 0.0, unseen=MappingProxyType(unseen))

    assert others == {0: pytest.approx(0.3), 1: 0.0, 2: 0.8}
