"""Many sets looked up by CPU instead of compared one by one: what lies within a set, and who alone has a CPU."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from numascope.cpuset import CpuSet


class _HasCpus(Protocol):
    @property
    def cpus(self) -> CpuSet:
        """Its hardware threads."""
        ...


_Thing = TypeVar("_Thing", bound=_HasCpus)


class Within(Generic[_Thing]):
    """Disjoint objects of one level (cores, clusters) by their lowest CPU."""

    def __init__(self, things: Iterable[_Thing]) -> None:
        self._by_first = {thing.cpus.first: thing for thing in things if thing.cpus}

    def of(self, cpus: CpuSet) -> list[_Thing]:
        """Those that lie wholly within these CPUs, by lowest CPU."""
        by_first = self._by_first
        return [by_first[cpu] for cpu in cpus if cpu in by_first and by_first[cpu].cpus <= cpus]


def sole_owners(sets: Iterable[tuple[int, CpuSet]]) -> dict[int, int]:
    """CPU → the number of the set that has it, where one does alone."""
    found: dict[int, int] = {}
    twice: set[int] = set()
    for number, cpus in sets:
        for cpu in cpus:
            if cpu in found:
                twice.add(cpu)
            found[cpu] = number
    return {cpu: number for cpu, number in found.items() if cpu not in twice}
