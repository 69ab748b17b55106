from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import click

from numascope.cli import options
from numascope.cli.arguments import Duration, FilePath

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numascope.cli.session import Looking, Session
    from numascope.cli.targets import Target
    from numascope.review.outcome import FailOn, Outcome
    from numascope.review.report import Report


_PID: Final = re.compile(r"[0-9]+(=.*)?")


@click.command(short_help="Threads escaping their planned cores, with exit codes.")
@click.argument("plan", type=FilePath(), required=False, default=None)
@click.argument("targets", nargs=-1, metavar="[PID | PID=deviceN | PID=scheduler | NAME]...")
@options.match()
@click.option(
    "--for",
    "for_s",
    type=Duration(0.05),
    default=None,
    help="How long to look (1s); with --watch how long to go on (until the job ends).",
)
@click.option("--watch", is_flag=True, help="Go on, and print what changes.")
@click.option("--follow", is_flag=True, help="With --watch: when it has ended, wait for the same to start again.")
@options.interval(0.05, "Time between two looks of --watch.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="The diff document; with --watch a document, then one a line with what changed.",
)
@options.replay()
@options.fail_on("diff")
@options.pending_for()
@options.dialect()
@options.roles()
@click.option("--all-rows", is_flag=True, help="Every thread of every finding.")
@options.width()
@options.ascii_only()
def diff(
    *,
    plan: str | None,
    targets: tuple[str, ...],
    match: str | None,
    for_s: float | None,
    watch: bool,
    follow: bool,
    interval_s: float,
    as_json: bool,
    recording: str | None,
    fail_on: str,
    pending_s: float,
    dialect: str | None,
    roles: str | None,
    all_rows: bool,
    width: int | None,
    ascii_only: bool,
) -> None:
    """Compare where threads may run and did run with where PLAN puts them.

    Without a PID: the jobs that PLAN speaks of. Without PLAN: the one that the job was started with. PID=deviceN maps any process to a device of the plan by hand, NAME is
    that of a program or script.
    With --replay a recording is judged, at its end or with --watch from frame to frame; PLAN then is the recorded one
    where none is given.

    Exit code: 0 clean, 1 findings, 2 bad usage or input, 3 clean but part was unreadable, 4 every target is gone.
    """
    from numascope.cli.arguments import own_names
    from numascope.cli.targets import only_pids, parse_targets

    if follow and (recording is not None or not watch):
        raise click.UsageError("--follow goes with --watch, on living jobs.")
    if plan is not None and _PID.fullmatch(plan) and not os.path.exists(plan):
        targets = (plan, *targets)
        plan = None
    wanted = parse_targets(targets, match)
    own = own_names(roles) if recording is None or roles is not None else None
    window_s = interval_s if watch else (for_s if for_s is not None else 1.0)
    session: Looking
    if recording is not None:
        from numascope.cli.recorded import open_replay

        session = open_replay(recording, plan, only_pids(wanted), dialect=dialect, own=own)
    elif plan is None and not wanted:
        raise click.UsageError("Missing argument 'PLAN', or the PID of a job that was started with one.")
    else:
        from numascope.cli.following import followed
        from numascope.cli.session import open_session

        def opened(targets: Sequence[Target]) -> Session:
            return _with_plan(
                open_session(
                    targets,
                    plan,
                    interval_s=interval_s,
                    window_s=window_s,
                    pending_for_s=pending_s,
                    dialect=dialect,
                    own=own,
                )
            )

        session = followed(wanted, opened) if follow else opened(wanted)
    output = _Output(cast("FailOn", fail_on), as_json, all_rows, width, ascii_only)
    try:
        code = _watch(session, output, for_s) if watch else _once(session, output, window_s)
    finally:
        session.close()
    raise click.exceptions.Exit(code)


def _with_plan(session: Session) -> Session:
    """The session; UsageError where neither the user nor the job has a plan to judge by."""
    from numascope.errors import UsageError

    question = session.question
    if question.plan is None:
        session.close()
        why = next((note for note in question.notes if "plan" in note), question.plan_source)
        raise UsageError(f"there is no plan to judge by: {why}; give PLAN first, then the PID")
    return session


class _Output(NamedTuple):
    """How the user wants to be told."""

    fail_on: FailOn
    as_json: bool
    all_rows: bool
    width: int | None
    ascii_only: bool

    def text(self, report: Report, outcome: Outcome, above: str = "") -> None:
        """Prints the text of a report, below a rule with the time where it is one of many."""
        from numascope.cli.output import echo_lines, terminal_width, wants_colour
        from numascope.show.diff import diff_lines
        from numascope.show.ink import Span

        lines = diff_lines(report, outcome, all_rows=self.all_rows, width=terminal_width(self.width))
        if above:
            lines.insert(0, (Span(f"── {above} ──", "dim"),))
        echo_lines(lines, colour=wants_colour(), ascii_only=self.ascii_only)


def _once(session: Looking, output: _Output, for_s: float) -> int:
    from numascope.cli.output import echo_json
    from numascope.review.outcome import outcome_of
    from numascope.show.diff_document import diff_document

    report = session.look(for_s)
    outcome = outcome_of(report, output.fail_on)
    if output.as_json:
        echo_json(diff_document(report))
    else:
        output.text(report, outcome)
    return outcome.code


def _watch(session: Looking, output: _Output, for_s: float | None) -> int:
    """One report an interval, until the targets or the time end; the worst outcome is the code."""
    from numascope.cli.going_on import until_next_s
    from numascope.observe.recording.replay import RECORDING_ENDS
    from numascope.review.outcome import outcome_of, worse

    began_s = time.monotonic()
    worst: Outcome | None = None
    before: Report | None = None
    told: object = None
    count = 0
    try:
        while True:
            report = session.step()
            if before is not None and RECORDING_ENDS in report.notes:
                # The last look was judged already: that nothing follows it is no finding.
                _say_what_is_lost(before, report)
                break
            # The first look has no time behind it: it is no verdict yet.
            if report.is_awaited:
                if before is not None:
                    _say_it_is_awaited(output, before, report)
                before, told = None, None
            elif before is not None:
                outcome = outcome_of(report, output.fail_on)
                worst = outcome if worst is None else worse(worst, outcome)
                told = _tell(output, before, report, outcome, told)
            if not report.is_awaited:
                before = report
            count += 1
            passed_s = time.monotonic() - began_s
            is_over = report.ended and not report.is_awaited
            if is_over or (for_s is not None and count > 1 and passed_s + session.interval_s / 2 > for_s):
                break
            if not session.is_recorded:
                time.sleep(until_next_s(began_s, session.interval_s))
    except KeyboardInterrupt:
        pass
    return 0 if worst is None else worst.code


def _say_it_is_awaited(output: _Output, before: Report, report: Report) -> None:
    """Says that it has ended and is waited for: that is no verdict, and what follows begins anew."""
    from numascope.cli.output import echo_json, echo_lines, wants_colour
    from numascope.show.diff_document import delta_document
    from numascope.show.ink import Span

    if output.as_json:
        echo_json(delta_document(before, report), indent=None)
        return
    words = f"── {report.title} {', '.join(report.notes[-2:])} ──"
    echo_lines([(Span(words, "warn"),)], colour=wants_colour(), ascii_only=output.ascii_only)


def _say_what_is_lost(before: Report, ending: Report) -> None:
    """Says on standard error what a damaged recording does not hold."""
    from numascope.observe.recording.replay import RECORDING_ENDS

    for note in ending.notes:
        if note not in before.notes and note != RECORDING_ENDS:
            click.echo(f"numascope: note: {note}", err=True)


def _tell(output: _Output, before: Report, report: Report, outcome: Outcome, told: object) -> object:
    """Prints what is new: a document, then a delta a line; as text all again when what it says has changed."""
    from numascope.cli.output import echo_json
    from numascope.show.diff_document import delta_document, diff_document

    if output.as_json:
        echo_json(diff_document(report) if told is None else delta_document(before, report), indent=None)
        return True
    # What only passes by, and is below what the user wants to hear of, does not bring the page again.
    findings = tuple(
        (one.rule, one.subject) for one in report.findings if one.severity != "info" or one.rule != "shared"
    )
    says = (outcome.code, findings)
    if says != told:
        output.text(report, outcome, above=time.strftime("%H:%M:%S", time.localtime(report.sample.wall_s)))
    return says
