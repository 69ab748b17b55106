from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from numascope.cli import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numascope.cli.steering import Style
    from numascope.host.root import HostRoot
    from numascope.review.change import Undone
    from numascope.steer.journal import Entry
    from numascope.steer.ledger import Ledger
    from numascope.steer.store import Store


@click.command(short_help="Give threads back the sets that an apply replaced.")
@click.argument("number", metavar="[ID]", type=click.IntRange(1), required=False, default=None)
@click.option("--list", "only_list", is_flag=True, help="What was changed from here, and what of it can be put back.")
@click.option("--force", is_flag=True, help="Also threads whose set somebody changed since.")
@click.option("--dry-run", is_flag=True, help="Only say what would be put back; ends 1 where there is something.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="The journal document.")
@click.option("--all-rows", is_flag=True, help="Every thread on a line of its own.")
@options.width()
@options.ascii_only()
def revert(
    *,
    number: int | None,
    only_list: bool,
    force: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    all_rows: bool,
    width: int | None,
    ascii_only: bool,
) -> None:
    """Give every thread its own old set back, if it is still the same thread and still has the set that we wrote.

    Without ID: the newest apply of this boot that has something to put back. Works after a crash, from any terminal.

    Exit code: 0 done, or nothing to do; 1 some thread is not back, or with --dry-run something is to do; 2 bad usage
    or input; 4 every thread is gone.
    """
    from numascope.cli.output import terminal_width
    from numascope.cli.steering import Style, need_consent
    from numascope.host.procfs import lives_in
    from numascope.host.root import HostRoot
    from numascope.steer.ledger import choose, read_ledger
    from numascope.steer.store import opened_store

    if not only_list:
        need_consent(dry_run=dry_run, yes=yes, as_json=as_json)
    style = Style(as_json, all_rows, terminal_width(width), ascii_only)
    root = HostRoot()
    with opened_store(root, os.environ, create=False) as store:
        if store is None:
            code = _nothing(style, number)
        elif only_list:
            code = _list(store, style)
        else:
            ledger = read_ledger(store)
            entry = choose(ledger, store.here, number, force=force, lives=lives_in(root), moves=True)
            if entry is None:
                code = _nothing(style, None, ledger)
            elif entry.header.kind == "move":
                code = _pages(root, store, entry, style, ledger, dry_run=dry_run, yes=yes)
            elif dry_run:
                code = _preview(root, entry, style, ledger, force=force)
            else:
                code = put_back(root, store, entry, style, force=force, yes=yes)
    raise click.exceptions.Exit(code)


def _pages(
    root: HostRoot, store: Store, entry: Entry, style: Style, ledger: Ledger, *, dry_run: bool, yes: bool
) -> int:
    from numascope.cli.move_revert import preview_pages_back, put_pages_back

    if dry_run:
        return preview_pages_back(root, entry, style, [str(one) for one in ledger.damages])
    return put_pages_back(root, store, entry, style, yes=yes)


def _nothing(style: Style, number: int | None, ledger: Ledger | None = None) -> int:
    from numascope.errors import UsageError
    from numascope.show.journal import journal_document

    if number is not None:
        raise UsageError(f"no entry {number}: nothing was ever changed from here in this boot")
    notes = [] if ledger is None else [str(one) for one in ledger.damages]
    style.document(journal_document((), notes, {"undone": []}))
    for note in notes:
        style.text(f"damaged: {note}")
    if notes:
        style.text("exit 1: what the entries that cannot be read changed may still be in force")
        return 1
    style.text("exit 0: nothing of ours is left to put back")
    return 0


def _list(store: Store, style: Style) -> int:
    from numascope.show.journal import journal_document, journal_lines
    from numascope.steer.ledger import read_ledger
    from numascope.steer.listing import rows_of

    ledger = read_ledger(store)
    rows = rows_of(ledger, store.here)
    notes = [f"damaged: {one}" for one in ledger.damages]
    style.lines(journal_lines(rows, notes, style.width))
    style.document(journal_document(rows, notes))
    return 0


def _preview(root: HostRoot, entry: Entry, style: Style, ledger: Ledger, *, force: bool) -> int:
    from numascope.show.journal import journal_document, undone_document
    from numascope.steer.apply import Hand
    from numascope.steer.revert import plan_revert

    found = plan_revert(entry, Hand(root), force=force)
    due = _show_list(entry, found, style, "would put back")
    notes = [str(one) for one in ledger.damages]
    more = {"dry_run": True, "reverts": entry.header.id, "undone": [undone_document(one) for one in found]}
    style.document(journal_document((), notes, more))
    for note in notes:
        style.text(f"damaged: {note}")
    style.text("exit 1: dry run, nothing was tried" if due else "exit 0: there is nothing to do")
    return 1 if due else 0


def _show_list(entry: Entry, found: Sequence[Undone], style: Style, verb: str) -> int:
    """How many threads would be set, after the list was printed."""
    import os

    from numascope.show.apply import threads_text, undo_lines
    from numascope.show.ink import Span
    from numascope.steer.records import printable

    due = sum(one.outcome == "set" for one in found)
    plan = os.path.basename(printable(entry.header.plan or ""))
    what = f"{entry.header.kind} {plan}".strip()
    head = f"{verb} {threads_text(due)} of entry {entry.header.id}, {what} to {printable(entry.header.title)}"
    style.lines(
        [(Span(head, bold=True),), (), *undo_lines(found, dry=True, all_rows=style.all_rows, width=style.width)]
    )
    return due


def put_back(root: HostRoot, store: Store, entry: Entry, style: Style, *, force: bool, yes: bool) -> int:
    """Shows and asks unless `yes`, puts an entry's threads back, and tells; the exit code."""
    from numascope.cli.steering import agrees
    from numascope.show.apply import threads_text
    from numascope.steer.apply import Hand
    from numascope.steer.ledger import putting_back
    from numascope.steer.revert import plan_revert, revert_entry

    hand = Hand(root)
    if not yes:
        due = _show_list(entry, plan_revert(entry, hand, force=force), style, "will put back")
        if due and not agrees(f"put back {threads_text(due)}?"):
            style.text("exit 1: nothing was changed")
            return 1
    with putting_back(store, entry.header.id, force=force) as (again, into):
        found = revert_entry(again, into, hand, force=force)
    return _tell(store, into.number, found, style, entry.header.id)


def _tell(store: Store, number: int | None, found: Sequence[Undone], style: Style, reverted: int) -> int:
    from numascope.cli.steering import entry_rows
    from numascope.review.change import FAILED
    from numascope.show.apply import outcomes_text, undo_lines
    from numascope.show.journal import journal_document, undone_document

    outcomes = [one.outcome for one in found]
    failed = sum(one in FAILED for one in outcomes)
    style.text(
        f"entry {reverted}: {outcomes_text(outcomes)}{'; each read back' if outcomes else ' is left to put back'}"
    )
    style.lines(undo_lines([one for one in found if one.outcome in FAILED], all_rows=style.all_rows, width=style.width))
    code, reason = 0, "done"
    if outcomes and set(outcomes) == {"gone"}:
        code, reason = 4, "every thread is gone"
    elif failed:
        code, reason = 1, f"{failed} not put back"
    if style.as_json:
        more = {"dry_run": False, "reverts": reverted, "undone": [undone_document(one) for one in found]}
        style.document(journal_document(entry_rows(store, number), (), more))
    style.text(f"exit {code}: {reason}")
    return code
