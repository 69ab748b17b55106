"""`numascope capture`: this machine in one small file."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final

import click

from numascope.cli.arguments import refuse_empty
from numascope.errors import UsageError
from numascope.host.archive.gather import LEFT_OUT, Capture, gather
from numascope.host.archive.pack import refuse_existing, usual_name, write_capture
from numascope.host.root import HostRoot
from numascope.host.text import safe_text

_MOST_NAMED: Final = 3


@click.command(short_help="This machine in one small file, for a bug report or a test.")
@click.option("-o", "--output", metavar="FILE", help="The new file; by default named by architecture and CPUs.")
@click.option("--root", default="/", metavar="DIR", help="A directory with a copy of another machine's /sys and /proc.")
def capture(*, output: str | None, root: str) -> None:
    """Write what numascope reads of this machine into a new tar.gz: /sys and /proc as far as they tell what it is made of.

    It holds no host name, serial number, MAC address, UUID, command line or environment. The same file serves lscpu and hwloc.

    Exit code: 0 written, 2 bad usage, or it could not be written.
    """
    refuse_empty("-o", output)
    refuse_empty("--root", root)
    if output == "-":
        raise UsageError("-o -: a capture is a file of its own, give it a name")
    if output is not None:
        refuse_existing(output)
    host = HostRoot(root)
    try:
        captured = gather(host)
    finally:
        host.close()
    path = usual_name(captured) if output is None else output
    size = write_capture(captured, path)
    for line in _report(captured, path, size):
        click.echo(line)


def _report(captured: Capture, path: str, size_bytes: int) -> Iterator[str]:
    """What was written, what was left out, and how to look at it."""
    files = len(captured.files)
    yield f"wrote {safe_text(path)}: {files:,} file{'s' * (files != 1)}, {-(-size_bytes // 1024):,} KiB"
    yield f"left out: {', '.join(LEFT_OUT)}"
    if captured.denied:
        count = len(captured.denied)
        named = ", ".join(f"/{safe_text(name)}" for name in captured.denied[:_MOST_NAMED])
        more = ", …" if count > _MOST_NAMED else ""
        yield f"left out: {count:,} file{'s' * (count != 1)} that this user or this kernel does not give ({named}{more})"
    yield f"look inside: tar tzf {shlex.quote(safe_text(path))}"
