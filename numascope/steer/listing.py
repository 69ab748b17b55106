"""The journal as the rows that screens and documents show."""

from __future__ import annotations

from numascope.host.here import Here
from numascope.show.journal import ChangeRow, EntryRow
from numascope.steer.journal import Entry, Recorded
from numascope.steer.ledger import Ledger, has_work, is_ours
from numascope.steer.records import printable


def rows_of(ledger: Ledger, here: Here) -> tuple[EntryRow, ...]:
    """All entries, those of other boots too, oldest first."""
    return tuple(row_of(one, here) for one in (*ledger.elsewhere, *ledger.entries))


def row_of(entry: Entry, here: Here) -> EntryRow:
    """One entry, with what can be done with it in words."""
    header = entry.header
    return EntryRow(
        id=header.id,
        kind=header.kind,
        wall_s=header.wall_s,
        host=printable(header.host),
        uid=header.uid,
        boot_id=printable(header.boot_id),
        plan=None if header.plan is None else printable(header.plan),
        plan_sha256=None if header.plan_sha256 is None else printable(header.plan_sha256),
        title=printable(header.title),
        reverts=header.reverts,
        state=_state(entry, here),
        can_revert=is_ours(entry, here) and has_work(entry, force=True),
        changes=tuple(_change(one) for one in entry.changes),
        gone=sum(one.result == "gone" for one in entry.results),
        pages=tuple(one.row() for one in entry.pages),
    )


def _state(entry: Entry, here: Here) -> str:
    if entry.header.boot_id != here.boot_id:
        return "of another boot"
    if not is_ours(entry, here):
        return "of another namespace" if entry.header.uid == here.uid else "of another user"
    if entry.header.kind == "revert":
        return "done"
    by = [one.reverted_by for one in entry.changes] + [one.reverted_by for one in entry.pages]
    back = sorted({number for number in by if number is not None})
    words = f"reverted by {', '.join(map(str, back))}" if back else ""
    if not has_work(entry, force=True):
        return words or "nothing to undo"
    return f"partly, by {', '.join(map(str, back))}" if back else "can be reverted"


def _change(one: Recorded) -> ChangeRow:
    return ChangeRow(
        *one.thread,
        comm=one.comm,
        label=one.label,
        rank=one.rank,
        role=one.role,
        before=one.before,
        before_was_cpuset=one.before_was_cpuset,
        after=one.after,
        result=one.outcome,
        read_back=one.read_back,
        why=one.why,
        reverted_by=one.reverted_by,
        revert_result=one.revert_outcome,
    )
