"""Roles that reach over more than they need: several packages, nodes, or L3 caches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.plan.check.objects import CheckFinding, Hit, Question, Severity, gathered, is_hot
from numascope.plan.why import role_words

_REMEDY: Final = {
    "spread-package": "take its CPUs from one package: its threads share data over the link between packages",
    "spread-node": "take its CPUs from one node: its threads share data over the link between nodes",
    "spread-l3": "take its CPUs from one L3: its threads hand each other data through it",
}


class _Level(NamedTuple):
    """The parts of one kind: rule id, the word for a part, and name → CPUs of each."""

    rule: str
    word: str
    parts: Sequence[tuple[str, CpuSet]]
    largest: int


def spread_roles(question: Question) -> tuple[CheckFinding, ...]:
    """`spread-package`, `spread-node`, `spread-l3`: only of roles that one part would hold, the widest reach of each."""
    machine = question.owners.machine
    caches = [cache for cache in machine.caches if cache.level == 3 and not cache.memory_side]
    levels = (
        _level("spread-package", "package", [(str(one.id), one.cpus) for one in machine.packages]),
        _level("spread-node", "node", [(str(one.id), one.cpus) for one in machine.nodes if one.cpus]),
        _level("spread-l3", "L3", [(str(one.cpus), one.cpus) for one in caches]),
    )
    hits: dict[tuple[str, Severity], list[Hit]] = {}
    for rule in question.owners.plan.rules:
        cpus = rule.cpus & machine.cpus.online
        if rule.nodes is not None or len(cpus) < 2:
            continue
        in_one_node = any(cpus <= node.cpus for node in machine.nodes)
        found = next(_reaches(cpus, levels[2:] if in_one_node else levels), None)
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


def _level(rule: str, word: str, parts: Sequence[tuple[str, CpuSet]]) -> _Level:
    return _Level(rule, word, parts, max((len(cpus) for _, cpus in parts), default=0))


def _reaches(cpus: CpuSet, levels: Sequence[_Level]) -> Iterator[tuple[str, str]]:
    for level in levels:
        if len(cpus) > level.largest:
            continue
        touched = [name for name, part in level.parts if part.bits & cpus.bits]
        if len(touched) > 1:
            names = ", ".join(touched[:4]) + (", …" if len(touched) > 4 else "")
            yield (
                level.rule,
                f"reaches over {len(touched)} {level.word}s ({names}), one would hold its {len(cpus)} CPUs",
            )
