"""`numascope apply --memory move`: the pages of ranks moved to their nodes, after a preview and a question, with an undo record first."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numascope.cli.steering import Style
    from numascope.cli.targets import Target
    from numascope.cpuset import CpuSet
    from numascope.host.root import HostRoot
    from numascope.show.page_rows import MovePreview, MoveResult, PageOwner
    from numascope.steer.journal import Source
    from numascope.steer.store import Store

LIMIT_GIB_S: Final = 1.0
_BAD: Final = ("interrupted", "raced", "refused", "no-room")
_LEFT: Final = ("busy", "watched", "no-room", "untried")


class Asked(NamedTuple):
    """What the user typed: the plan (None: only --to) and its dialect, who, the nodes of --to, the pace, whether page cache may go for it, and how it is to be said."""

    plan: str | None
    dialect: str | None
    targets: tuple[Target, ...]
    to: CpuSet | None
    limit_gib_s: float
    push_out: bool
    dry_run: bool
    yes: bool
    style: Style


class Mover(NamedTuple):
    """A process whose memory is to be on some nodes, why there, and the policy of its main thread."""

    owner: PageOwner
    nodes: CpuSet
    source: str
    policy: str | None


def move_memory(asked: Asked) -> int:
    """Shows what would move, asks, moves it, and says what became of it; the exit code."""
    from numascope.cli.move_targets import find_movers
    from numascope.cli.steering import agrees, need_consent
    from numascope.host.root import HostRoot
    from numascope.show.move import size_of
    from numascope.steer.store import opened_store

    root, style = HostRoot(), asked.style
    movers, source, notes = find_movers(root, asked)
    need_consent(dry_run=asked.dry_run, yes=asked.yes, as_json=style.as_json)
    if not movers:
        click.echo(
            "exit 4: every target has ended, or the plan names no node for any of them: give --to NODES",
            err=style.as_json,
        )
        return 4
    previews = [one for mover in movers if (one := _preview(root, mover, asked)) is not None]
    if not previews:
        click.echo("exit 4: every target is gone", err=style.as_json)
        return 4
    _show(root, previews, notes, asked)
    pages = sum(one.survey.pages_to_move for one in previews)
    if asked.dry_run or not pages:
        return _nothing_done(previews, notes, style, pages)
    with opened_store(root, os.environ, create=True) as store:
        assert store is not None  # noqa: S101  (made where it was missing)
        if not asked.yes and not agrees(f"move {size_of(pages)}?"):
            style.text("exit 1: nothing was changed")
            return 1
        results, number, stuck = _move(root, store, source, previews, asked)
        return _tell(root, store, number, (previews, results), stuck, style)


def _preview(root: HostRoot, mover: Mover, asked: Asked) -> MovePreview | None:
    """All pages of a process listed; None where it is gone. NotPermittedError."""
    from numascope.errors import NotPermittedError
    from numascope.host.root import AbsentError, DeniedError
    from numascope.host.system.node_memory import read_node_memory
    from numascope.observe.memory_look import resident_kib, why_denied
    from numascope.show.move import listing_text
    from numascope.show.page_rows import MovePreview
    from numascope.steer.page_room import Rooms
    from numascope.steer.pages import COST_MS_PER_GIB, PageLister, survey_pages

    pid, name = mover.owner.pid, mover.owner.name
    try:
        lister = PageLister(root, pid)
    except AbsentError:
        return None
    except DeniedError as error:
        raise NotPermittedError(f"{name}: {why_denied(root, pid, error)}; nothing is changed") from error
    try:
        lister.asker.ask([0])  # the right to ask is the right to move
        asked.style.text(listing_text(name, resident_kib(root, pid), COST_MS_PER_GIB), dim=True)
        survey = survey_pages(lister, mover.nodes)
    except AbsentError:
        return None
    except DeniedError as error:
        raise NotPermittedError(f"{name}: {why_denied(root, pid, error)}; nothing is changed") from error
    finally:
        lister.close()
    rooms = Rooms(root, push_out=asked.push_out)
    rooms.refresh()
    huge = {size: rooms.huge(mover.nodes, size) for size in survey.huge}
    cache_kib = sum(one.cache_kib or 0 for one in read_node_memory(root) if one.node in mover.nodes)
    room_kib = rooms.kib(mover.nodes)
    return MovePreview(
        mover.owner, mover.nodes, mover.source, mover.policy, survey, room_kib, cache_kib, huge, asked.push_out
    )


def _show(root: HostRoot, previews: Sequence[MovePreview], notes: Sequence[str], asked: Asked) -> None:
    from numascope.show.move import pace_text, preview_lines

    style = asked.style
    for one in previews:
        style.lines([(), *preview_lines(one, dry=asked.dry_run, width=style.width)])
    style.blank()
    pages = sum(one.survey.pages_to_move for one in previews)
    if pages:
        style.text(pace_text(pages, asked.limit_gib_s, _batch_pages(asked)))
        _show_policies(root, previews, style)
    for note in notes:
        style.text(f"note: {note}", dim=True)


def _batch_pages(asked: Asked) -> int:
    from numascope.steer.page_carry import BATCH_PAGES, BATCH_PAGES_FOR_RECLAIM

    return BATCH_PAGES_FOR_RECLAIM if asked.push_out else BATCH_PAGES


def _show_policies(root: HostRoot, previews: Sequence[MovePreview], style: Style) -> None:
    from numascope.host.system.node_memory import read_memory_settings
    from numascope.show.move import policy_lines

    nodes = {str(one.nodes) for one in previews}
    policies = {one.owner.name: one.policy for one in previews}
    balancing = read_memory_settings(root).numa_balancing
    style.lines(policy_lines(policies, balancing, nodes.pop() if len(nodes) == 1 else "NODES", style.width))


def _nothing_done(previews: Sequence[MovePreview], notes: Sequence[str], style: Style, pages: int) -> int:
    from numascope.show.journal import journal_document
    from numascope.show.move import preview_document

    more = {"dry_run": True, "moves": [preview_document(one) for one in previews]}
    style.document(journal_document((), notes, more))
    untold = sum(one.survey.untold for one in previews)
    if untold and not pages:
        style.text(f"exit 1: nothing is to be moved, but {untold:,} pages did not say where they lie")
    else:
        style.text("exit 1: dry run, nothing was moved" if pages else "exit 0: there is nothing to move")
    return 1 if pages or untold else 0


def _move(
    root: HostRoot, store: Store, source: Source, previews: Sequence[MovePreview], asked: Asked
) -> tuple[list[MoveResult], int | None, str]:
    """What became of each process, the entry's id, and what stopped it before the rest of them."""
    from numascope.cli.going_on import end_between_looks
    from numascope.cli.progress import Progress
    from numascope.errors import InputError
    from numascope.steer.journal import OpenEntry
    from numascope.steer.page_carry import PageHand
    from numascope.steer.page_move import move_pages_of
    from numascope.steer.page_room import Rooms

    results: list[MoveResult] = []
    progress = Progress(sum(one.survey.pages_to_move for one in previews), asked.style)
    with store.locked():
        entry = OpenEntry(store, "move", source)
        hand = PageHand(
            root,
            asked.limit_gib_s * 2**30,
            pause=end_between_looks(),
            told=progress.add,
            batch_pages=_batch_pages(asked),
        )
        stuck = ""
        try:
            for one in previews:
                rooms = Rooms(root, push_out=asked.push_out)
                results.append(move_pages_of(one.owner, one.nodes, entry, hand, rooms))
                if results[-1].ending == "interrupted":
                    break
        except InputError as error:
            if not results:
                raise
            stuck = f"stopped: {error}"
        finally:
            entry.close()
            progress.end()
    return results, entry.number, stuck


def _tell(
    root: HostRoot,
    store: Store,
    number: int | None,
    done: tuple[Sequence[MovePreview], Sequence[MoveResult]],
    stuck: str,
    style: Style,
) -> int:
    from numascope.cli.steering import entry_rows
    from numascope.show.journal import journal_document
    from numascope.show.move import preview_document, result_document, result_lines

    previews, results = done
    style.lines(result_lines(results, style.width))
    if stuck:
        style.text(stuck)
    _show_policies(root, previews, style)
    if number is not None:
        style.text(f"undo: numascope revert {number}, recorded in {store.entry_path(number)}")
    code, reason = ending_of(results, stuck)
    more = {
        "dry_run": False,
        "moves": [preview_document(one) for one in previews],
        "results": [result_document(one) for one in results],
    }
    style.document(journal_document(entry_rows(store, number), [stuck] if stuck else [], more))
    style.text(f"exit {code}: {reason}")
    return code


def ending_of(results: Sequence[MoveResult], stuck: str = "") -> tuple[int, str]:
    """The exit code of a move or of its revert, and why."""
    if any(one.ending == "interrupted" for one in results):
        return 130, "interrupted; what was done is in the journal"
    if results and all(one.ending == "gone" for one in results):
        return 4, "every target is gone"
    left = sum(one.of(outcome) for one in results for outcome in _LEFT)
    if stuck or left or any(one.ending in _BAD for one in results):
        return 1, f"{left:,} pages are not where they were to go" if left else "not all of it was done"
    return 0, "done"
