from __future__ import annotations

import errno
import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from numascope.cli import options
from numascope.cli.arguments import FilePath

if TYPE_CHECKING:
    from numascope.cpuset import CpuSet
    from numascope.host.root import HostRoot
    from numascope.machine.objects import Machine
    from numascope.plan.objects import MemoryRule, Plan, Subject
    from numascope.plan.prefix import Prefix
    from numascope.steer.own_process import OwnKernel

REFUSED: Final = 125
"""As env(1) and taskset(1) end where they themselves fail; 126: the command cannot be started, 127: it is not found."""

_NOT_STARTED: Final = 126
_NOT_FOUND: Final = 127


class _Command(click.Command):
    """Its own mistakes in usage end 125, as nothing was started."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.show()
            raise click.exceptions.Exit(REFUSED) from None


class _Wish(NamedTuple):
    """What is to be set: None leaves it as it is."""

    cpus: CpuSet | None
    memory: MemoryRule | None


@click.command(
    cls=_Command,
    short_help="Start a command on its planned CPUs and memory.",
    context_settings={"allow_interspersed_args": False},
)
@click.option("--plan", required=True, type=FilePath(), help="A plan of any dialect, or torch:MODE.")
@click.option(
    "--device", default=None, metavar="N | scheduler", help="Whose part of the plan; the launcher's local rank without."
)
@options.dialect()
@click.option("--fallback", is_flag=True, help="Start it all the same where a part cannot be set, and say which.")
@click.option("--dry-run", is_flag=True, help="Only say what would be set.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="[--] COMMAND...")
def run(
    *, plan: str, device: str | None, dialect: str | None, fallback: bool, dry_run: bool, command: tuple[str, ...]
) -> None:
    """Set CPUs and memory policy of one device's rank for this process, then become COMMAND.

    What a numactl or taskset prefix does, by the same system calls. Everything that COMMAND starts inherits both. It keeps
    the process id, the environment, limits and signals.

    Exit code: that of COMMAND; 125 numascope refused, 126 COMMAND cannot be started, 127 it is not found.
    """
    from numascope.errors import NumascopeError

    try:
        _bind(plan, device, dialect, fallback=fallback, dry_run=dry_run)
    except NumascopeError as error:
        click.echo(f"numascope run: {error}", err=True)
        raise click.exceptions.Exit(REFUSED) from None
    except OSError as error:
        from numascope.steer.own_process import refusal

        click.echo(f"numascope run: reading this machine or its own process is {refusal(error)}", err=True)
        raise click.exceptions.Exit(REFUSED) from None
    if not dry_run:
        _become(command)


def _bind(path: str, device: str | None, dialect: str | None, *, fallback: bool, dry_run: bool) -> None:
    from numascope.cli.run_rank import subject_of
    from numascope.host.root import HostRoot
    from numascope.machine.build import build_machine
    from numascope.plan.given import read_given
    from numascope.plan.make.made import NoPlanError
    from numascope.plan.prefix import prefix_of
    from numascope.steer.own_process import RunningKernel, probe

    with closing(HostRoot()) as root:
        machine = build_machine(root)
        try:
            plan = read_given(path, machine, None, dialect)
        except NoPlanError as error:
            raise NoPlanError(f"{error}; numascope plan make takes that, and writes a plan that run takes") from None
        subject = subject_of(plan, device, os.environ)
        prefix = prefix_of(plan, machine, subject)
        kernel = RunningKernel()
        refused = {one.call: one.problem for one in probe(kernel, needs_memory=prefix.memory is not None)}
        say = _Say(plan, subject, fallback=fallback)
        wish = _set(say, kernel, _permitted(say, root, machine, prefix, refused))
    if dry_run:  # It was tried on this process, which ends now: nothing is promised that the kernel would refuse.
        _tell(plan, subject, prefix, wish)


class _Say:
    """Refuses what cannot be set, or with --fallback says what is done in its place."""

    def __init__(self, plan: Plan, subject: Subject, *, fallback: bool) -> None:
        self.plan, self.subject, self.fallback = plan, subject, fallback

    def instead(self, problem: str, done: str) -> None:
        """NotPermittedError where there is no --fallback."""
        from numascope.errors import NotPermittedError

        if not self.fallback:
            raise NotPermittedError(f"{problem}; --fallback starts it {done}")
        click.echo(f"numascope run: {problem}; by --fallback it is started {done}", err=True)


def _permitted(say: _Say, root: HostRoot, machine: Machine, prefix: Prefix, refused: dict[str, str]) -> _Wish:
    """The part of it that can be set here: online, in the cpuset, and not refused by the kernel."""
    cpus, memory = prefix.cpus, prefix.memory
    if cpus is not None and (problem := refused.get("sched_setaffinity")):
        say.instead(f"the CPUs cannot be set: sched_setaffinity is {problem}", "on the CPUs that it inherits")
        cpus = None
    if cpus is not None:
        cpus = _usable_cpus(say, root, machine, cpus)
    if memory is not None and (problem := refused.get("set_mempolicy")):
        say.instead(f"the memory cannot be bound: set_mempolicy is {problem}", "without a memory policy")
        memory = None
    if memory is not None:
        memory = _usable_memory(say, root, machine, memory)
    return _Wish(cpus, memory)


def _usable_cpus(say: _Say, root: HostRoot, machine: Machine, planned: CpuSet) -> CpuSet | None:
    from numascope.host.system.cgroups import cpuset_of

    cpuset = cpuset_of(root, os.getpid()).cpus
    usable = planned & machine.cpus.online & (machine.cpus.online if cpuset is None else cpuset)
    lost = planned - usable
    if not lost and planned:
        return planned
    parts = (
        ("not on this machine", lost - machine.cpus.present),
        ("offline", lost & machine.cpus.offline),
        (f"outside the cpuset {cpuset}", lost & machine.cpus.online),
    )
    why = ", ".join(f"CPU {cpus} {words}" for words, cpus in parts if cpus) or "its nodes have no CPU here"
    done = f"on CPU {usable} alone" if usable else "on the CPUs that it inherits"
    say.instead(f"{say.plan.path} gives {say.subject} CPU {planned or 'none'}: {why}", done)
    return usable or None


def _usable_memory(say: _Say, root: HostRoot, machine: Machine, memory: MemoryRule) -> MemoryRule | None:
    from dataclasses import replace

    from numascope.cpuset import CpuSet
    from numascope.host.system.cgroups import limits_of_reader

    if memory.policy == "local":
        return memory
    with_memory = CpuSet.of(node.id for node in machine.nodes if node.memory_kib != 0)
    allowed = limits_of_reader(root).mems
    usable = memory.nodes & with_memory & (with_memory if allowed is None else allowed)
    lost = memory.nodes - usable
    if not lost:
        return memory
    there = CpuSet.of(node.id for node in machine.nodes)
    parts = (
        ("not on this machine", lost - there),
        ("without memory", lost & there - with_memory),
        (f"outside the cpuset's {allowed}", lost & with_memory),
    )
    why = ", ".join(f"node {nodes} {words}" for words, nodes in parts if nodes)
    done = f"with memory on node {usable} alone" if usable else "without a memory policy"
    say.instead(f"{say.plan.path} binds memory of {say.subject} to node {memory.nodes}: {why}", done)
    return replace(memory, nodes=usable) if usable else None


def _set(say: _Say, kernel: OwnKernel, wish: _Wish) -> _Wish:
    """Memory first, then the mask; what was set, by reading the mask back, as the kernel cuts it silently."""
    from numascope.steer.own_process import policy_of, refusal

    cpus, memory = wish
    if memory is not None:
        try:
            kernel.set_policy(policy_of(memory.policy, memory.nodes))
        except OSError as error:
            nodes = f" of node {memory.nodes}" if memory.nodes else ""
            problem = f"memory policy {memory.policy}{nodes}: set_mempolicy is {refusal(error, memory.policy)}"
            say.instead(problem, "without a memory policy")
            memory = None
        else:
            memory = _as_taken(say, kernel, memory)
    if cpus is not None:
        try:
            kernel.set_affinity(cpus)
        except OSError as error:
            say.instead(f"CPU {cpus}: sched_setaffinity is {refusal(error)}", "on the CPUs that it inherits")
            return _Wish(cpus=None, memory=memory)
        got = kernel.affinity()
        if got != cpus:
            say.instead(f"CPU {cpus} was asked for, the kernel gave {got}", f"on CPU {got}")
            cpus = got
    return _Wish(cpus, memory)


def _as_taken(say: _Say, kernel: OwnKernel, memory: MemoryRule) -> MemoryRule:
    """The policy as the kernel has it: of several preferred nodes it silently takes the first (mm/mempolicy.c)."""
    from dataclasses import replace

    try:
        taken = kernel.policy().nodes
    except OSError:  # A filter may let it be set and not be read.
        return memory
    if taken == memory.nodes or memory.policy == "local":
        return memory
    asked = f"memory policy {memory.policy} of node {memory.nodes} was asked for"
    say.instead(f"{asked}, the kernel gave node {taken}", f"with memory policy {memory.policy} of node {taken}")
    return replace(memory, nodes=taken)


def _tell(plan: Plan, subject: Subject, prefix: Prefix, wish: _Wish) -> None:
    place = plan.path if prefix.rule is None else prefix.rule.place
    click.echo(f"{subject}: CPU {'as inherited' if wish.cpus is None else wish.cpus} ({place})")
    if wish.memory is None:
        click.echo("memory: as inherited")
    else:
        click.echo(
            f"memory: {wish.memory.policy}{f' node {wish.memory.nodes}' if wish.memory.nodes else ''} ({wish.memory.place})"
        )
    if prefix.rest:
        click.echo(f"not set by a prefix: {', '.join(prefix.rest)}; its framework, or numascope apply, binds these")


def _become(command: tuple[str, ...]) -> None:
    """Execs, or says why not and ends as env(1) does."""
    from numascope.host.procfs import environ_of
    from numascope.host.root import HostRoot
    from numascope.host.text import safe_text
    from numascope.steer.own_process import become

    with closing(HostRoot()) as root:
        begun = environ_of(root, os.getpid(), ("LC_CTYPE",))
    if begun is not None and "LC_CTYPE" not in begun:
        os.environ.pop("LC_CTYPE", None)  # Python's own, where the locale was C (PEP 538)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        become(command)
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError)
        why = (error.strerror or "cannot be started").lower()
        if error.errno == errno.ENOEXEC:
            why += ": a script without a first line of #! needs its interpreter before it, as sh has"
        click.echo(f"numascope run: {safe_text(command[0]) or 'COMMAND is empty'}: {why}", err=True)
        raise click.exceptions.Exit(_NOT_FOUND if is_missing else _NOT_STARTED) from None
    except ValueError:
        click.echo("numascope run: a zero byte in COMMAND", err=True)
        raise click.exceptions.Exit(_NOT_STARTED) from None
