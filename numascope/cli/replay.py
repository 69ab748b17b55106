from __future__ import annotations

from typing import cast

import click

from numascope.cli import options
from numascope.cli.arguments import FilePath, Number


@click.command(short_help="Look at a recording in the dashboard, or print its end.")
@click.argument("path", metavar="FILE", type=FilePath())
@click.option("--plan", type=FilePath(), default=None, help="Judge against this plan instead of the recorded one.")
@options.dialect()
@click.option(
    "--speed",
    type=Number(0.1, 1000),
    default=1.0,
    show_default=True,
    help="Times as fast; < and > change it.",
)
@click.option("--once", is_flag=True, help="Print one page of text, of its end, and end; judges as diff does.")
@options.fail_on("--once")
@options.roles()
@options.width()
@options.ascii_only()
@click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal.")
def replay(
    *,
    path: str,
    plan: str | None,
    dialect: str | None,
    speed: float,
    once: bool,
    fail_on: str,
    roles: str | None,
    width: int | None,
    ascii_only: bool,
    no_mouse: bool,
) -> None:
    """Show what numascope record kept, as if it happened now. diff --replay and attach --replay judge a recording too.

    Nothing is changed from here: apply and revert are for living jobs. Without a terminal it prints one page.
    """
    from numascope.cli.arguments import own_names
    from numascope.cli.attach import has_terminal, print_once, run_dashboard
    from numascope.cli.recorded import open_replay

    own = None if roles is None else own_names(roles)
    session = open_replay(path, plan, speed=speed, own=own, dialect=dialect)
    if not once and not has_terminal():
        click.echo("numascope: no terminal, so this is the page of --once", err=True)
        once = True
    try:
        if once:
            from numascope.review.outcome import FailOn

            raise click.exceptions.Exit(print_once(session, cast("FailOn", fail_on), 0.0, width, ascii_only=ascii_only))
        run_dashboard(session, mouse=not no_mouse, ascii_only=ascii_only, read_only=True)
    finally:
        session.close()
