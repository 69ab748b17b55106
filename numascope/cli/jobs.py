from __future__ import annotations

import time

import click


@click.command(short_help="The training jobs of this machine.")
@click.option("--json", "as_json", is_flag=True, help="The jobs document, for scripts.")
def jobs(*, as_json: bool) -> None:
    """List the training jobs of this machine: launcher, ranks, devices, and the plan that each was started with."""
    from numascope.cli.output import echo_json, echo_lines, wants_colour
    from numascope.host.opened import device_files
    from numascope.host.root import HostRoot
    from numascope.observe.facts import scan_facts
    from numascope.observe.jobs import find_jobs, with_held
    from numascope.show.jobs import jobs_document, jobs_lines

    root = HostRoot()
    facts = scan_facts(root)
    found = find_jobs(facts)
    found = with_held(found, {rank.pid: device_files(root, rank.pid) for job in found for rank in job.ranks})
    unread = sum(1 for one in facts.values() if one.environ is None and one.cmdline)
    hidden = (
        [
            f"of {unread} process{'' if unread == 1 else 'es'} the environment may not be read: ranks among them are not seen"
        ]
        if unread
        else []
    )
    hidden += [note for job in found for note in job.notes]
    if as_json:
        echo_json(jobs_document(found, facts, hidden))
    else:
        echo_lines(jobs_lines(found, facts, hidden, time.time()), colour=wants_colour())
