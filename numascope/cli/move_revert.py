"""`numascope revert` of an entry that moved pages: each back to the node that it came from, if it still is where we moved it to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numascope.cli.steering import Style
    from numascope.host.root import HostRoot
    from numascope.show.page_rows import MoveResult
    from numascope.steer.journal import Entry
    from numascope.steer.store import Store


def preview_pages_back(root: HostRoot, entry: Entry, style: Style, notes: Sequence[str]) -> int:
    """Says what would go back; 1 where something would, else 0."""
    from numascope.show.journal import journal_document
    from numascope.show.move import result_document

    found = _look(root, entry, style, "would move")
    more = {"dry_run": True, "reverts": entry.header.id, "undone_pages": [result_document(one) for one in found]}
    style.document(journal_document((), notes, more))
    for note in notes:
        style.text(f"damaged: {note}")
    due = sum(one.of("moved") for one in found)
    style.text("exit 1: dry run, nothing was moved" if due else "exit 0: there is nothing to do")
    return 1 if due else 0


def _look(root: HostRoot, entry: Entry, style: Style, verb: str) -> Sequence[MoveResult]:
    from numascope.cli.move import LIMIT_GIB_S
    from numascope.show.ink import Span
    from numascope.show.move import counts_text, size_of
    from numascope.steer.page_carry import PageHand
    from numascope.steer.page_revert import plan_pages_back
    from numascope.steer.records import printable

    found = plan_pages_back(entry, PageHand(root, LIMIT_GIB_S * 2**30))
    due = sum(one.of("moved") for one in found)
    head = f"{verb} {size_of(due)} of entry {entry.header.id}, move of {printable(entry.header.title)}, back"
    style.lines([(Span(head, bold=True),)])
    for one in found:
        style.text(f"{one.owner.name}: {counts_text(one, back=True, dry=True)}")
        if one.ending != "done":
            style.text(f"{one.ending.replace('-', ' ')}: {one.why}")
    return found


def put_pages_back(root: HostRoot, store: Store, entry: Entry, style: Style, *, yes: bool) -> int:
    """Shows and asks unless `yes`, moves the pages back, and tells; the exit code."""
    from numascope.cli.going_on import end_between_looks
    from numascope.cli.move import LIMIT_GIB_S
    from numascope.cli.progress import Progress
    from numascope.cli.steering import agrees
    from numascope.show.move import size_of
    from numascope.steer.ledger import putting_back
    from numascope.steer.page_carry import PageHand
    from numascope.steer.page_revert import pages_back

    if not yes:
        due = sum(one.of("moved") for one in _look(root, entry, style, "will move"))
        if due and not agrees(f"move {size_of(due)} back?"):
            style.text("exit 1: nothing was changed")
            return 1
    with putting_back(store, entry.header.id, moves=True) as (again, into):
        progress = Progress(sum(one.row().left for one in again.pages), style)
        hand = PageHand(root, LIMIT_GIB_S * 2**30, pause=end_between_looks(), told=progress.add)
        try:
            found = pages_back(again, into, hand)
        finally:
            progress.end()
    return _tell(store, into.number, found, style, entry.header.id)


def _tell(store: Store, number: int | None, found: Sequence[MoveResult], style: Style, reverted: int) -> int:
    from numascope.cli.move import ending_of
    from numascope.cli.steering import entry_rows
    from numascope.show.journal import journal_document
    from numascope.show.move import result_document, result_lines

    style.text(
        f"entry {reverted}: {'pages go back to where they came from' if found else 'nothing is left to put back'}"
    )
    style.lines(result_lines(found, style.width, back=True))
    code, reason = ending_of(found)
    left = sum(one.of("elsewhere") for one in found)
    if code == 0 and left:
        code, reason = 1, f"{left:,} pages were left alone"
    if code == 130:
        reason = f"interrupted; numascope revert {reverted} goes on"
    more = {"dry_run": False, "reverts": reverted, "undone_pages": [result_document(one) for one in found]}
    style.document(journal_document(entry_rows(store, number), (), more))
    style.text(f"exit {code}: {reason}")
    return code
