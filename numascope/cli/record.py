from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import click

from numascope.cli import options
from numascope.cli.arguments import Duration, FilePath

if TYPE_CHECKING:
    from numascope.cli.session import Session
    from numascope.observe.recording.writer import Recorder

_WINDOW_S: Final = 1.0


@click.command(short_help="Keep what is seen of a job in a file, to look at later or elsewhere.")
@click.argument("targets", nargs=-1, metavar="[PID | PID=deviceN | NAME]...")
@click.option("-o", "--output", "path", required=True, type=FilePath(), help="A new file; .nsr by custom.")
@click.option("--for", "for_s", type=Duration(0.1), default=None, help="How long; until the job ends, or Ctrl-C.")
@click.option("--plan", type=FilePath(), default=None, help="Keep this plan with it instead of the job's own.")
@options.dialect()
@options.match()
@options.interval(0.1)
@options.roles()
@click.option("--unredacted", is_flag=True, help="Keep command lines, paths and addresses as they are.")
def record(
    *,
    targets: tuple[str, ...],
    path: str,
    for_s: float | None,
    plan: str | None,
    dialect: str | None,
    match: str | None,
    interval_s: float,
    roles: str | None,
    unredacted: bool,
) -> None:
    """Record a job: the machine, the plan, and a look at every thread each interval. numascope replay shows it.

    NAME is that of a program or script. Your own names of threads are kept with it, and replay uses them.
    Without --unredacted, command lines, paths, host names and addresses are left out. A file that is there is never
    written over; what was written until a crash can be read.

    Exit code: 0 written, 2 bad usage or input, or the file could not be written, 4 no target is there.
    """
    from numascope.cli.arguments import own_names
    from numascope.cli.output import has_user
    from numascope.cli.pick_job import pick_job
    from numascope.cli.session import open_session
    from numascope.cli.targets import parse_targets

    session = open_session(
        parse_targets(targets, match),
        plan,
        interval_s=interval_s,
        window_s=_WINDOW_S,
        own=own_names(roles),
        dialect=dialect,
        pick=pick_job if has_user() else None,
    )
    try:
        _record(session, path, for_s, redact=not unredacted)
    finally:
        session.close()


def _record(session: Session, path: str, for_s: float | None, *, redact: bool) -> None:
    from numascope.cli.going_on import end_between_looks
    from numascope.cli.recorded import header_of
    from numascope.host.text import safe_text
    from numascope.observe.recording.writer import Recorder

    ended_within = end_between_looks()
    recorder = Recorder(path, header_of(session, redacted=redact), redact=redact)
    began_s = time.monotonic()
    try:
        _loop(session, recorder, for_s, ended_within)
    finally:
        try:
            recorder.close()
        finally:
            if not recorder.frames:  # nothing in it could be shown
                with suppress(OSError):
                    os.unlink(path)
    minutes, seconds = divmod(int(time.monotonic() - began_s), 60)
    took = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
    size = f"{recorder.bytes_written / 1024:,.0f} KiB"
    click.echo(f"wrote {safe_text(path)}: {recorder.frames:,} looks in {took}, {size}")
    click.echo(f"look at it: numascope replay {shlex.quote(safe_text(path))}")


def _loop(session: Session, recorder: Recorder, for_s: float | None, ended_within: Callable[[float], bool]) -> None:
    """One look an interval, until the time or the job ends, or a signal tells to."""
    from numascope.cli.going_on import until_next_s
    from numascope.cpuset import CpuSet
    from numascope.host.archive.gather import gather
    from numascope.host.archive.pack import packed
    from numascope.host.root import HostRoot
    from numascope.observe.strangers import StrangerScan

    root = HostRoot()
    strangers = StrangerScan(root)
    cpus: object = None
    began_s = time.monotonic()
    while True:
        sample = session.sampler.sample()
        if sample.cpu_ticks.keys() != cpus:
            cpus = sample.cpu_ticks.keys()
            recorder.machine(packed(gather(root)))
        recorder.write(sample, strangers.scan(frozenset(sample.processes), CpuSet.of(sample.cpu_ticks)))
        passed_s = time.monotonic() - began_s
        if sample.ended or (for_s is not None and passed_s + session.interval_s / 2 > for_s):
            return
        if ended_within(until_next_s(began_s, session.interval_s)):
            return
