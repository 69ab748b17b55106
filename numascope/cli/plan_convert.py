"""The body of `numascope plan convert`: a plan in another form, and what is lost on the way."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import NamedTuple

import click

from numascope.cli.arguments import refuse_empty
from numascope.cli.machine_source import Wanted, opened_machine
from numascope.cli.plan_file import refuse_file, write_plan
from numascope.cli.plan_notes import echo_beside
from numascope.cli.plan_options import refuse_command
from numascope.host.text import safe_text
from numascope.plan.given import read_given
from numascope.plan.make.made import NoPlanError
from numascope.plan.make.seats import given_seats
from numascope.plan.write.forms import FORMS, converted
from numascope.plan.write.losses import Loss
from numascope.plan.write.outline import Setting


class Given(NamedTuple):
    """The options of `plan convert` as click gives them."""

    name: str
    command: tuple[str, ...]
    form: str
    dialect: str | None
    path: str | None
    force: bool
    devices: tuple[str, ...]
    indent: int
    wanted: Wanted


def convert_plan(given: Given) -> None:
    """Writes or prints the plan in its new form; NoPlanError (1), UsageError and InputError (2)."""
    for one in given.devices:
        refuse_empty("--device", one)
    refuse_command(given.form, given.command)
    if given.path == "-":
        given = given._replace(path=None)
    if given.path is not None:
        refuse_file(given.path, force=given.force)
    with opened_machine(given.wanted) as found:
        seats = given_seats(found.machine, given.devices) if given.devices else None
        plan = read_given(given.name, found.machine, seats, given.dialect)
        done = converted(plan, given.form, Setting(found.machine, given.command, given.indent))
    if not done.kept.parts:
        raise NoPlanError(f"{plan.path}: {FORMS[given.form].reader} can say nothing of this plan{_first(done.lost)}")
    to_file = given.path is not None
    if given.path is None:
        click.echo(done.text, nl=False)
    else:
        write_plan(given.path, done.text, force=given.force)
        number = len(done.kept.parts)
        ranks = f"{number} rank{'' if number == 1 else 's'}"
        click.echo(f"wrote {shlex.quote(safe_text(given.path))}: {ranks}, from {plan.path} ({plan.dialect})")
    echo_beside(done.lost, (*map(str, plan.notes), *done.doubts), err=not to_file)


def _first(lost: Sequence[Loss]) -> str:
    return f": {lost[0]}" if lost else ": it binds nothing"
