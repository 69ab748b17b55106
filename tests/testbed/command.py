"""Run a command inside an emulated multi-socket, multi-NUMA Linux machine.

    tests/testbed/vm list
    tests/testbed/vm prepare
    tests/testbed/vm run --machine two-socket -- python3 -c 'import os; print(os.cpu_count())'
    tests/testbed/vm test four-node

The guest boots Debian's stock kernel on a read-only view of this machine's own
root file system, so programs, the current folder and an active virtual
environment are all there at their usual paths. Whatever the guest writes stays
in its memory and is lost, except below --out. README.md tells more.
"""

# ruff: noqa: T201  (what a command line says)

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from types import FrameType

from testbed.boot import run
from testbed.job import Job
from testbed.machines import MACHINES
from testbed.prepare import NotPreparedError, prepare
from testbed.suites import REPOSITORY, SUITES, run_suites


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="vm", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cache = os.environ.get("NUMASCOPE_TESTBED_CACHE", Path.home() / ".cache/numascope-testbed")
    parser.add_argument("--cache", type=Path, default=cache, help="folder of what prepare downloads")
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("list", help="name the machines")
    actions.add_parser("prepare", help="install and download what a run needs, once")
    _add_run(actions.add_parser("run", help="boot a machine and run a command in it"))
    tests = actions.add_parser("test", help="boot machines and run tests/machine_vm in each")
    tests.add_argument("machines", nargs="*", metavar="MACHINE", help=f"of {', '.join(SUITES)}; all by default")
    tests.add_argument("--timeout", type=float, metavar="SECONDS", help="for each machine, boot included")
    tests.add_argument("-k", metavar="EXPRESSION", help="only tests of these names, as pytest's -k")
    return parser


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--machine", choices=MACHINES, default="two-socket")
    parser.add_argument("--accel", choices=("auto", "kvm", "tcg"), default="auto")
    parser.add_argument("--timeout", type=float, default=300, metavar="SECONDS", help="boot included (default 300)")
    parser.add_argument("--out", type=os.path.abspath, metavar="DIR", help="existing folder that the guest may write")
    parser.add_argument("--tty", action="store_true", help="run on a terminal, for a shell or the dashboard")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    disguise = parser.add_argument(
        "--disguise", action="append", default=[], help="give a PCI device other ids in /sys"
    )
    disguise.metavar = "ADDRESS=VENDOR:DEVICE:CLASS"
    parser.add_argument("--append", default="", metavar="TEXT", help="more kernel parameters")
    parser.add_argument("--qemu-arg", action="append", default=[], metavar="ARG", help="one more argument of QEMU")
    parser.add_argument("command", nargs="+", help="put -- before it")


def _job(given: argparse.Namespace) -> Job:
    pairs = (setting.partition("=") for setting in given.env)
    return Job(
        machine=given.machine,
        command=tuple(given.command),
        accelerator=given.accel,
        timeout_s=given.timeout,
        out=given.out,
        tty=given.tty,
        environment=tuple((name, value) for name, _, value in pairs),
        disguises=tuple(given.disguise),
        kernel_arguments=given.append,
        qemu_arguments=tuple(given.qemu_arg),
    )


def _end(number: int, frame: FrameType | None) -> None:
    del frame
    sys.exit(128 + number)


def main() -> int:
    """The exit status: the command's, 124 out of time, 125 no result of the machine, 2 bad usage or not to be prepared."""
    parser = _parser()
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, _end)
    if given.action == "list":
        print(*(f"{name:12} {machine.about}" for name, machine in MACHINES.items()), sep="\n")
        return 0
    try:
        guest = prepare(given.cache)
    except NotPreparedError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 2
    if given.action == "prepare":
        return 0
    if given.action == "run":
        return run(_job(given), guest)
    unknown = sorted(set(given.machines) - set(SUITES))
    if unknown:
        parser.error(f"no tests are meant for {', '.join(unknown)}; there are {', '.join(SUITES)}")
    os.chdir(REPOSITORY)
    return run_suites(given.machines or SUITES, guest, ("-k", given.k) if given.k else (), given.timeout)
