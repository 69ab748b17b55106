"""Verbs, options and exit codes; each verb's module is imported only when it is called."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Final

import click

import numascope
from numascope.errors import NumascopeError
from numascope.host.text import safe_text

_VERBS: Final = {
    "topo": "The machine map: packages, nodes, caches, cores, accelerators.",
    "capture": "This machine in one small file, for a bug report or a test.",
    "jobs": "The training jobs of this machine.",
    "threads": "What each thread of a job is for, and how that is known.",
    "attach": "The live dashboard of a job or process.",
    "diff": "Threads escaping their planned cores, with exit codes for scripts.",
    "plan": "Bind plans: make, check, explain and convert them.",
    "run": "Start a command on its planned CPUs and memory, as a prefix of numactl does.",
    "memory": "On which nodes the memory of a process lies, how sure that is, and why.",
    "record": "Keep what is seen of a job in a file.",
    "replay": "Look at a recording in the dashboard.",
    "apply": "Put threads on their planned cores, with an undo record first.",
    "hold": "Apply, then keep it so: put back what drifts.",
    "revert": "Give threads back the sets that an apply replaced.",
    "rights": "What you may read of a process and change for it, and what would open the rest.",
    "demo": "A small job of our own, to try all of this on.",
}
"""Verb → its line of help; `numascope.cli.VERB` holds a click command of that name."""


class _Verbs(click.Group):
    """Knows all verbs by name and help, and imports only the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _VERBS:
            return None
        command = getattr(import_module(f"numascope.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101  (a verb's module holds its command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Verbs"):
            formatter.write_dl(list(_VERBS.items()))


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(numascope.__version__, prog_name="numascope", message="%(prog)s %(version)s")
def verbs() -> None:
    """See where the threads of a training job run, against where they were planned to run.

    It reads /proc and /sys. Only apply, hold and revert, and the keys a and r of the dashboard, change anything of a
    job, and they say what before they do.
    """


_READER_GONE: Final = 128 + 13
"""As a shell has it for a program that SIGPIPE ended, as its reader had left; none of our verdicts, as nobody read one."""


def main() -> None:
    """The console script: every error that a user can act on is one line and an exit code."""
    try:
        code = verbs.main(standalone_mode=False)
    except click.exceptions.Exit as leave:
        code = leave.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except NumascopeError as error:
        click.echo(f"numascope: {error}", err=True)
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except (BrokenPipeError, SystemExit):  # the reader, `head` say, has seen enough: click makes an exit of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = _READER_GONE
    except OSError as error:  # the outermost edge: a full disk or a lost terminal still gets one line
        click.echo(f"numascope: {safe_text(str(error))}", err=True)
        code = 2
    sys.exit(code if isinstance(code, int) else 0)
