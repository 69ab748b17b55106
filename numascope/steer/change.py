"""What would be changed: for each thread its set before and after. The list of a dry run is the list that is done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from numascope.cpuset import CpuSet
from numascope.observe.sample import ThreadKey
from numascope.review.report import Placement


@dataclass(frozen=True, slots=True)
class Change:
    """One thread's affinity mask, as it is and as the plan wants it."""

    key: ThreadKey
    label: str
    before: CpuSet
    after: CpuSet


def changes_of(placements: Iterable[Placement], *, inferred: bool = False) -> tuple[Change, ...]:
    """The threads of a planned role whose mask is not their target; roles told by evidence only with `inferred`."""
    return tuple(
        Change(one.key, one.label, one.allowed, one.target.cpus)
        for one in placements
        if one.target is not None
        and one.target.cpus
        and one.allowed is not None
        and one.allowed != one.target.cpus
        and one.verdict not in ("pending", "unknown")
        and (inferred or one.role.confidence == "named")
    )
