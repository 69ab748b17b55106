"""MindSpore's jobs: msrun sets MS_ROLE, RANK_ID and DEVICE_ID in the environment that each worker is started with."""

from __future__ import annotations

from collections.abc import Callable

from numascope.observe.jobs.devices import mindspore_device
from numascope.observe.jobs.kin import (
    Children,
    by_number,
    descendants,
    environ_of,
    launcher_above,
    number_in,
    program_of,
    tops,
    with_others,
)
from numascope.observe.jobs.objects import Facts, Job, Rank
from numascope.observe.jobs.schemes import MSRUN
from numascope.observe.sample import ProcessFacts


def mindspore_jobs(facts: Facts, children: Children) -> list[Job]:
    """One job a launcher, or where it has ended (`--join=False`) a scheduler's address."""
    found = tops(facts, children, _identity(facts))
    groups: dict[object, list[int]] = {}
    for pid in found:
        environ = environ_of(facts, pid)
        launcher = launcher_above(facts, pid, _is_msrun)
        address = (environ.get("MS_SCHED_HOST"), environ.get("MS_SCHED_PORT"))
        groups.setdefault(launcher if launcher is not None else address, []).append(pid)
    for pid, process in facts.items():
        if _is_msrun(process) and pid not in groups:
            groups[pid] = []
    return [_job(facts, children, key if isinstance(key, int) else None, members) for key, members in groups.items()]


def _identity(facts: Facts) -> Callable[[int], object | None]:
    def identity(pid: int) -> object | None:
        process, environ = facts.get(pid), environ_of(facts, pid)
        # msrun --join follows each log with a `tail` in the worker's environment.
        if process is None or process.comm == "tail":
            return None
        role = environ.get("MS_ROLE")
        return (role, environ.get("RANK_ID")) if role in ("MS_WORKER", "MS_SCHED") else None

    return identity


def _is_msrun(process: ProcessFacts) -> bool:
    return process.comm == MSRUN or MSRUN in program_of(process)


def _job(facts: Facts, children: Children, launcher: int | None, members: list[int]) -> Job:
    ranks, scheduler = [], None
    for pid in members:
        environ = environ_of(facts, pid)
        if environ["MS_ROLE"] == "MS_SCHED":
            scheduler = pid
            continue
        device, source = mindspore_device(environ)
        below = tuple(descendants(children, pid))
        local = number_in(environ.get("DEVICE_ID"))
        ranks.append(Rank(pid, number_in(environ.get("RANK_ID")), local, device, source, below))
    named = next((environ for pid in members if "MSRUN_BIND_FILE" in (environ := environ_of(facts, pid))), {})
    job = Job(
        framework="mindspore",
        launcher=launcher,
        ranks=by_number(ranks),
        scheduler=scheduler,
        plan_path=named.get("MSRUN_BIND_FILE"),
        plan_hash=named.get("MSRUN_BIND_FILE_HASH"),
        plan_source="MSRUN_BIND_FILE" if named else None,
    )
    return with_others(job, facts, children)
