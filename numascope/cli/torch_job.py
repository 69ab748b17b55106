"""The plan that a live torchrun was started with: its `--numa-binding`, computed as the launcher itself would."""

from __future__ import annotations

from itertools import takewhile
from typing import NamedTuple

from numascope.errors import NumascopeError
from numascope.host.affinity import AffinityReader
from numascope.host.root import AbsentError, DeniedError
from numascope.host.text import safe_text
from numascope.machine.objects import Machine
from numascope.observe.jobs import Facts, Job
from numascope.plan.given import TORCH, torch_plan
from numascope.plan.make.seats import Seats, found_seats
from numascope.plan.objects import Plan
from numascope.plan.write.forms import converted
from numascope.plan.write.outline import Setting

_OPTION = "--numa-binding="


class JobPlan(NamedTuple):
    """A job's own plan as numascope computed it, its bytes as a recording keeps them, and where it is named."""

    plan: Plan
    data: bytes
    source: str


def plan_of_torchrun(job: Job, facts: Facts, machine: Machine) -> JobPlan | str:
    """The plan of a job's `--numa-binding`, or why it cannot be told."""
    binding = job.plan_source or ""
    if job.launcher is None or not binding.startswith(_OPTION):
        return f"{safe_text(binding)} is no mode of torch that numascope computes"
    mode = binding.removeprefix(_OPTION)
    try:
        mask = AffinityReader().read(job.launcher)
        seats = _visible(found_seats(machine, ("gpu",), None), facts, job.launcher)
        if isinstance(seats, str):
            return seats
        there = machine._replace(cpus=machine.cpus._replace(allowed=mask))
        plan = torch_plan(f"{TORCH}{mode}", mode, there, seats, len(job.ranks) or None)
    except (AbsentError, DeniedError):
        return f"the CPUs of its launcher {job.launcher} cannot be read"
    except NumascopeError as error:
        return str(error)
    kept = converted(plan, "numascope", Setting(machine)).text.encode()
    return JobPlan(plan, kept, f"{binding} of torchrun {job.launcher}, computed")


def _visible(found: Seats, facts: Facts, launcher: int) -> Seats | str:
    """The devices that the launcher sees, in its order: they are all that count for torch's shares. CUDA ends at the first number that is none."""
    process = facts.get(launcher)
    environ = None if process is None else process.environ
    if environ is None:
        return f"the environment of its launcher {launcher} cannot be read: which devices it sees is not known"
    listed = environ.get("CUDA_VISIBLE_DEVICES")
    if listed is None:
        return found
    pieces = [piece.strip() for piece in listed.split(",")]
    if not all(piece.isascii() and piece.isdecimal() and len(piece) < 6 for piece in pieces):
        return f"CUDA_VISIBLE_DEVICES={listed} names no numbers"
    seats = {seat.number: seat for seat in found.seats}
    wanted = list(takewhile(seats.__contains__, map(int, pieces)))
    if len(set(wanted)) < len(wanted):
        return f"CUDA_VISIBLE_DEVICES={listed} names a device twice"
    return found._replace(seats=tuple(seats[number] for number in wanted))
