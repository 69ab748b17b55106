from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

import click

from numascope.cli.arguments import Duration

if TYPE_CHECKING:
    from numascope.cli.session import Session
    from numascope.review.outcome import FailOn, Outcome


@click.command(short_help="Threads escaping their planned cores, with exit codes.")
@click.argument("plan", type=click.Path())
@click.argument("targets", nargs=-1, metavar="[PID | PID=deviceN | PID=scheduler]...")
@click.option(
    "--for",
    "for_s",
    type=Duration(0.05),
    default=None,
    help="How long to look (1s); with --watch how long to go on (until the job ends).",
)
@click.option("--watch", is_flag=True, help="Go on, and print what changes.")
@click.option(
    "--interval",
    "interval_s",
    type=Duration(0.05, 3600),
    default="1s",
    show_default=True,
    help="Time between two looks of --watch.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="The diff document; with --watch a document, then one a line with what changed.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "info", "never"]),
    default="warning",
    show_default=True,
    help="The least finding that ends 1.",
)
@click.option(
    "--pending-for",
    "pending_s",
    type=Duration(),
    default="10m",
    show_default=True,
    help="How long a framework may take to bind its threads.",
)
@click.option("--all-rows", is_flag=True, help="Every thread of every finding.")
@click.option("--width", type=click.IntRange(40, 400), default=None, help="Width of the text; the terminal's, or 80.")
def diff(
    *,
    plan: str,
    targets: tuple[str, ...],
    for_s: float | None,
    watch: bool,
    interval_s: float,
    as_json: bool,
    fail_on: str,
    pending_s: float,
    all_rows: bool,
    width: int | None,
) -> None:
    """Compare where threads may run and did run with where PLAN puts them.

    Without a PID: the jobs that PLAN speaks of. PID=deviceN maps any process to a device of the plan by hand.

    Exit code: 0 clean, 1 findings, 2 bad usage or input, 3 clean but part was unreadable, 4 every target is gone.
    """
    from numascope.cli.arguments import parse_target
    from numascope.cli.session import open_session

    wanted = tuple(parse_target(text) for text in targets)
    window_s = interval_s if watch else (for_s if for_s is not None else 1.0)
    session = open_session(wanted, plan, interval_s=interval_s, window_s=window_s, pending_for_s=pending_s)
    level = cast("FailOn", fail_on)
    try:
        if watch:
            code = _watch(session, level, for_s, as_json=as_json, all_rows=all_rows, width=width)
        else:
            code = _once(session, level, window_s, as_json=as_json, all_rows=all_rows, width=width)
    finally:
        session.close()
    raise click.exceptions.Exit(code)


def _once(session: Session, level: FailOn, for_s: float, *, as_json: bool, all_rows: bool, width: int | None) -> int:
    from numascope.cli.output import echo_json, echo_lines, terminal_width, wants_colour
    from numascope.review.outcome import outcome_of
    from numascope.show.diff import diff_lines
    from numascope.show.diff_document import diff_document

    report = session.look(for_s)
    outcome = outcome_of(report, level)
    if as_json:
        echo_json(diff_document(report))
    else:
        echo_lines(diff_lines(report, outcome, all_rows=all_rows, width=terminal_width(width)), colour=wants_colour())
    return outcome.code


def _watch(
    session: Session, level: FailOn, for_s: float | None, *, as_json: bool, all_rows: bool, width: int | None
) -> int:
    """One report an interval; text is printed again only when what it says has changed."""
    from numascope.cli.output import echo_json
    from numascope.review.outcome import outcome_of, worse
    from numascope.show.diff_document import delta_document, diff_document

    began_s = time.monotonic()
    worst: Outcome | None = None
    before = None
    printed = None
    count = 0
    try:
        while True:
            report = session.step()
            outcome = outcome_of(report, level)
            # The first look has no time behind it: it is no verdict yet.
            if before is not None:
                worst = outcome if worst is None else worse(worst, outcome)
                if as_json:
                    echo_json(diff_document(report) if count == 1 else delta_document(before, report), indent=None)
                else:
                    printed = _print_change(printed, report, outcome, all_rows=all_rows, width=width)
            before = report
            count += 1
            passed_s = time.monotonic() - began_s
            if report.ended or (for_s is not None and passed_s + session.interval_s / 2 > for_s and count > 1):
                break
            time.sleep(max(0.0, began_s + count * session.interval_s - time.monotonic()))
    except KeyboardInterrupt:
        pass
    return 0 if worst is None else worst.code


def _print_change(printed: object, report: object, outcome: Outcome, *, all_rows: bool, width: int | None) -> object:
    from numascope.cli.output import echo_lines, terminal_width, wants_colour
    from numascope.review.report import Report
    from numascope.show.diff import diff_lines
    from numascope.show.ink import Span

    assert isinstance(report, Report)  # noqa: S101
    says = (outcome, tuple((one.rule, one.subject, one.severity) for one in report.findings))
    if says == printed:
        return printed
    clock = time.strftime("%H:%M:%S", time.localtime(report.sample.wall_s))
    echo_lines(
        [
            (Span(f"── {clock} ──", "dim"),),
            *diff_lines(report, outcome, all_rows=all_rows, width=terminal_width(width)),
        ],
        colour=wants_colour(),
    )
    return says
