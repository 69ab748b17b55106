"""`numascope plan`: bind plans made for a machine, checked, explained and converted."""

from __future__ import annotations

import click

from numascope.cli import options, plan_options
from numascope.cli.arguments import FilePath
from numascope.cli.plan_options import FORM_NAMES, POLICIES, machine_options

_FORMS = ", ".join(FORM_NAMES)


@click.group(short_help="Bind plans: make, check, explain and convert them.")
def plan() -> None:
    """Make a bind plan for this machine or another, check it, convert it, or explain what it means there."""


@plan.command(
    short_help="A plan for this machine or another, in any form.", context_settings={"allow_interspersed_args": True}
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.option(
    "--policy",
    "-p",
    type=click.Choice(POLICIES),
    required=True,
    help="balanced: our own, role by role near the device; msrun: as MindSpore's generator; the others: as torch's --numa-binding.",
)
@plan_options.output()
@plan_options.force()
@click.option(
    "--to",
    "form",
    type=click.Choice(FORM_NAMES),
    default=None,
    metavar="FORM",
    help=f"In which form; torchrun for torch's modes, else mindspore. One of {_FORMS}.",
)
@click.option("--json", "as_json", is_flag=True, help="The numascope.plan/1 document.")
@machine_options
@plan_options.device()
@click.option(
    "--ranks",
    type=click.IntRange(1, 1024),
    default=None,
    metavar="N",
    help="The first N devices; without any device, N ranks.",
)
@click.option(
    "--allowed", default=None, metavar="CPUS", help="Which CPUs may be used; by default those that you may use there."
)
@click.option(
    "--roles", default=None, metavar="main=7,…", help="CPUs of each role of a rank; all of its share without."
)
@click.option(
    "--smt",
    type=click.Choice(["avoid", "use", "pair"]),
    default=None,
    help="avoid: one thread of each core; use: so for hot roles, else all (default); pair: all.",
)
@click.option(
    "--reserve",
    type=click.IntRange(0, 4096),
    default=None,
    metavar="N",
    help="Cores kept on each node; 1 where it has 8.",
)
@click.option("--busy", default=None, metavar="CPUS", help="Leave these out, with their whole cores.")
@click.option("--avoid-busy", is_flag=True, help="Leave out what others use now: looks at this host for a second.")
@click.option("--strict-torch", is_flag=True, help="Fail where torch fails, with its words.")
@click.option("--device-ids", default=None, metavar="0,1,…", help="msrun: these devices, wherever they sit.")
@click.option(
    "--device-count",
    type=click.IntRange(1, 1024),
    default=None,
    metavar="N",
    help="msrun: devices 0 to N-1, wherever they sit.",
)
@plan_options.indent()
@click.option(
    "--runtime-range", default=None, metavar="A-B", help="msrun: positions in a device's CPUs; 4-8 by default."
)
@click.option("--minddata-range", default=None, metavar="A-B", help="msrun: the same; 9-12 by default.")
@click.option("--main-range", default=None, metavar="A-B", help="msrun: the same; 13-19 by default.")
@click.option("--scheduler-range", default=None, metavar="A-B", help="msrun: the same; 20-23 by default.")
@click.option("--pynative-range", default=None, metavar="A-B", help="msrun: the same; none by default.")
@click.option(
    "--scheduler-base",
    type=click.Choice(["free", "global", "device0"]),
    default=None,
    help="msrun: among whose CPUs the scheduler's positions count; free (of no device) by default.",
)
def make(**given: object) -> None:
    """Make a bind plan: for MindSpore, torchrun, as launch lines, or in what others bind by.

    Exit code: 0 made, 1 this machine does not allow such a plan, 2 bad usage or input, or it could not be written.
    """
    from numascope.cli.plan_make import Given, make_plan

    make_plan(Given(**given))  # type: ignore[arg-type]  # click gives each option the type declared above


@plan.command(short_help="Why each CPU has its owner, on the machine map.")
@click.argument("name", metavar="PLAN", type=FilePath())
@click.option("--cpu", type=click.IntRange(0, 65_535), default=None, metavar="N", help="Why this CPU has its owner.")
@click.option(
    "--device",
    "devices",
    multiple=True,
    metavar="N | N=WHERE",
    help="One device alone; or where it sits: 0=PCI-ADDRESS, 0=node:N.",
)
@options.dialect()
@click.option("--json", "as_json", is_flag=True, help="The numascope.plan/1 document.")
@machine_options
@options.width()
@options.ascii_only()
@options.color()
def explain(**given: object) -> None:
    """Draw a plan on the machine map, and tell why each CPU has its owner.

    PLAN is a file of any dialect that docs/plans.md tells of, or torch:node, torch:socket, torch:exclusive or
    torch:core-complex.

    Exit code: 0 told, 1 the framework itself would fail with it here, 2 bad usage or input.
    """
    from numascope.cli.plan_explain import Given, explain_plan

    explain_plan(Given(**given))  # type: ignore[arg-type]  # click gives each option the type declared above


@plan.command(short_help="What is wrong with it, before the launch.")
@click.argument("name", metavar="PLAN", type=FilePath())
@click.option("--job", type=click.IntRange(1), default=None, metavar="PID", help="A live job that was started with it.")
@plan_options.device()
@click.option("--allowed", default=None, metavar="CPUS", help="What the launcher may use; by default what you may.")
@click.option("--threads", default=None, metavar="loader=8,…", help="How many threads or processes a role will have.")
@options.dialect()
@options.fail_on("plan check")
@click.option("--json", "as_json", is_flag=True, help="The numascope.plan-check/1 document.")
@machine_options
@options.width()
@options.ascii_only()
@options.color()
def check(**given: object) -> None:
    """Say before the launch what is wrong with a plan on a machine: where, why, and what to do.

    PLAN is what plan explain takes.

    Exit code: 0 clean, 1 findings, 2 bad usage or input, 3 clean but part was unreadable, 4 the job is gone.
    """
    from numascope.cli.plan_check import Given, judge_plan

    judge_plan(Given(**given))  # type: ignore[arg-type]  # click gives each option the type declared above


@plan.command(
    short_help="The same plan in another form, and what is lost.", context_settings={"allow_interspersed_args": True}
)
@click.argument("name", metavar="PLAN", type=FilePath())
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.option(
    "--to",
    "form",
    type=click.Choice(FORM_NAMES),
    required=True,
    metavar="FORM",
    help=f"The form to write: {_FORMS}.",
)
@options.dialect()
@plan_options.output()
@plan_options.force()
@plan_options.indent()
@plan_options.device()
@machine_options
def convert(**given: object) -> None:
    """Write a plan in another form, and say line by line what is lost.

    PLAN is what plan explain takes.

    Exit code: 0 written, 1 nothing of it can be said in that form, 2 bad usage or input, or it could not be written.
    """
    from numascope.cli.plan_convert import Given, convert_plan

    convert_plan(Given(**given))  # type: ignore[arg-type]  # click gives each option the type declared above
