"""Whose memory a move is about, and to which nodes: what the plan says of each rank, or --to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numascope.cli.move import Asked, Mover
    from numascope.cpuset import CpuSet
    from numascope.host.root import HostRoot
    from numascope.machine.objects import Machine
    from numascope.observe.sample import ProcessFacts
    from numascope.steer.journal import Source


def find_movers(root: HostRoot, asked: Asked) -> tuple[list[Mover], Source, tuple[str, ...]]:
    """The processes with their nodes, what the journal is to name, and notes; UsageError, TargetGoneError, NotPermittedError."""
    return _by_plan(root, asked) if asked.plan is not None else _by_hand(root, asked)


def _by_plan(root: HostRoot, asked: Asked) -> tuple[list[Mover], Source, tuple[str, ...]]:
    """Each rank's own process, to the nodes that the plan binds it to, else to those of its planned CPUs."""
    from numascope.cli.session import open_session
    from numascope.machine.build import build_machine
    from numascope.steer.journal import Source

    session = open_session(
        asked.targets, asked.plan, interval_s=1.0, window_s=1.0, dialect=asked.dialect, with_memory=False
    )
    try:
        report = session.step()
    finally:
        session.close()
    machine, plan, processes = build_machine(root), report.plan, report.sample.processes
    movers: list[Mover] = []
    for rank in report.ranks:
        process = processes.get(rank.pid)
        nodes = rank.planned_nodes if asked.to is None else asked.to
        if process is None or not nodes:
            continue
        binds = plan is not None and plan.memory_mode != "none" and bool(plan.memory)
        source = (
            "the plan binds its memory there" if binds else "the nodes of its planned CPUs; the plan binds no memory"
        )
        name = rank.name if rank.device is None else f"{rank.name} d{rank.device}"
        movers += _mover(root, process, nodes, source if asked.to is None else "as --to says", name, machine)
    path = None if plan is None else os.path.abspath(plan.path)
    source_of_entry = Source(path, None if plan is None else plan.sha256, report.title)
    return movers, source_of_entry, report.notes


def _by_hand(root: HostRoot, asked: Asked) -> tuple[list[Mover], Source, tuple[str, ...]]:
    """The ranks of the jobs that were meant, or the processes themselves, all to the nodes of --to."""
    from numascope.cli.living import living
    from numascope.machine.build import build_machine
    from numascope.observe.select import ranks_meant
    from numascope.steer.journal import Source

    assert asked.to is not None  # noqa: S101  (no plan is read only where --to is given)
    facts, wanted = living(root, asked.targets)
    machine = build_machine(root)
    movers: list[Mover] = []
    for rank in ranks_meant(facts, wanted):
        name = "" if rank.number is None else f"rank {rank.number}"
        movers += _mover(root, facts[rank.pid], asked.to, "as --to says", name, machine)
    title = ", ".join(one.owner.name for one in movers[:3]) + (", …" if len(movers) > 3 else "")
    return movers, Source(None, None, title), ()


def _mover(
    root: HostRoot, process: ProcessFacts, nodes: CpuSet, source: str, rank: str, machine: Machine
) -> Iterable[Mover]:
    """A process with its nodes, nothing where it is gone; UsageError where its memory may not lie there."""
    from numascope.cli.move import Mover
    from numascope.host import procfs
    from numascope.host.root import DeniedError
    from numascope.steer.page_owner import read_owner

    _check_nodes(nodes, machine, mems_allowed(root, process.pid), process)
    owner = read_owner(root, process.pid, "" if rank == process.comm else rank)
    if owner is None or owner.starttime_ticks != process.starttime_ticks:
        return ()
    try:
        policy = procfs.policy_of(root, process.pid)
    except DeniedError:
        policy = None
    return (Mover(owner, nodes, source, policy),)


def mems_allowed(root: HostRoot, pid: int) -> CpuSet | None:
    """The memory nodes that a process's cpuset lets it use; None where that cannot be read."""
    from numascope.cpuset import BadIdListError, CpuSet
    from numascope.host import procfs

    try:
        return CpuSet.parse(procfs.status_of(root, procfs.speaker_of(root, pid)).get("Mems_allowed_list", "")) or None
    except BadIdListError:
        return None


def _check_nodes(nodes: CpuSet, machine: Machine, allowed: CpuSet | None, process: ProcessFacts) -> None:
    from numascope.cpuset import CpuSet
    from numascope.errors import UsageError

    there = CpuSet.of(one.id for one in machine.nodes if one.memory_kib)
    if not nodes <= there:
        raise UsageError(
            f"node {nodes - there}: no such node with memory here; there is {there or 'none that is known'}"
        )
    if allowed is not None and not nodes <= allowed:
        raise UsageError(
            f"{process.comm} {process.pid} may have memory on node {allowed} only (its cpuset's memory nodes), not on {nodes - allowed}"
        )
