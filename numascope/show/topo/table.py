"""The text of `numascope topo --format table`: a row a CPU, or a row an object of one kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from numascope.cpuset import CpuSet
from numascope.errors import UsageError
from numascope.machine.objects import Core, Group, Machine
from numascope.show.ink import Line, Span
from numascope.show.topo.columns import UNKNOWN, Column, table
from numascope.show.topo.facts import distance_lines
from numascope.show.topo.rows import (
    MOST_DISTANCES,
    cache_columns,
    device_columns,
    die_columns,
    node_columns,
    or_unknown,
    package_columns,
)
from numascope.show.topo.words import cpu_list, wrap


def table_lines(machine: Machine, width: int, only: str | None = None) -> list[Line]:
    """The machine as an aligned table, none of its lines wider than `width`.

    By default a row for each run of neighbouring CPUs that differ in nothing but their number; with `only` (one of
    `KINDS`) a row for each object of that kind, `pu` for each single CPU. UsageError where there is no such kind.
    """
    if only is None:
        return table(cpu_columns(machine, fold=True), width, "CPUs")
    if only not in KINDS:
        raise UsageError(f"no table of {only[:40]!r}: give one of {', '.join(KINDS)}")
    rows, columns = _TABLES[only]
    lines = table(columns(machine), width, rows)
    return [*lines, *_distances(machine, width)] if only == "node" else lines


def _distances(machine: Machine, width: int) -> list[Line]:
    """What the columns of distances are; where there are too many nodes for columns, the distances."""
    if not any(node.distances for node in machine.nodes):
        return []
    if len(machine.nodes) > MOST_DISTANCES:
        return [(Span(line),) for text in distance_lines(machine, width) for line in wrap(text, width)]
    first = machine.nodes[0].id
    note = f"N{first} and so on are the distances to these nodes as the firmware gives them; 10 is local"
    return [(Span(line, "dim"),) for line in wrap(note, width)]


def cpu_columns(machine: Machine, *, fold: bool) -> list[Column]:
    """A row a CPU that is present; folded, a row a run of CPUs of which the same is known."""
    names, facts = _facts(machine)
    ids = list(machine.cpus.present | machine.cpus.online)
    rows = [tuple(fact(cpu) for fact in facts) for cpu in ids]
    starts = [
        0,
        *(
            at
            for at, (before, row) in enumerate(pairwise(rows), 1)
            if not fold or before != row or ids[at] != ids[at - 1] + 1
        ),
    ]
    runs = [(start, end - 1) for start, end in pairwise([*starts, len(ids)])] if ids else []
    numbers = tuple(str(ids[a]) if a == b else f"{ids[a]}-{ids[b]}" for a, b in runs)
    cells = list(zip(*(rows[first] for first, _ in runs), strict=True)) if runs else [()] * len(names)
    return [
        Column("CPU", numbers, is_number=not any(a != b for a, b in runs), is_name=True),
        *(Column(name, column, is_number=name == "max GHz") for name, column in zip(names, cells, strict=True)),
    ]


def _facts(machine: Machine) -> tuple[list[str], list[Callable[[int], str]]]:
    """The headings, and for each what a CPU has there."""
    cpus = machine.cpus
    cores = {cpu: core for core in machine.cores for cpu in core.cpus}
    alone = all(len(core.cpus) == 1 for core in machine.cores)
    core_sets = {cpu: "of its own" if alone else cpu_list(core.cpus) for cpu, core in cores.items()}
    l3s = {
        cpu: cpu_list(cache.cpus)
        for cache in machine.caches
        if cache.level == 3 and not cache.memory_side
        for cpu in cache.cpus
    }
    speeds = _speeds(machine)
    allowed, isolated = cpus.allowed, cpus.isolated | cpus.partitioned
    untold = "isolated" in machine.untold
    package_of = {cpu: str(package.id) for package in machine.packages for cpu in package.cpus}
    found: list[tuple[str, Callable[[int], str]]] = [
        ("core", _of(core_sets)),
        ("cluster", _of(_numbers(machine.clusters))),
        ("L3", _of(l3s)),
        ("die", _of(_numbers(machine.dies))),
        ("node", lambda cpu: or_unknown(machine.node_of.get(cpu))),
        ("package", _of(package_of)),
        ("kind", lambda cpu: or_unknown(cores[cpu].kind) if cpu in cores else UNKNOWN),
        ("max GHz", lambda cpu: f"{speeds[cpu] / 1e6:.1f}" if cpu in speeds else UNKNOWN),
        ("online", lambda cpu: _yes(cpu in cpus.online)),
        ("allowed", lambda cpu: UNKNOWN if allowed is None else _yes(cpu in allowed)),
        ("isolated", lambda cpu: UNKNOWN if untold and cpu not in isolated else _yes(cpu in isolated)),
    ]
    return [name for name, _ in found], [fact for _, fact in found]


def _of(known: Mapping[int, str]) -> Callable[[int], str]:
    return lambda cpu: known.get(cpu, UNKNOWN)


def _yes(value: object) -> str:
    return "yes" if value else "no"


def _numbers(groups: Sequence[Group]) -> dict[int, str]:
    """CPU → the id of its group."""
    return {cpu: str(group.id) for group in groups for cpu in group.cpus}


def _speeds(machine: Machine) -> dict[int, int]:
    """CPU → the highest frequency in kHz: what the hardware could, else the limit in force, else that of its kind."""
    found: dict[int, int] = {}
    for kind in machine.kinds:
        if kind.max_khz is not None:
            found.update(dict.fromkeys(kind.cpus, kind.max_khz))
    for policy in machine.policies:
        highest = policy.hardware_max_khz if policy.hardware_max_khz is not None else policy.max_khz
        if highest is not None:
            found.update(dict.fromkeys(policy.cpus, highest))
    return found


def core_columns(machine: Machine) -> list[Column]:
    """A row a core: its set of CPUs is its name."""
    cores = machine.cores
    clusters = _numbers(machine.clusters)
    isolated = machine.cpus.isolated | machine.cpus.partitioned
    untold = "isolated" in machine.untold

    def column(head: str, fact: Callable[[Core], object]) -> Column:
        return Column(head, tuple(or_unknown(fact(core)) for core in cores))

    return [
        Column("CPUs", tuple(cpu_list(core.cpus) for core in cores), is_name=True),
        column("core id", lambda core: core.core_id),
        column("threads", lambda core: len(core.cpus)),
        column("cluster", lambda core: clusters.get(core.cpus.first)),
        column("die", lambda core: core.die),
        column("node", lambda core: core.node),
        column("package", lambda core: core.package),
        column("kind", lambda core: core.kind),
        column("allowed", lambda core: _share(core.cpus, machine.cpus.allowed)),
        column("isolated", lambda core: None if untold and not core.cpus <= isolated else _share(core.cpus, isolated)),
    ]


def _share(cpus: CpuSet, among: CpuSet | None) -> str | None:
    """`yes`, `no`, or the CPUs that are."""
    if among is None:
        return None
    inside = cpus & among
    return "no" if not inside else "yes" if inside == cpus else str(inside)


_TABLES: Final[Mapping[str, tuple[str, Callable[[Machine], list[Column]]]]] = {
    "package": ("packages", package_columns),
    "die": ("dies", die_columns),
    "node": ("nodes", node_columns),
    "l3": ("L3 caches", lambda machine: cache_columns(machine, 3)),
    "l2": ("L2 caches", lambda machine: cache_columns(machine, 2)),
    "core": ("cores", core_columns),
    "pu": ("CPUs", lambda machine: cpu_columns(machine, fold=False)),
    "device": ("devices", device_columns),
}

KINDS: Final = tuple(_TABLES)
"""What `only` may be."""
