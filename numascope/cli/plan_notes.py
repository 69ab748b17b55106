"""What is said beside a plan that was made or converted: what is lost in its form, and notes."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence

import click

from numascope.machine.objects import Machine
from numascope.plan.make.made import Made
from numascope.plan.make.near import has_no_nodes
from numascope.plan.write.losses import Loss, told


def echo_beside(lost: Sequence[Loss], notes: Iterable[str], *, err: bool) -> None:
    """Prints both, on a terminal broken at its width; to a file or pipe each is one line."""
    is_terminal = (sys.stderr if err else sys.stdout).isatty()
    width = shutil.get_terminal_size((80, 24)).columns if is_terminal else None
    for line in (*(f"lost: {one}" for one in told(lost)), *(f"- {note}" for note in notes)):
        broken = (
            [line]
            if width is None
            else textwrap.wrap(line, width, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
        )
        click.echo("\n".join(broken), err=err)


def not_said(form: str, made: Made, machine: Machine) -> list[str]:
    """What the plan says and one of the launchers' lines cannot, or the form asks for and the plan has not."""
    found = []
    if form == "mindspore" and made.policy == "balanced" and not made.scheduler:
        found.append("no core is left for MindSpore's scheduler: it is not bound")
    if form != "mindspore" and any(len(share.roles) > 1 for share in made.shares):
        found.append(f"{form} binds a rank as a whole: its roles share all CPUs of the rank")
    if form == "taskset" and any(share.memory is not None for share in made.shares):
        found.append("taskset binds no memory: numactl does")
    if form in ("numactl", "torchrun") and has_no_nodes(machine):
        found.append("this kernel has no NUMA nodes: numactl says so and ends, --to taskset goes without them")
    return found
