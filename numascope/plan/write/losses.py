"""What of a plan a form cannot say: each loss with its place, and those that are alike told together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numascope.cpuset import LARGEST_ID, CpuSet
from numascope.plan.make.made import RoleCpus
from numascope.plan.objects import Place, Subject
from numascope.plan.write.outline import MEMORY, Places


class Loss(NamedTuple):
    """What of a subject is lost (a role, its memory; empty: all of it), its own figures, why, and where the plan says it."""

    subject: Subject | None
    """None: of the whole plan."""
    what: str
    detail: str
    why: str
    place: Place | None = None

    def __str__(self) -> str:
        """`bind.json:4:41: runtime of device0 (CPU 0-1): srun binds a rank as a whole`."""
        detail = f" ({self.detail})" if self.detail else ""
        return self._line("" if self.subject is None else f"{self.subject}{detail}", "")

    def of(self, subjects: str, more: int) -> str:
        """The same of several subjects, with how many more places there are."""
        return self._line(subjects, f" and {more} more" if more else "")

    def _line(self, subjects: str, more: str) -> str:
        place = "" if self.place is None else f"{self.place}{more}: "
        whose = f"{self.what} of {subjects}: " if self.what and subjects else f"{self.what or subjects}: "
        return f"{place}{whose}{self.why}"


class Losses:
    """Gathers what is lost, each with its place where the plan has one."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self.found: list[Loss] = []

    def add(self, subject: Subject, role: str, why: str, *, what: str = "", detail: str = "") -> None:
        """Notes that something of one role, or of `MEMORY`, is lost."""
        of_subject = (place for (whose, of), place in self._places.items() if whose == subject and of != MEMORY)
        place = self._places.get((subject, role)) or (next(of_subject, None) if role != MEMORY else None)
        self.found.append(Loss(subject, what, detail, why, place))

    def role(self, subject: Subject, one: RoleCpus, why: str) -> None:
        """Notes the loss of a role."""
        self.add(subject, one.role, why, what=one.role, detail=f"CPU {one.cpus or 'none'}")

    def memory(self, subject: Subject, nodes: CpuSet | None, why: str) -> None:
        """Notes the loss of a memory policy; no nodes: that of the local one."""
        self.add(subject, MEMORY, why, what=MEMORY, detail=f"node {nodes}" if nodes else "the local node")

    def nodes(self, subject: Subject, one: RoleCpus) -> None:
        """Notes that nodes in the place of CPUs cannot be named."""
        detail = f"node {one.nodes}, CPU {one.cpus or 'none'}"
        self.add(subject, one.role, "written as the CPUs that they have here", what="nodes", detail=detail)

    def whole(self, what: str, why: str) -> None:
        """Notes the loss of a setting of the whole plan."""
        self.found.append(Loss(None, what, "", why))


def told(losses: Sequence[Loss]) -> list[str]:
    """A line for all subjects of which the same is lost for the same reason; the figures of each are in the plan itself."""
    alike: dict[tuple[str, str], list[Loss]] = {}
    for one in losses:
        alike.setdefault((one.what, one.why), []).append(one)
    return [str(group[0]) if len(group) == 1 else _together(group) for group in alike.values()]


def _together(group: Sequence[Loss]) -> str:
    numbers = [one.subject.device for one in group if one.subject is not None and one.subject.device is not None]
    small = CpuSet.of(number for number in numbers if number <= LARGEST_ID)
    names = [f"devices {small}"] if len(small) > 1 else [f"device{number}" for number in small]
    names += [f"device{number}" for number in sorted(set(numbers)) if number > LARGEST_ID]
    names += sorted({str(one.subject) for one in group if one.subject is not None and one.subject.device is None})
    return group[0].of(" and ".join(names), len({one.place for one in group}) - 1)
