"""Whose part of a plan `numascope run` takes: the device given by hand, or that of the rank that a launcher made of this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numascope.errors import UsageError
from numascope.host.text import safe_text
from numascope.observe.jobs.devices import mindspore_device, visible_device
from numascope.observe.jobs.kin import number_in
from numascope.plan.objects import SCHEDULER, Plan, Subject

RANK_VARIABLES: Final = (
    "LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "SLURM_LOCALID",
    "MPI_LOCALRANKID",
    "PALS_LOCAL_RANKID",
)
"""The variables in which launchers tell a process which of their ranks on this host it is."""

_ROLE: Final = "MS_ROLE"
"""Set to start MindSpore's workers and their scheduler, by msrun or by a script (dynamic cluster startup)."""

_MOST_NAMED: Final = 16


def subject_of(plan: Plan, given: str | None, environ: Mapping[str, str]) -> Subject:
    """The device that is meant, which the plan has to speak of; UsageError."""
    subject, source = _of_rank(environ) if given is None else (_by_hand(given), "--device")
    subjects = plan.subjects()
    if subject not in subjects:
        named = ", ".join(map(str, subjects[:_MOST_NAMED])) or "nobody"
        raise UsageError(f"{plan.path} says nothing of {subject} ({source}): it names {named}")
    return subject


def _by_hand(text: str) -> Subject:
    if text == "scheduler":
        return SCHEDULER
    number = number_in(text.removeprefix("device").removeprefix("_"))
    if number is None:
        raise UsageError(f'--device is "{safe_text(text[:40])}": expected a device number, or scheduler')
    return Subject(number)


def _of_rank(environ: Mapping[str, str]) -> tuple[Subject, str]:
    """As the other verbs find the device of a rank that runs: by its place in the list of visible devices."""
    if environ.get(_ROLE) == "MS_SCHED":
        return SCHEDULER, f"{_ROLE}=MS_SCHED"
    if environ.get(_ROLE) == "MS_WORKER" and "DEVICE_ID" in environ:
        name = "DEVICE_ID"
        device, source = mindspore_device(environ)
    else:
        name = next((one for one in RANK_VARIABLES if one in environ and _is_of_a_step(one, environ)), "")
        if not name:
            names = ", ".join(RANK_VARIABLES)
            raise UsageError(
                f"no launcher's variable names a rank here: give --device N ({names}, or MindSpore's, would)"
            )
        device, source = visible_device(environ, number_in(environ[name]), name)
    if number_in(environ[name]) is None:
        raise UsageError(f'{name} is "{safe_text(environ[name][:40])}": expected a device number; give --device N')
    if device is None:
        raise UsageError(f"{safe_text(source[:200])}: give --device N")
    return Subject(device), safe_text(source[:200])


def _is_of_a_step(name: str, environ: Mapping[str, str]) -> bool:
    """Slurm's batch script has SLURM_LOCALID=0 too, but no step number of fewer than ten digits: it is no rank."""
    return not name.startswith("SLURM_") or number_in(environ.get("SLURM_STEP_ID")) is not None
