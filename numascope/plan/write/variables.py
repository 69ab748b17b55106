"""A plan as environment variables: torch_npu's, vLLM's, and those of OpenMP runtimes."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Final

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.plan.dialects import torch_npu, vllm
from numascope.plan.make.made import RoleCpus
from numascope.plan.objects import WHOLE_PROCESS
from numascope.plan.write.launch import PLACEHOLDER
from numascope.plan.write.losses import Losses
from numascope.plan.write.outline import MEMORY, Outline, Part, Setting
from numascope.plan.write.reduce import as_whole

_LAST_NPU: Final = 99
_TO_ONE_PLACE: Final = (
    "libgomp binds main to the first place when it is loaded, and whatever main starts later inherits that one CPU: "
    "bind the process by numactl alone where it has other threads than OpenMP's"
)


def torch_npu_text(outline: Outline, setting: Setting) -> str:
    """`export CPU_AFFINITY_CONF=…`: mode 2 where the hot threads have a CPU each, else mode 1."""
    del setting
    mode = 2 if any(len(part.roles) > 1 for part in outline.parts) else 1
    ranges = [f"npu{part.subject.device}:{piece}" for part in outline.parts for piece in str(part.cpus).split(",")]
    return f"export {torch_npu.NAME}={','.join([str(mode), *ranges])}\n"


def settle_torch_npu(outline: Outline, machine: Machine, losses: Losses) -> Outline:
    """Mode 2 where every device has just what that gives; a device number has two digits."""
    del machine
    devices = [part for part in outline.parts if part.subject.device is not None]
    fits = bool(devices) and all(_is_mode_2(part) for part in devices)
    parts = []
    for part in outline.parts:
        number = part.subject.device
        if number is not None and number > _LAST_NPU:
            role = part.roles[0].role if part.roles else MEMORY
            losses.add(part.subject, role, f"torch_npu takes device numbers up to {_LAST_NPU}")
            continue
        parts.append(part if fits or number is None else _as_one(part, losses))
    return outline._replace(parts=tuple(parts))


def _is_mode_2(part: Part) -> bool:
    cpus = list(part.cpus)
    if len(cpus) <= len(torch_npu.PINNED):
        return False
    wanted = {role: CpuSet.of((cpu,)) for role, cpu in zip(torch_npu.PINNED, cpus, strict=False)}
    wanted[torch_npu.WITH_MAIN] = CpuSet.of(cpus[:1])
    wanted[WHOLE_PROCESS] = CpuSet.of(cpus[len(torch_npu.PINNED) :])
    return {one.role: one.cpus for one in part.roles} == wanted


def _as_one(part: Part, losses: Losses) -> Part:
    for one in part.roles:
        if one.nodes is not None:
            losses.nodes(part.subject, one)
    return part._replace(roles=tuple(one._replace(nodes=None) for one in as_whole(part, "torch_npu", losses)))


def torch_npu_doubts(outline: Outline) -> list[str]:
    """What torch_npu does beside what it is told."""
    del outline
    return [
        "torch_npu binds nobody where a CPU of any device is outside the mask that it starts with: add force:1 to override"
    ]


def vllm_text(outline: Outline, setting: Setting) -> str:
    """`export VLLM_CPU_OMP_THREADS_BIND='0-31|32-63'`."""
    del setting
    return f"export {vllm.NAME}={shlex.quote('|'.join(str(part.cpus) for part in outline.parts))}\n"


def settle_vllm(outline: Outline, machine: Machine, losses: Losses) -> Outline:
    """The rules of vLLM: it pins each OpenMP thread to one CPU of the list, and binds memory to the nodes of the CPUs."""
    parts = []
    for part in outline.parts:
        if part.subject.device is None or not part.cpus:
            parts.append(part)
            continue
        cpus = next((one.cpus for one in part.roles if one.role == "omp"), part.cpus)
        for one in part.roles:
            if one.cpus != cpus:
                losses.role(part.subject, one, "vLLM binds a rank to the CPUs of its OpenMP threads")
            elif one.nodes is not None:
                losses.nodes(part.subject, one)
        nodes = machine.nodes_of(cpus) or None
        if part.memory is not None and (part.memory != nodes or part.policy != "bind"):
            losses.memory(part.subject, part.memory, "vLLM binds it to the nodes of its CPUs")
        roles = (RoleCpus(WHOLE_PROCESS, cpus), RoleCpus("omp", cpus))
        parts.append(part._replace(roles=roles, memory=nodes, policy="bind"))
    return outline._replace(parts=tuple(parts))


def omp_places_text(outline: Outline, setting: Setting) -> str:
    """`OMP_PLACES` with one place a CPU (OpenMP 5.2, 21.1.6), one line a rank."""
    return _rank_lines(outline, setting, lambda cpus: [
        f"OMP_NUM_THREADS={len(cpus)}", "OMP_PROC_BIND=close", f"OMP_PLACES={','.join(f'{{{cpu}}}' for cpu in cpus)}",
    ])  # fmt: skip


def gomp_text(outline: Outline, setting: Setting) -> str:
    """`GOMP_CPU_AFFINITY` of libgomp, one line a rank (libgomp manual, 4.15)."""
    return _rank_lines(
        outline,
        setting,
        lambda cpus: [f"OMP_NUM_THREADS={len(cpus)}", f"GOMP_CPU_AFFINITY={str(cpus).replace(',', ' ')}"],
    )


def _rank_lines(outline: Outline, setting: Setting, settings: Callable[[CpuSet], list[str]]) -> str:
    lines = []
    for part in outline.parts:
        words = [
            f"{name}={shlex.quote(value)}" for name, _, value in (one.partition("=") for one in settings(part.cpus))
        ]
        lines += [f"# {part.label}", " ".join([*words, shlex.join(setting.command or PLACEHOLDER)])]
    return "\n".join([*lines, ""])


def settle_omp(outline: Outline, machine: Machine, losses: Losses) -> Outline:
    """Only the pool's CPUs: those of the role `omp`, else all."""
    del machine
    parts = []
    for part in outline.parts:
        cpus = next((one.cpus for one in part.roles if one.role == "omp"), part.cpus)
        for one in part.roles if part.subject.device is not None else ():
            if one.role != "omp" and (one.cpus != cpus or one.role not in ("main", WHOLE_PROCESS)):
                losses.role(part.subject, one, "these variables bind OpenMP's threads only")
        kept = part.roles if part.subject.device is None or not cpus else (RoleCpus(WHOLE_PROCESS, cpus, part.nodes),)
        parts.append(part._replace(roles=kept))
    return outline._replace(parts=tuple(parts))


def omp_doubts(outline: Outline) -> Sequence[str]:
    """What an OpenMP runtime does to the main thread, and through it to all others."""
    del outline
    return (_TO_ONE_PLACE,)


def gomp_doubts(outline: Outline) -> Sequence[str]:
    """The same, and that the variable leaves the set that the process was given."""
    return (*omp_doubts(outline), "GOMP_CPU_AFFINITY goes past the mask that numactl or taskset gave")
