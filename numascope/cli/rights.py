"""`numascope rights`: what this user may read and change, and what would open the rest."""

from __future__ import annotations

import click

from numascope.cli import options
from numascope.cli.arguments import Pid


@click.command(short_help="What you may read and change.")
@click.argument("pid", type=Pid(), required=False)
@click.option("--json", "as_json", is_flag=True, help="The numascope.rights/1 document.")
@options.width()
@options.ascii_only()
def rights(*, pid: int | None, as_json: bool, width: int | None, ascii_only: bool) -> None:
    """Show what this user may read of process PID and change for it, and what would open the rest.

    Reading is really tried; nothing is set. Without PID: for processes of one's own.

    Exit code: 0 all can be read and set, 2 bad usage, 3 part cannot, 4 the process is gone.
    """
    from numascope.cli.output import echo_json, echo_lines, terminal_width, wants_colour
    from numascope.host.rights import probe, process_of_ours, read_own
    from numascope.host.root import HostRoot
    from numascope.show.rights import rights_document, rights_lines

    root = HostRoot()
    own = read_own(root)
    if pid is None:
        with process_of_ours() as child:
            target = probe(root, own, child)
    else:
        target = probe(root, own, pid)
    general = pid is None
    if as_json:
        echo_json(rights_document(own, target, general=general))
    else:
        lines = rights_lines(own, target, terminal_width(width), general=general)
        echo_lines(lines, colour=wants_colour(), ascii_only=ascii_only)
    raise click.exceptions.Exit(0 if target.complete else 3)
