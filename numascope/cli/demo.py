from __future__ import annotations

import click

from numascope.cli import options


@click.command(short_help="A small job of our own, to try all of this on.")
@click.option("--once", is_flag=True, help="Print one page of text and end.")
@options.read_only()
@click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal.")
def demo(*, once: bool, read_only: bool, no_mouse: bool) -> None:
    """Start a small stand-in training job with a plan that one of its threads escapes from, and attach to it.

    All that is shown is read from /proc, as of any other job. The job ends with the dashboard.
    """
    from numascope.cli.attach import has_terminal, print_once, run_dashboard
    from numascope.cli.session import open_session
    from numascope.cli.standin_process import StandIn
    from numascope.observe.select import Wanted

    if not once and not has_terminal():
        click.echo("numascope: no terminal, so this is the page of --once", err=True)
        once = True
    with StandIn() as job:
        session = open_session((Wanted(job.launcher_pid),), None, interval_s=1.0, window_s=1.0)
        try:
            if once:
                print_once(session, "never", 1.0, None)
                raise click.exceptions.Exit(0)
            run_dashboard(session, mouse=not no_mouse, read_only=read_only)
        finally:
            session.close()
