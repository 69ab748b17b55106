"""The signs of cores in a box: one a core, in groups of neighbours that share something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.machine.objects import CoreKind, Machine
from numascope.show.glyphs import CORES, LIT_CORES, Glyph

_GROUP: Final = 4
"""Cores a group where nothing else makes groups."""
_LARGEST_GROUP: Final = 8


class CoreRun(NamedTuple):
    """Cores of one kind in one box, in groups; `label` names the kind, `firsts` are the lowest CPUs of the groups."""

    label: str
    groups: tuple[tuple[Glyph, ...], ...]
    firsts: tuple[int, ...]
    word: str
    """What a group is: `a cluster of 4`."""
    cpus: tuple[tuple[CpuSet, ...], ...]
    """The CPUs behind each sign."""


class Cells:
    """What is drawn for cores: every online CPU in exactly one core."""

    def __init__(self, machine: Machine, lit: CpuSet | None = None) -> None:
        self._cpus = machine.cpus
        self._lit = lit
        self._kinds = machine.kinds if len(machine.kinds) > 1 else ()
        self._clusters = _owners(one.cpus for one in machine.clusters)
        self._second_level = _owners(
            one.cpus for one in machine.caches if one.level == 2 and one.type != "Instruction" and not one.memory_side
        )
        rest = machine.cpus.online
        cores: list[CpuSet] = []
        for core in machine.cores:
            if core.cpus & rest:
                cores.append(core.cpus & rest)
                rest = rest - core.cpus
        self.lone = rest
        """CPUs of no known core."""
        self.cores = tuple(sorted([*cores, *(CpuSet.of([cpu]) for cpu in rest)], key=lambda core: core.first))

    def runs(self, cores: Sequence[CpuSet]) -> tuple[CoreRun, ...]:
        """The cores of a box by kind, each kind in groups."""
        by_kind = [(kind, [core for core in cores if self._kind_of(core) is kind]) for kind in (*self._kinds, None)]
        return tuple(self._run(_label(kind, members), members) for kind, members in by_kind if members)

    def _kind_of(self, core: CpuSet) -> CoreKind | None:
        return next((kind for kind in self._kinds if core.first in kind.cpus), None)

    def _run(self, label: str, cores: Sequence[CpuSet]) -> CoreRun:
        groups, word = self._grouped(cores)
        return CoreRun(
            label,
            tuple(tuple(self.sign(core) for core in group) for group in groups),
            tuple(group[0].first for group in groups),
            word if len(groups) > 1 else "",
            tuple(map(tuple, groups)),
        )

    def _grouped(self, cores: Sequence[CpuSet]) -> tuple[list[list[CpuSet]], str]:
        """Clusters, or cores that share a second-level cache, or four by four."""
        for owners, word in ((self._clusters, "a cluster of {}"), (self._second_level, "{} cores with one L2")):
            bundles: dict[int, list[CpuSet]] = {}
            for core in cores:
                bundles.setdefault(owners.get(core.first, -1 - core.first), []).append(core)
            sizes = {len(bundle) for bundle in bundles.values()}
            if len(bundles) < len(cores) and max(sizes) <= _LARGEST_GROUP:
                return list(bundles.values()), word.format(max(sizes))
        size = _GROUP if len(cores) > _GROUP + 1 else len(cores)
        return [list(cores[at : at + size]) for at in range(0, len(cores), size)], f"{_GROUP} cores"

    def sign(self, core: CpuSet) -> Glyph:
        """The sign of one core: what is particular about its CPUs, else how many threads it has."""
        if self._lit is not None:
            return LIT_CORES["lit" if core <= self._lit else "lit-part" if core & self._lit else "unlit"]
        cpus = self._cpus
        for name, marked in (
            ("isolated", cpus.isolated | cpus.partitioned),
            ("denied", cpus.online - (cpus.online if cpus.allowed is None else cpus.allowed)),
        ):
            if core & marked:
                return CORES[name if core <= marked else f"{name}-part"]
        if core <= self.lone:
            return CORES["lone"]
        return CORES.get(str(len(core)), CORES["many"])


def offline_run(offline: CpuSet) -> CoreRun:
    """Offline CPUs, four by four: the kernel does not say where they are."""
    ids = list(offline)
    groups = [ids[at : at + _GROUP] for at in range(0, len(ids), _GROUP)]
    sign = CORES["offline"]
    sets = tuple(tuple(CpuSet.of([cpu]) for cpu in group) for group in groups)
    return CoreRun("", tuple((sign,) * len(group) for group in groups), tuple(group[0] for group in groups), "", sets)


def _owners(sets: Iterable[CpuSet]) -> Mapping[int, int]:
    """CPU → the number of the set that holds it."""
    return {cpu: at for at, cpus in enumerate(sets) for cpu in cpus}


def _label(kind: CoreKind | None, cores: Sequence[CpuSet]) -> str:
    """`8 P`; where the kernel gives no name, what it tells them apart by: `3 × 2.0 GHz`."""
    if kind is None:
        return ""
    if kind.kind is not None:
        return f"{len(cores)} {kind.kind}"
    if kind.max_khz is not None:
        return f"{len(cores)} × {kind.max_khz / 1e6:.1f} GHz"
    return f"{len(cores)} × capacity {'?' if kind.capacity is None else kind.capacity}"
