"""What the reader of a dialect found odd in a plan, as findings of the rules that its notes belong to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from numascope.plan.check.objects import CheckFinding, Hit, gathered
from numascope.plan.objects import NoteKind, Place, Plan, Severity


def noted(plan: Plan, ruled: Sequence[CheckFinding]) -> Iterator[CheckFinding]:
    """The reader's notes, one finding for all with the same remedy, without those that a rule on the machine says of the same place."""
    gathering: dict[tuple[str, Severity, str], list[Hit]] = {}
    for note in plan.notes:
        place = note.place if isinstance(note.place, Place) else Place(note.place or plan.path, 1, 1)
        kind = note.kind
        if not _is_told(kind, place, ruled):
            gathering.setdefault((kind.rule, kind.severity, kind.remedy), []).append(Hit(place, note.text))
    for (rule, severity, remedy), hits in gathering.items():
        yield from gathered(rule, severity, hits, remedy)


def _is_told(kind: NoteKind, place: Place, ruled: Sequence[CheckFinding]) -> bool:
    return any(one.rule.startswith(kind.told_by) and (kind.anywhere or place in one.places) for one in ruled)
