from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, Final

import click

from numascope.cli.arguments import Duration

if TYPE_CHECKING:
    from numascope.cli.session import Session
    from numascope.observe.recording.writer import Recorder

_WINDOW_S: Final = 1.0


@click.command(short_help="Keep what is seen of a job in a file, to look at later or elsewhere.")
@click.argument("targets", nargs=-1, metavar="[PID | PID=deviceN]...")
@click.option("-o", "--output", "path", required=True, type=click.Path(), help="A new file; .nsr by custom.")
@click.option("--for", "for_s", type=Duration(0.1), default=None, help="How long; until the job ends, or Ctrl-C.")
@click.option("--plan", type=click.Path(), default=None, help="Keep this plan with it instead of the job's own.")
@click.option(
    "--interval",
    "interval_s",
    type=Duration(0.1, 3600),
    default="1s",
    show_default=True,
    help="Time between two looks.",
)
@click.option("--unredacted", is_flag=True, help="Keep command lines, paths and addresses as they are.")
def record(
    *,
    targets: tuple[str, ...],
    path: str,
    for_s: float | None,
    plan: str | None,
    interval_s: float,
    unredacted: bool,
) -> None:
    """Record a job: the machine, the plan, and a look at every thread each interval. numascope replay shows it.

    Without --unredacted, command lines, paths, host names and addresses are left out. A file that is there is never
    written over; what was written until a crash can be read.

    Exit code: 0 written, 2 bad usage or input, or the file could not be written, 4 no target is there.
    """
    from numascope.cli.arguments import parse_target
    from numascope.cli.session import open_session

    wanted = tuple(parse_target(text) for text in targets)
    session = open_session(wanted, plan, interval_s=interval_s, window_s=_WINDOW_S)
    try:
        _record(session, path, for_s, redact=not unredacted)
    finally:
        session.close()


def _record(session: Session, path: str, for_s: float | None, *, redact: bool) -> None:
    from numascope.cli.recorded import header_of
    from numascope.observe.recording.writer import Recorder

    recorder = Recorder(path, header_of(session, redacted=redact), redact=redact)
    began_s = time.monotonic()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _as_interrupt)
    try:
        _loop(session, recorder, for_s)
    except KeyboardInterrupt:
        pass
    finally:
        recorder.close()
    took = time.strftime("%H:%M:%S", time.gmtime(time.monotonic() - began_s))
    click.echo(f"wrote {path}: {recorder.frames:,} looks in {took}, {recorder.bytes_written / 1024:,.0f} KiB")
    click.echo(f"look at it: numascope replay {path}")


def _as_interrupt(_number: int, _frame: object) -> None:
    """A terminal that hangs up and a service that is stopped end a recording as Ctrl-C does."""
    raise KeyboardInterrupt


def _loop(session: Session, recorder: Recorder, for_s: float | None) -> None:
    """One look an interval, until the time or the job ends."""
    from numascope.cpuset import CpuSet
    from numascope.host.archive.gather import gather
    from numascope.host.archive.pack import packed
    from numascope.host.root import HostRoot
    from numascope.observe.strangers import StrangerScan

    root = HostRoot()
    strangers = StrangerScan(root)
    cpus: object = None
    began_s = time.monotonic()
    count = 0
    while True:
        sample = session.sampler.sample()
        if sample.cpu_ticks.keys() != cpus:
            cpus = sample.cpu_ticks.keys()
            recorder.machine(packed(gather(root)))
        recorder.write(sample, strangers.scan(frozenset(sample.processes), CpuSet.of(sample.cpu_ticks)))
        count += 1
        passed_s = time.monotonic() - began_s
        if sample.ended or (for_s is not None and passed_s + session.interval_s / 2 > for_s):
            return
        time.sleep(max(0.0, began_s + count * session.interval_s - time.monotonic()))
