"""Which of many disjoint objects lie within a set of CPUs, without comparing each with the set."""

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
