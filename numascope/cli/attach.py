from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, cast

import click

from numascope.cli import options
from numascope.cli.arguments import Duration, FilePath
from numascope.errors import UsageError

if TYPE_CHECKING:
    from numascope.cli.session import Looking
    from numascope.review.outcome import FailOn


@click.command(short_help="The live dashboard of a job or process.")
@click.argument("targets", nargs=-1, metavar="[PID | PID=deviceN | NAME]...")
@click.option("--plan", type=FilePath(), default=None, help="Judge against this plan instead of the job's own.")
@options.match()
@options.interval(0.1)
@click.option("--follow", is_flag=True, help="When it has ended, wait for the same to start again, and go on with it.")
@click.option("--once", is_flag=True, help="Print one page of text and end; judges as diff does.")
@click.option(
    "--for", "for_s", type=Duration(0.05, 3600), default="1s", show_default=True, help="How long --once looks."
)
@options.replay()
@options.fail_on("--once")
@options.pending_for()
@options.dialect()
@options.roles()
@options.width()
@options.ascii_only()
@options.read_only()
@click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal.")
def attach(
    *,
    targets: tuple[str, ...],
    plan: str | None,
    match: str | None,
    interval_s: float,
    follow: bool,
    once: bool,
    for_s: float,
    recording: str | None,
    fail_on: str,
    pending_s: float,
    dialect: str | None,
    roles: str | None,
    width: int | None,
    ascii_only: bool,
    read_only: bool,
    no_mouse: bool,
) -> None:
    """Watch a job: give its launcher's PID, the PIDs of ranks, or any process; PID=deviceN maps one to the plan by hand.

    NAME is that of a program or script. Where several jobs run and none is named, a list of them is shown to pick from.
    Without --plan the job's own plan is used where it names one. Without a terminal it prints one page, as --once does.
    """
    from numascope.cli.arguments import own_names
    from numascope.cli.targets import only_pids, parse_targets

    wanted = parse_targets(targets, match)
    own = own_names(roles) if recording is None or roles is not None else None
    if follow:
        _refuse_follow(once=once, recording=recording)
    if not once and not has_terminal():
        click.echo("numascope: no terminal, so this is the page of --once", err=True)
        once = True
    session: Looking
    if recording is not None:
        from numascope.cli.recorded import open_replay

        session, read_only = open_replay(recording, plan, only_pids(wanted), dialect=dialect, own=own), True
    else:
        from numascope.cli.following import followed
        from numascope.cli.pick_job import pick_job
        from numascope.cli.session import open_session

        opened = partial(
            open_session,
            plan_path=plan,
            interval_s=interval_s,
            window_s=for_s if once else max(1.0, interval_s),
            pending_for_s=pending_s,
            dialect=dialect,
            own=own,
            pick=pick_job if has_terminal() else None,
        )
        session = followed(wanted, opened) if follow else opened(wanted)
    try:
        if once:
            raise click.exceptions.Exit(
                print_once(session, cast("FailOn", fail_on), for_s, width, ascii_only=ascii_only)
            )
        run_dashboard(session, mouse=not no_mouse, ascii_only=ascii_only, read_only=read_only)
    finally:
        session.close()


def _refuse_follow(*, once: bool, recording: str | None) -> None:
    """UsageError where there is nothing to go on with."""
    if recording is not None:
        raise UsageError("--follow waits for a living job to start again: a recording does not")
    if once or not has_terminal():
        why = "--once looks once" if once else "there is no terminal"
        raise UsageError(f"--follow goes on in the dashboard, and {why}: use numascope diff --watch --follow")


def has_terminal() -> bool:
    """Whether a dashboard can be shown: a terminal on both sides that can place a cursor."""
    from numascope.cli.output import has_user

    return has_user() and os.environ.get("TERM", "dumb") != "dumb"


def print_once(session: Looking, level: FailOn, for_s: float, width: int | None, *, ascii_only: bool = False) -> int:
    """Looks for a while, prints the page, and returns the exit code."""
    from numascope.cli.output import echo_lines, terminal_width, wants_colour
    from numascope.review.outcome import outcome_of
    from numascope.show.once import once_lines

    report = session.look(for_s)
    outcome = outcome_of(report, level)
    lines = once_lines(report, width=terminal_width(width), outcome=outcome)
    echo_lines(lines, colour=wants_colour(), ascii_only=ascii_only)
    return outcome.code


def run_dashboard(session: Looking, *, mouse: bool, ascii_only: bool = False, read_only: bool = False) -> None:
    """Runs the dashboard until the user leaves it."""
    from numascope.cli.output import wants_ascii
    from numascope.tui.app import Dashboard
    from numascope.tui.steering import Steering

    steering = Steering.live(os.environ, read_only=read_only)
    Dashboard(session, ascii_only=ascii_only or wants_ascii(), steering=steering).run(mouse=mouse)
