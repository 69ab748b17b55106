"""A rank's line: what its threads add up to, and whether its memory policy is as planned. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from numascope.cpuset import EMPTY
from numascope.machine.objects import Machine
from numascope.observe.sample import ProcessFacts
from numascope.plan.objects import Plan
from numascope.plan.resolve import memory_nodes, planned_cpus, planned_nodes
from numascope.review.cast import Cast, CastRank
from numascope.review.memory import judge_place, judge_policy
from numascope.review.memory_places import MemoryPlaces
from numascope.review.report import Placement, RankView


def view_ranks(
    cast: Cast,
    placements: Sequence[Placement],
    processes: Mapping[int, ProcessFacts],
    plan: Plan | None,
    machine: Machine,
    memory: MemoryPlaces,
) -> tuple[RankView, ...]:
    """One view a rank, in the cast's order."""
    return tuple(
        _view(one, [placements[row] for row in rows], processes, plan, machine, memory)
        for one, rows in zip(cast.ranks, cast.rank_rows, strict=True)
    )


def _view(
    one: CastRank,
    placements: Sequence[Placement],
    processes: Mapping[int, ProcessFacts],
    plan: Plan | None,
    machine: Machine,
    memory: MemoryPlaces,
) -> RankView:
    process = processes.get(one.rank.pid)
    active = [one for one in placements if one.busy != 0.0 or one.wait_ms_per_s or one.migrations_per_s]
    waiting = max(active, key=lambda each: each.wait_ms_per_s or 0.0, default=None)
    wanted = None if plan is None or one.subject is None else memory_nodes(plan, one.subject)
    planned = EMPTY if plan is None or one.subject is None else planned_nodes(plan, machine, one.subject)
    verdict, source = judge_policy(process, wanted)
    place = memory.view(one.rank.pid, planned, active, placements)
    return RankView(
        letter=one.letter,
        name=one.name,
        pid=one.rank.pid,
        number=one.rank.number,
        device=one.rank.device,
        device_node=None if one.place is None else one.place.node,
        planned_nodes=planned,
        planned_cpus=EMPTY if plan is None or one.subject is None else planned_cpus(plan, machine, one.subject),
        counts=Counter([each.verdict for each in placements]),
        busy=_sum(each.busy for each in active) if active or not placements else 0.0,
        wait_ms_per_s=0.0 if waiting is None else waiting.wait_ms_per_s,
        wait_label="" if waiting is None else waiting.label,
        migrations_per_s=_sum(each.migrations_per_s for each in active) if active or not placements else 0.0,
        policy=None if process is None else process.policy,
        policy_source=source,
        memory_verdict=judge_place(verdict, place),
        threads=len(placements),
        memory=place,
    )


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
