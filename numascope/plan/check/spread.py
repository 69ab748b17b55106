"""Roles that reach over more than they need: several packages, nodes, or L3 caches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.plan.check.objects import CheckFinding, Hit, Question, gathered, is_hot
from numascope.plan.objects import Severity
from numascope.plan.owners import role_words

_REMEDY: Final = {
    "spread-package": "take its CPUs from one package: its threads share data over the link between packages",
    "spread-node": "take its CPUs from one node: its threads share data over the link between nodes",
    "spread-l3": "take its CPUs from one L3: its threads hand each other data through it",
}


class _Level(NamedTuple):
    """The parts of one kind: rule id, the word for a part, name → CPUs of each, and CPU → the bits of its part."""

    rule: str
    word: str
    parts: Sequence[tuple[str, CpuSet]]
    home: Mapping[int, int]
    most_cpus: int
    most_cores: int


def spread_roles(question: Question) -> tuple[CheckFinding, ...]:
    """`spread-package`, `spread-node`, `spread-l3`: only of roles that one part would hold, the widest reach of each."""
    machine = question.owners.machine
    firsts = CpuSet.of(core.cpus.first for core in machine.cores)
    caches = [cache for cache in machine.caches if cache.level == 3 and not cache.memory_side]
    package, node, l3 = (
        _level("spread-package", "package", [(str(one.id), one.cpus) for one in machine.packages], firsts),
        _level("spread-node", "node", [(str(one.id), one.cpus) for one in machine.nodes if one.cpus], firsts),
        _level("spread-l3", "L3", [(str(one.cpus), one.cpus) for one in caches], firsts),
    )
    hits: dict[tuple[str, Severity], list[Hit]] = {}
    for rule in question.owners.plan.rules:
        cpus = rule.cpus & machine.cpus.online
        if rule.nodes is not None or len(cpus) < 2:
            continue
        levels = (l3,) if _is_within(node, cpus) else (package, node, l3)
        found = next((reach for level in levels if (reach := _reach(question, cpus, level))), None)
        if found is None or (found[0] == "spread-l3" and not is_hot(rule)):
            continue
        name, words = found
        severity: Severity = "warning" if name == "spread-package" and is_hot(rule) else "info"
        hits.setdefault((name, severity), []).append(Hit(rule.place, f"{role_words(rule)} {words}"))
    return tuple(
        finding
        for (name, severity), found_hits in hits.items()
        for finding in gathered(name, severity, found_hits, _REMEDY[name])
    )


def _level(rule: str, word: str, parts: Sequence[tuple[str, CpuSet]], firsts: CpuSet) -> _Level:
    home = {cpu: part.bits for _, part in parts for cpu in part}
    cpus = max((len(part) for _, part in parts), default=0)
    return _Level(rule, word, parts, home, cpus, max((len(part & firsts) for _, part in parts), default=0))


def _is_within(level: _Level, cpus: CpuSet) -> bool:
    return not cpus.bits & ~level.home.get(cpus.first, 0)


def _reach(question: Question, cpus: CpuSet, level: _Level) -> tuple[str, str] | None:
    """What one part holds with as many cores of its own: a role of one thread a core is not to be put on fewer cores."""
    if len(cpus) > level.most_cpus or _is_within(level, cpus):
        return None
    if len(cpus) > level.most_cores > 0 and _count_cores(question, cpus) > level.most_cores:
        return None
    touched = [name for name, part in level.parts if part.bits & cpus.bits]
    if len(touched) < 2:
        return None
    names = ", ".join(touched[:4]) + (", …" if len(touched) > 4 else "")
    return level.rule, f"reaches over {len(touched)} {level.word}s ({names}), one would hold its {len(cpus)} CPUs"


def _count_cores(question: Question, cpus: CpuSet) -> int:
    return len({question.owners.cores[cpu].first for cpu in cpus if cpu in question.owners.cores})
