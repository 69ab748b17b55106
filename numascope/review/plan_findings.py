"""What is wrong with a plan on this machine and job: cut targets, a changed file. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.observe.jobs import Job
from numascope.observe.sample import ProcessFacts
from numascope.plan.objects import Plan
from numascope.review.report import Finding, Placement


def cut_targets(
    placements: Sequence[Placement], processes: Mapping[int, ProcessFacts], machine: Machine
) -> list[Finding]:
    """One finding for each place of the plan whose CPUs are not all online and in the cpuset."""
    places: dict[str, list[Placement]] = {}
    for one in placements:
        if one.target is not None and (one.target.cpus.bits != one.target.planned.bits or not one.target.planned):
            places.setdefault(f"{one.target.place} {one.target.planned}", []).append(one)
    return [_cut(members, processes, machine) for members in places.values()]


def _cut(members: Sequence[Placement], processes: Mapping[int, ProcessFacts], machine: Machine) -> Finding:
    one = members[0]
    assert one.target is not None  # noqa: S101  (the caller groups threads that have one)
    lost = one.target.planned - one.target.cpus
    absent = lost - machine.cpus.present
    offline = lost & machine.cpus.offline
    process = processes.get(one.key.pid)
    outside = CpuSet() if process is None or process.cpuset is None else lost - process.cpuset - absent - offline
    parts = [
        f"{word} {cpus}"
        for word, cpus in (("not on this machine:", absent), ("offline:", offline), ("outside the cpuset:", outside))
        if cpus
    ]
    return Finding(
        rule="plan-cut",
        severity="warning",
        subject=one.target.why,
        text=f"planned {one.target.planned}, usable {one.target.cpus or 'nothing'}"
        if one.target.planned
        else "none of its CPUs is online",
        evidence=f"{one.target.place}; {'; '.join(parts) or f'not usable: {lost}'}; {len(members)} thread{'' if len(members) == 1 else 's'}",
        remedy="plan CPUs that are online and in the job's cpuset",
        keys=tuple(member.key for member in members),
        rank=one.rank,
    )


def changed_plan(plan: Plan | None, jobs: Sequence[Job]) -> list[Finding]:
    """A file that is not the one that its job was started with: MindSpore refuses it, and targets may not be what threads got."""
    if plan is None:
        return []
    return [
        Finding(
            rule="plan-changed",
            severity="warning",
            subject=plan.path,
            text="is not the plan that the job was started with",
            evidence=f"MSRUN_BIND_FILE_HASH {job.plan_hash[:8]}, this file {plan.text_sha256[:8]}",
            remedy=f"compare with {job.plan_path}, or judge against the job's own plan: leave --plan out",
        )
        for job in jobs
        if job.plan_hash is not None and job.plan_hash != plan.text_sha256
    ]
