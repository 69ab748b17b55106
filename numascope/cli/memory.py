"""`numascope memory`: on which nodes the memory of a process or of a job's ranks lies, and why."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import click

from numascope.cli import options

if TYPE_CHECKING:
    from numascope.cpuset import CpuSet
    from numascope.host.root import HostRoot
    from numascope.machine.objects import Machine
    from numascope.observe.jobs import Facts, Rank
    from numascope.observe.memory_look import RankMemory
    from numascope.observe.residence import Steps
    from numascope.observe.sample import ProcessFacts
    from numascope.show.memory import Shown


@click.command(short_help="On which nodes memory lies, and why.")
@click.argument("target", required=False, metavar="PID | NAME")
@options.match()
@click.option(
    "--kind", "by_kind", is_flag=True, help="Also by kind: anonymous, heap, stack, huge pages, files, shared."
)
@click.option("--full", is_flag=True, help="Walk all pages (numa_maps); says what that costs the target, and asks.")
@click.option("--yes", is_flag=True, help="With --full: do not ask.")
@click.option("--json", "as_json", is_flag=True, help="The numascope.memory/1 document.")
@options.width()
@options.ascii_only()
def memory(
    *,
    target: str | None,
    match: str | None,
    by_kind: bool,
    full: bool,
    yes: bool,
    as_json: bool,
    width: int | None,
    ascii_only: bool,
) -> None:
    """Show on which nodes the memory of a process lies, or of each rank of the job that it launched.

    A sample of random pages, with its 95 % interval, in some 20 ms however large the process is; nothing of it is
    moved, and it waits for nothing. With --full every page is counted instead, which may stall it: the cost is said first.

    Exit code: 0 all was read, 2 bad usage, 3 part could not be, 4 the process is gone.
    """
    from numascope.cli.living import one_living
    from numascope.cli.output import echo_json, echo_lines, has_user, terminal_width, wants_colour
    from numascope.errors import TargetGoneError
    from numascope.host.root import HostRoot
    from numascope.host.system.node_memory import read_memory_settings, read_node_memory
    from numascope.show.memory import is_known, memory_document, memory_lines

    if full and not yes and (as_json or not has_user()):
        why = "--json asks nobody" if as_json else "no terminal: there is nobody to ask"
        raise click.UsageError(f"--full may stall the target, and {why}: give --yes with it")
    root = HostRoot()
    facts, pid = one_living(root, target, match)
    shown = _look(root, facts, pid, full=full, yes=yes)
    if not shown:
        raise TargetGoneError(f"{pid} ended, or became another program, while it was looked at")
    nodes, settings = read_node_memory(root), read_memory_settings(root)
    if as_json:
        echo_json(memory_document(shown, nodes, settings))
    else:
        lines = memory_lines(shown, nodes, settings, terminal_width(width), by_kind=by_kind)
        echo_lines(lines, colour=wants_colour(), ascii_only=ascii_only)
    raise click.exceptions.Exit(0 if all(map(is_known, shown)) else 3)


def _look(root: HostRoot, facts: Facts, pid: int, *, full: bool, yes: bool) -> list[Shown]:
    """Each rank of the job that was meant, or the process; those that ended meanwhile are left out."""
    from numascope.host.system.node_memory import read_memory_settings, read_node_memory
    from numascope.machine.build import build_machine
    from numascope.observe.memory_why import reasons
    from numascope.observe.select import Wanted, ranks_meant
    from numascope.show.memory import Shown

    machine = build_machine(root)
    shown = []
    for rank in ranks_meant(facts, [Wanted(pid)]):
        found = _rank_memory(root, rank, full=full, yes=yes)
        if found is not None:
            home = _home(root, rank.pid, machine)
            why = reasons(found, home, read_node_memory(root), read_memory_settings(root))
            shown.append(Shown(found, _name(rank, facts[rank.pid]), home, why))
    return shown


def _name(rank: Rank, process: ProcessFacts) -> str:
    number = "" if rank.number is None else f" (rank {rank.number})"
    return f"{process.comm} {rank.pid}{number}"


def _home(root: HostRoot, pid: int, machine: Machine) -> CpuSet | None:
    """The nodes of the CPUs that its threads may use; None where that is not known."""
    from numascope.cpuset import CpuSet
    from numascope.host.procfs import allowed_of_process

    cpus = allowed_of_process(root, pid) & machine.cpus.online
    return CpuSet.of(node for cpu in cpus if (node := machine.node_of.get(cpu)) is not None) or None


def _rank_memory(root: HostRoot, rank: Rank, *, full: bool, yes: bool) -> RankMemory | None:
    """One look at a rank; with `full`, and the user's yes, every page of it counted in its place."""
    from numascope.host.root import AbsentError, DeniedError
    from numascope.observe.memory_look import is_alone_in_cgroup, look_steps, walk

    is_own = is_alone_in_cgroup(root, rank.pid, frozenset((rank.pid, *rank.helpers)))
    random = Random(int.from_bytes(os.urandom(8)))  # noqa: S311  (a sample, no secret)
    found = _finished(look_steps(root, rank.pid, random, time.thread_time_ns, cgroup_is_own=is_own))
    if found is None or not full or not found.share.source or not (yes or _agrees_to_walk(root, rank.pid)):
        return found
    began_ns = time.thread_time_ns()
    try:
        share = walk(root, rank.pid)
    except (AbsentError, DeniedError):
        return found
    return replace(found, share=replace(share, cost_ns=time.thread_time_ns() - began_ns))


def _agrees_to_walk(root: HostRoot, pid: int) -> bool:
    from numascope.cli.steering import agrees
    from numascope.observe.memory_look import resident_kib
    from numascope.show.memory import full_cost_text

    click.echo(full_cost_text(pid, resident_kib(root, pid)))
    return agrees("walk it?")


def _finished(steps: Steps[RankMemory | None]) -> RankMemory | None:
    """All steps at once."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            found: RankMemory | None = done.value
            return found
