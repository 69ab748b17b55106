from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from numascope.cli import options
from numascope.cli.arguments import FilePath, Number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numascope.cli.session import Session
    from numascope.cli.steering import Style
    from numascope.review.change import Selection
    from numascope.review.report import Report
    from numascope.steer.apply import Hand
    from numascope.steer.change import OldMain
    from numascope.steer.settle import Select, Settled
    from numascope.steer.store import Store

LOOK_S: Final = 0.3
"""How long to look before the list is made, so that it says who spent time outside."""

LOOKS: Final = 3


class _MoveWords(NamedTuple):
    """The options that are about memory alone."""

    to: str | None
    limit_gib_s: float | None
    push_out: bool


@click.command(short_help="Put threads on their planned cores, with an undo record first.")
@click.argument("plan", type=FilePath(), required=False)
@click.argument("targets", nargs=-1, metavar="[PID | PID=deviceN | PID=scheduler | NAME]...")
@click.option("--dry-run", is_flag=True, help="Only say what would be set; ends 1 where there is something.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--all", "everything", is_flag=True, help="Every thread of a rank; unplanned ones get main's CPUs.")
@click.option("--inferred", is_flag=True, help="Also threads whose role is told by evidence, not by name.")
@click.option("--memory", type=click.Choice(["move"]), help="Move the pages of each rank to its nodes instead.")
@click.option("--to", metavar="NODES", help="With --memory: these nodes; PLAN is then not needed.")
@click.option(
    "--limit",
    "limit_gib_s",
    metavar="GIB/S",
    type=Number(0.001, 1000.0),
    help="With --memory: how fast at most (1).",
)
@click.option(
    "--push-out-cache",
    "push_out",
    is_flag=True,
    help="With --memory: let the kernel drop page cache where a node has no room.",
)
@click.option("--json", "as_json", is_flag=True, help="The journal document.")
@options.match()
@options.pending_for()
@options.dialect()
@options.roles()
@click.option("--all-rows", is_flag=True, help="Every thread on a line of its own.")
@options.width()
@options.ascii_only()
def apply(
    *,
    plan: str | None,
    targets: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    everything: bool,
    inferred: bool,
    memory: str | None,
    to: str | None,
    limit_gib_s: float | None,
    push_out: bool,
    as_json: bool,
    match: str | None,
    pending_s: float,
    dialect: str | None,
    roles: str | None,
    all_rows: bool,
    width: int | None,
    ascii_only: bool,
) -> None:
    """Set the affinity of threads that are not where PLAN puts them.

    First shows what it will set and asks. Every old set is on the disk before the first is replaced: numascope revert
    puts them back, also after a crash. Memory stays where it is, but with --memory move: then pages are moved to the
    nodes of the plan or of --to, and no thread is touched.

    Exit code: 0 done, or nothing to do; 1 some thread did not take its set, or with --dry-run something is to do;
    2 bad usage or input; 4 every target is gone.
    """
    from numascope.cli.arguments import own_names
    from numascope.cli.output import terminal_width
    from numascope.cli.session import open_session
    from numascope.cli.steering import Style, need_consent
    from numascope.cli.targets import parse_targets

    if plan is None and (memory is None or to is None):
        raise click.UsageError("give the PLAN that says where threads belong; numascope plan make makes one")
    style = Style(as_json, all_rows, terminal_width(width), ascii_only)
    about_memory = _MoveWords(to, limit_gib_s, push_out)
    if memory is not None:
        if everything or inferred:
            raise click.UsageError("--all and --inferred are about threads, and --memory move touches none")
        code = _move(plan, targets, match, about_memory, dialect, dry_run=dry_run, yes=yes, style=style)
        raise click.exceptions.Exit(code)
    if any(one not in (None, False) for one in about_memory):
        raise click.UsageError("--to, --limit and --push-out-cache are about memory: give --memory move with them")
    wanted = parse_targets(targets, match)
    own = own_names(roles)
    session = open_session(
        wanted,
        plan,
        interval_s=1.0,
        window_s=1.0,
        pending_for_s=pending_s,
        dialect=dialect,
        own=own,
        with_memory=False,
    )
    try:
        need_consent(dry_run=dry_run, yes=yes, as_json=as_json)
        code = _apply(session, style, selector(inferred=inferred, everything=everything), dry_run=dry_run, yes=yes)
    finally:
        session.close()
    raise click.exceptions.Exit(code)


def _move(
    plan: str | None,
    targets: tuple[str, ...],
    match: str | None,
    words: _MoveWords,
    dialect: str | None,
    *,
    dry_run: bool,
    yes: bool,
    style: Style,
) -> int:
    """Memory in place of threads; the exit code."""
    from numascope.cli.arguments import parse_nodes
    from numascope.cli.move import LIMIT_GIB_S, Asked, move_memory
    from numascope.cli.targets import parse_targets

    nodes = None if words.to is None else parse_nodes(words.to)
    if nodes is not None and plan is not None and not _is_plan(plan):
        targets = (plan, *targets)
        plan = None
    wanted = parse_targets(targets, match)
    if plan is None and not wanted:
        raise click.UsageError("say whose memory: PID, NAME or --match, or a PLAN")
    limit = LIMIT_GIB_S if words.limit_gib_s is None else words.limit_gib_s
    return move_memory(Asked(plan, dialect, wanted, nodes, limit, words.push_out, dry_run, yes, style))


def _is_plan(text: str) -> bool:
    """Whether the first word names a plan, where it may also be a PID or the name of a program."""
    from numascope.plan.given import TORCH

    return os.path.exists(text) or text.startswith(TORCH) or os.sep in text


def selector(*, inferred: bool, everything: bool) -> Select:
    """How a list is made from a report, by the user's choice of threads."""
    from numascope.steer.change import select_changes

    def select(report: Report, old_mains: Mapping[tuple[int, int], OldMain]) -> Selection:
        return select_changes(report, inferred=inferred, everything=everything, old_mains=old_mains)

    return select


def _apply(session: Session, style: Style, select: Select, *, dry_run: bool, yes: bool) -> int:
    """Shows the list, asks, does it, and says what became of it; the exit code."""
    from numascope.cli.steering import agrees
    from numascope.errors import NotPermittedError
    from numascope.host.root import HostRoot
    from numascope.show.apply import preview_lines, threads_text
    from numascope.steer.apply import Hand
    from numascope.steer.rights import check_rights
    from numascope.steer.store import opened_store

    report = session.look(LOOK_S, LOOKS)
    if why := _nothing_to_place(report):
        click.echo(f"exit 4: {why}", err=style.as_json)
        return 4
    selection = select(report, {})
    style.lines(preview_lines(selection, report.title, dry=dry_run, all_rows=style.all_rows, width=style.width))
    for note in report.notes:
        style.text(f"note: {note}", dim=True)
    root = HostRoot()
    try:
        check_rights(root, os.geteuid(), {one.key.pid for one in selection.changes}, report.sample.processes)
    except NotPermittedError as error:
        if not dry_run:
            raise
        style.text(f"may not be done: {error}")
    if dry_run or not selection.changes:
        return _nothing_done(report, selection, style)
    with opened_store(root, os.environ, create=True) as store:
        assert store is not None  # noqa: S101  (made where it was missing)
        if not yes and not agrees(f"set {threads_text(len(selection.changes))}?"):
            style.text("exit 1: nothing was changed")
            return 1
        settled = _settle(session, store, Hand(root), (report, selection), select)
        return _tell(settled, selection, store, style)


def _nothing_to_place(report: Report) -> str:
    """Why no thread here can be given a set at all; empty where some can."""
    if report.ended:
        return "every target has ended"
    if not any(one.target is not None for one in report.placements):
        return "the plan says nothing of these threads; map a process to a device by hand: PID=device0"
    return ""


def _nothing_done(report: Report, selection: Selection, style: Style) -> int:
    from numascope.show.journal import change_document, journal_document, rest_document

    changes = [change_document(one) for one in selection.changes]
    more = {"dry_run": True, "changes": changes, **rest_document(selection)}
    style.document(journal_document((), report.notes, more))
    style.text("exit 1: dry run, nothing was tried" if changes else "exit 0: there is nothing to do")
    return 1 if changes else 0


def _settle(session: Session, store: Store, hand: Hand, first: tuple[Report, Selection], select: Select) -> Settled:
    from numascope.steer.journal import OpenEntry, Source
    from numascope.steer.settle import apply_until_settled

    report, _ = first
    plan = report.plan
    path = None if plan is None else os.path.abspath(plan.path)
    source = Source(path, None if plan is None else plan.sha256, report.title)
    with store.locked():
        entry = OpenEntry(store, "apply", source)
        try:
            return apply_until_settled(session.step, select, entry, hand, first)
        except KeyboardInterrupt:
            if entry.number is not None:
                click.echo(f"numascope: interrupted; numascope revert {entry.number} puts back what was set", err=True)
            raise
        finally:
            entry.close()


def _tell(settled: Settled, selection: Selection, store: Store, style: Style) -> int:
    from numascope.cli.steering import entry_rows
    from numascope.review.change import FAILED
    from numascope.show.apply import outcomes_text, result_lines
    from numascope.show.journal import journal_document, rest_document, result_document

    outcomes = [one.outcome for one in settled.results]
    failed = sum(one in FAILED for one in outcomes)
    style.blank()
    style.text(f"{outcomes_text(outcomes)}; each read back, {settled.passes} passes")
    wrong = [one for one in settled.results if one.outcome in FAILED]
    style.lines(result_lines(wrong, all_rows=style.all_rows, width=style.width))
    for note in settled.notes:
        style.text(f"note: {note}")
    if settled.entry is not None:
        style.text(f"undo: numascope revert {settled.entry}, recorded in {store.entry_path(settled.entry)}")
    code, reason = 0, "done"
    if settled.report.ended or (outcomes and set(outcomes) == {"gone"}):
        code, reason = 4, "every target is gone"
    elif failed or settled.notes:
        code, reason = 1, f"{failed} did not take their set" if failed else "not settled"
    if style.as_json:
        more = {
            "dry_run": False,
            "changes": [result_document(one) for one in settled.results],
            **rest_document(selection),
        }
        style.document(journal_document(entry_rows(store, settled.entry), settled.notes, more))
    style.text(f"exit {code}: {reason}")
    return code
