from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import click

from numascope.cli import options
from numascope.cli.arguments import Duration, FilePath

if TYPE_CHECKING:
    from numascope.cli.session import Session
    from numascope.cli.steering import Style
    from numascope.review.report import Report
    from numascope.steer.hold import Act, Hold
    from numascope.steer.journal import OpenEntry, Source
    from numascope.steer.settle import Select
    from numascope.steer.store import Store


class _Wish(NamedTuple):
    """What the user asked for."""

    interval_s: float
    for_s: float | None
    yes: bool
    revert_on_exit: bool


@click.command(short_help="Apply, then keep it so: put back what drifts.")
@click.argument("plan", type=FilePath())
@click.argument("targets", nargs=-1, metavar="[PID | PID=deviceN | PID=scheduler | NAME]...")
@options.interval(0.2, "At most one act in it.")
@click.option("--for", "for_s", type=Duration(0.2), default=None, help="How long; until the job ends, or Ctrl-C.")
@click.option("--yes", is_flag=True, help="Do not ask before the first act.")
@click.option("--all", "everything", is_flag=True, help="Every thread of a rank; unplanned ones get main's CPUs.")
@click.option("--inferred", is_flag=True, help="Also threads whose role is told by evidence, not by name.")
@click.option("--revert-on-exit", is_flag=True, help="Put everything back when it ends.")
@options.match()
@options.pending_for()
@options.dialect()
@options.roles()
@options.width()
@options.ascii_only()
def hold(
    *,
    plan: str,
    targets: tuple[str, ...],
    interval_s: float,
    for_s: float | None,
    yes: bool,
    everything: bool,
    inferred: bool,
    revert_on_exit: bool,
    match: str | None,
    pending_s: float,
    dialect: str | None,
    roles: str | None,
    width: int | None,
    ascii_only: bool,
) -> None:
    """Set the affinity of threads as apply does, and go on: new threads, a rewritten cpuset, restarted ranks.

    One line is printed for each act. It stops when PLAN changes, and when something sets a thread back again and again.
    Ctrl-C leaves things as they are; numascope revert puts them back.

    Exit code: 0 held to the end; 1 something fought back, PLAN changed, or a thread did not take its set or could not; 2 bad usage;
    4 every target is gone.
    """
    from numascope.cli.apply import selector
    from numascope.cli.arguments import own_names
    from numascope.cli.going_on import end_as_interrupted
    from numascope.cli.output import terminal_width
    from numascope.cli.session import open_session
    from numascope.cli.steering import Style, need_consent
    from numascope.cli.targets import parse_targets

    style = Style(as_json=False, all_rows=False, width=terminal_width(width), ascii_only=ascii_only)
    wanted = parse_targets(targets, match)
    session = open_session(
        wanted,
        plan,
        interval_s=interval_s,
        window_s=max(1.0, interval_s),
        pending_for_s=pending_s,
        dialect=dialect,
        own=own_names(roles),
        with_memory=False,
    )
    try:
        need_consent(dry_run=False, yes=yes, as_json=False)
        assert session.plan_data is not None  # noqa: S101  (a plan was given)
        unchanged = _watch_file(plan, session.plan_data)
        end_as_interrupted()
        wish = _Wish(interval_s, for_s, yes, revert_on_exit)
        code = _hold(session, style, selector(inferred=inferred, everything=everything), unchanged, wish)
    finally:
        session.close()
    raise click.exceptions.Exit(code)


def _watch_file(path: str, content: bytes) -> Callable[[], bool]:
    """Whether the plan's file still has these bytes; one that cannot be read any more has changed."""
    from numascope.errors import InputError
    from numascope.plan.given import TORCH, plan_bytes

    last: tuple[int, int, int] | None = None

    def unchanged() -> bool:
        nonlocal last
        if path.startswith(TORCH):  # a name, with no file behind it
            return True
        try:
            state = os.stat(path)
            now = state.st_ino, state.st_size, state.st_mtime_ns
            if now != last and plan_bytes(path) != content:
                return False
        except (OSError, InputError):
            return False
        last = now
        return True

    return unchanged


def _hold(session: Session, style: Style, select: Select, unchanged: Callable[[], bool], wish: _Wish) -> int:
    """Asks, holds, and puts back what it did where that was wanted; the exit code."""
    from numascope.cli.apply import LOOK_S, LOOKS
    from numascope.cli.steering import agrees
    from numascope.host.procfs import lives_in
    from numascope.host.root import HostRoot
    from numascope.show.apply import preview_lines
    from numascope.steer.apply import Hand
    from numascope.steer.hold import Hold
    from numascope.steer.journal import OpenEntry
    from numascope.steer.rights import check_rights
    from numascope.steer.store import opened_store

    report = session.look(LOOK_S, LOOKS)
    if report.ended:
        style.text("exit 4: every target has ended")
        return 4
    selection = select(report, {})
    style.lines(preview_lines(selection, report.title, dry=False, all_rows=False, width=style.width))
    root = HostRoot()
    check_rights(root, os.geteuid(), {one.key.pid for one in report.placements if one.target}, report.sample.processes)
    with opened_store(root, os.environ, create=True) as store:
        assert store is not None  # noqa: S101  (made where it was missing)
        if not wish.yes and not agrees("set these now, and put back what drifts from now on?"):
            style.text("exit 1: nothing was changed")
            return 1
        entry = OpenEntry(store, "hold", _source(report), lives=lives_in(root))
        try:
            code = _loop(session, store, Hold(entry, Hand(root), select), style, unchanged, wish)
        finally:
            entry.close()
            ended = _end(store, entry, style, wish)
        return max(code, ended)


def _source(report: Report) -> Source:
    from numascope.steer.journal import Source

    plan = report.plan
    path = None if plan is None else os.path.abspath(plan.path)
    return Source(path, None if plan is None else plan.sha256, report.title)


def _loop(
    session: Session, store: Store, holding: Hold, style: Style, unchanged: Callable[[], bool], wish: _Wish
) -> int:
    """One look an interval until the time, the targets, the plan or somebody's patience ends."""
    from numascope.cli.going_on import until_next_s
    from numascope.errors import InputError
    from numascope.show.hold import act_line, blocked_line
    from numascope.steer.hold import FoughtError
    from numascope.steer.store import LOCKED

    began_s = time.monotonic()
    failed = 0
    try:
        while True:
            report = session.step()
            if report.ended:
                style.text("exit 4: every target has ended")
                return 4
            if not unchanged():
                style.text("the plan's file has changed: holding stops")
                return 1
            if (blocked := holding.newly_blocked(report)) is not None:
                style.lines([blocked_line(report.sample.wall_s, blocked)])
            act: Act | None
            try:
                with store.locked():
                    act = holding.act(report, session.step)
            except InputError as error:
                if error.problem != LOCKED:
                    raise
                style.text(f"missed an act: {error}", dim=True)
                act = None
            if act is not None:
                failed += act.failed
                style.lines([act_line(act.wall_s, act.results)])
                for note in act.notes:
                    style.text(f"note: {note}", dim=True)
            if wish.for_s is not None and time.monotonic() - began_s + wish.interval_s / 2 > wish.for_s:
                return 1 if failed or holding.blocked else 0
            time.sleep(until_next_s(began_s, wish.interval_s))
    except FoughtError as error:
        style.text(str(error))
        return 1
    except KeyboardInterrupt:
        return 1 if failed or holding.blocked else 0


def _end(store: Store, entry: OpenEntry, style: Style, wish: _Wish) -> int:
    """Says how to undo it, or undoes it."""
    from numascope.cli.revert import put_back
    from numascope.host.root import HostRoot
    from numascope.steer.ledger import choose, read_ledger

    newest_first = [*([] if entry.number is None else [entry.number]), *reversed(entry.earlier)]
    if not newest_first:
        style.text("nothing had to be set")
        return 0
    if not wish.revert_on_exit:
        commands = ", then ".join(f"numascope revert {number}" for number in newest_first)
        style.text(f"left as it is; undo: {commands}")
        return 0
    root, code = HostRoot(), 0
    for number in newest_first:
        written = choose(read_ledger(store), store.here, number)
        assert written is not None  # noqa: S101  (an entry is never taken away)
        code = max(code, put_back(root, store, written, style, force=False, yes=True))
    return code
