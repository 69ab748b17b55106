from __future__ import annotations

from typing import TYPE_CHECKING

import click

from numascope.cli import options
from numascope.cli.arguments import FilePath

if TYPE_CHECKING:
    from numascope.host.root import HostRoot
    from numascope.observe.jobs import Facts, Job
    from numascope.observe.roles import Planned
    from numascope.observe.roles.names import OwnNames
    from numascope.show.threads import Seen


@click.command(short_help="What each thread of a job is for, and how that is known.")
@click.argument("target", required=False, metavar="PID | NAME")
@options.match()
@options.roles()
@click.option("--log", type=FilePath(), default=None, help="The log of a MindSpore worker: its binding is evidence.")
@click.option("--json", "as_json", is_flag=True, help="The threads document, for scripts.")
def threads(*, target: str | None, match: str | None, roles: str | None, log: str | None, as_json: bool) -> None:
    """Tell for each thread what it does, how sure that is, and what tells it.

    PID or NAME is a job's launcher, a rank, or any process with all that it started. Without --roles the names in
    $XDG_CONFIG_HOME/numascope/roles.toml are used, where there is such a file.
    """
    from numascope.cli.arguments import own_names
    from numascope.cli.living import one_living
    from numascope.cli.output import echo_json, echo_lines, wants_colour
    from numascope.host.root import HostRoot
    from numascope.show.threads import threads_document, threads_lines

    root = HostRoot()
    facts, pid = one_living(root, target, match)
    seen = _look(root, facts, pid, own_names(roles), log)
    if as_json:
        echo_json(threads_document(seen))
    else:
        echo_lines(threads_lines(seen), colour=wants_colour())


def _look(root: HostRoot, facts: Facts, pid: int, own: OwnNames | None, log: str | None) -> Seen:
    from numascope.host.affinity import AffinityReader
    from numascope.host.opened import device_files
    from numascope.host.root import AbsentError, DeniedError
    from numascope.observe.jobs import with_held
    from numascope.observe.roles import ThreadFacts, call_roll
    from numascope.observe.select import Wanted, select_jobs
    from numascope.observe.threads import read_threads
    from numascope.show.threads import Seen

    jobs = select_jobs(facts, [Wanted(pid)])
    jobs = with_held(jobs, {rank.pid: device_files(root, rank.pid) for job in jobs for rank in job.ranks})
    masks = AffinityReader()
    found: dict[int, tuple[ThreadFacts, ...]] = {}
    notes = [note for job in jobs for note in job.notes]
    for one in dict.fromkeys(each for job in jobs for each in job.pids()):
        try:
            found[one] = read_threads(root, one, masks)
        except AbsentError:
            continue
        except DeniedError:
            notes.append(f"the threads of {one} may not be listed: run as its owner or as root")
    roll = call_roll(jobs, facts, found, minddata=_of_log(jobs, pid, log), own=own)
    return Seen(jobs, facts, found, roll, notes)


def _of_log(jobs: tuple[Job, ...], pid: int, log: str | None) -> dict[int, Planned] | None:
    """What a worker's log says, for the one rank that it is of."""
    from numascope.errors import UsageError
    from numascope.observe.roles import Planned
    from numascope.observe.roles.binding_log import read_binding_log

    if log is None:
        return None
    ranks = [rank for job in jobs for rank in job.ranks]
    if len(ranks) != 1:
        raise UsageError(f"--log is the log of one worker, {pid} is {len(ranks)} ranks: give the pid of that worker")
    policy = read_binding_log(log)
    return {0: Planned(policy["minddata"], "the worker's log")} if "minddata" in policy else {}
