"""The physical device of a rank: its place in the list of visible devices, and the device files that it holds open. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from numascope.observe.jobs.kin import number_in
from numascope.observe.jobs.objects import Job, Rank

_ROCR: Final = "ROCR_VISIBLE_DEVICES"
_LISTS: Final = ("ASCEND_RT_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", _ROCR)
"""Lists that a runtime itself obeys; `NVIDIA_VISIBLE_DEVICES` is read by container tools only, and renumbers nothing by itself."""

_STEP_DEVICES: Final = ("SLURM_STEP_GPUS", "SLURM_JOB_GPUS")
_MINOR: Final = ", which may be the same: the driver's numbers are not CUDA's"
_NUMBERED: Final = re.compile(r"(davinci|nvidia)([0-9]+)")


def mindspore_device(environ: Mapping[str, str]) -> tuple[int | None, str]:
    """MindSpore's own reckoning: it sorts Ascend's list (mindspore/runtime/thread_bind_core.py); number and where it is from."""
    local = number_in(environ.get("DEVICE_ID"))
    visible = environ.get("ASCEND_RT_VISIBLE_DEVICES")
    if local is None or not visible or "MS_SIMULATION_LEVEL" in environ:
        return local, "DEVICE_ID"
    numbers = [number_in(part.strip()) for part in visible.split(",")]
    known = sorted(number for number in numbers if number is not None)
    if len(known) != len(numbers) or local >= len(known):
        return None, f"DEVICE_ID={local} has no place in ASCEND_RT_VISIBLE_DEVICES={visible}"
    return known[local], f"DEVICE_ID={local} of the sorted ASCEND_RT_VISIBLE_DEVICES={visible}"


def visible_device(environ: Mapping[str, str], local: int | None, name: str) -> tuple[int | None, str]:
    """The device of a local rank (`name` is its variable), and where that is from; None where the environment does not tell.

    CUDA, HIP and CANN keep the order of their lists; a list of one entry leaves no other device. UUID and MIG forms are no
    index (CUDA C++ Programming Guide, "CUDA Environment Variables").
    """
    lists = {one: _indices(environ[one]) for one in _LISTS if one in environ}
    if not lists:
        return local, name
    if _ROCR in lists and len(lists) > 1:
        lower = lists.pop(_ROCR)
        lists = {one: _through(lower, upper) for one, upper in lists.items()}
    answers = {one: _place(list_of, local) for one, list_of in lists.items()}
    shown = " and ".join(f"{one}={environ[one].replace(' ', '')}" for one in _LISTS if one in environ)
    if len(set(answers.values())) > 1:
        return None, f"{shown} name different devices"
    device = next(iter(answers.values()))
    if device is None:
        return None, f"{name}={'?' if local is None else local} has no known place in {shown}"
    source = (
        f"the only entry of {shown}"
        if all(len(one or ()) == 1 for one in lists.values())
        else f"{name}={local} of {shown}"
    )
    return _of_step(environ, device, source)


def _indices(text: str) -> tuple[int, ...] | None:
    """The indices of a list, which ends at the first negative one; None where an entry is none (`GPU-…`, `MIG-…`)."""
    found: list[int] = []
    for part in text.split(",") if text.strip() else ():
        if part.strip().startswith("-"):
            break
        number = number_in(part.strip())
        if number is None:
            return None
        found.append(number)
    return tuple(found)


def _through(lower: tuple[int, ...] | None, upper: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """HIP counts within what ROCr lets it see (ROCm documentation, "GPU isolation techniques")."""
    if lower is None or upper is None:
        return None
    return tuple(lower[one] for one in upper if one < len(lower))


def _place(indices: tuple[int, ...] | None, local: int | None) -> int | None:
    if not indices:
        return None
    if len(indices) == 1:
        return indices[0]
    return indices[local] if local is not None and local < len(indices) else None


def _of_step(environ: Mapping[str, str], device: int, source: str) -> tuple[int | None, str]:
    """Slurm's own numbers are absolute; where it confines devices by cgroup, CUDA's are counted within (srun(1), SLURM_STEP_GPUS)."""
    name = next((one for one in _STEP_DEVICES if one in environ), None)
    given = None if name is None else _indices(environ[name])
    if name is None or not given or device in given:
        return device, source
    return None, f"{source} is {device}, which {name}={environ[name].replace(' ', '')} does not have"


def with_held(jobs: Iterable[Job], held: Mapping[int, Sequence[str] | None]) -> tuple[Job, ...]:
    """The jobs, their ranks compared with the device files that each holds open (pid → `nvidia0` …, None: may not be read)."""
    return tuple(
        replace(job, ranks=tuple(_compared(rank, held.get(rank.pid)) for rank in job.ranks)) if job.ranks else job
        for job in jobs
    )


def _compared(rank: Rank, files: Sequence[str] | None) -> Rank:
    numbers: dict[str, set[int]] = {}
    for file in files or ():
        if found := _NUMBERED.fullmatch(file):
            numbers.setdefault(found[1], set()).add(int(found[2]))
    if not numbers or rank.by_hand:
        return rank
    kind = "davinci" if "davinci" in numbers else "nvidia"
    open_ones = sorted(numbers[kind])
    shown = ", ".join(f"/dev/{kind}{one}" for one in open_ones[:4]) + (", …" if len(open_ones) > 4 else "")
    if rank.device is None:
        if len(open_ones) > 1:
            return rank
        before = f"; {rank.device_source}" if rank.device_source else ""
        return replace(rank, device=open_ones[0], device_source=f"holds {shown} open{before}")
    if rank.device in open_ones:
        alone = len(open_ones) == 1
        return replace(rank, device_source=f"{rank.device_source}, holds {shown} open") if alone else rank
    note = f"{rank.pid} is on device {rank.device} by {rank.device_source}, but holds {shown} open{_MINOR if kind == 'nvidia' else ''}"
    return replace(rank, device_source=f"{rank.device_source}; but holds {shown} open", notes=(*rank.notes, note))
