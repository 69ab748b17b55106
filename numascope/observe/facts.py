"""The facts of one process: what is read seldom, as it hardly changes."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Final

from numascope.host import parse, procfs
from numascope.host.opened import device_files
from numascope.host.root import DeniedError, HostRoot
from numascope.host.system.cgroups import cpuset_of
from numascope.host.text import safe_text
from numascope.observe.sample import ProcessFacts

WANTED_ENVIRONMENT: Final = (
    "MS_", "MSRUN_", "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "DEVICE_ID",
    "MASTER_", "TORCHELASTIC_", "*_VISIBLE_DEVICES", "OMPI_COMM_WORLD_", "OMPI_MCA_orte_ess_jobid", "PMIX_RANK",
    "PMIX_NAMESPACE", "PRTE_LAUNCHED", "JAX_PROCESS_ID", "JAX_NUM_PROCESSES", "JAX_COORDINATOR_ADDRESS",
    "SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_ID", "SLURM_JOB_ID", "SLURM_STEP_GPUS", "SLURM_JOB_GPUS",
    "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "CPU_AFFINITY", "NCCL_", "CUDA_DEVICE_ORDER",
    "VLLM_CPU_OMP_THREADS_BIND",
)  # fmt: skip
"""The variables that say who a process is or that rebind threads, by their start or (`*`) their end; no other is kept."""

REBINDING: Final = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")
"""The variables by which an OpenMP runtime narrows threads behind everybody's back."""

_BINDS: Final = (
    "OMP_",
    "GOMP_",
    "KMP_",
    "MKL_",
    "OPENBLAS_",
    "NCCL_",
    "CPU_AFFINITY",
    "MSRUN_",
    "VLLM_CPU_OMP_THREADS_BIND",
)

_NOBODY: Final = frozenset({"false", "disabled", "none"})
"""Words by which such a variable binds nobody (OMP_PROC_BIND of the OpenMP specification, KMP_AFFINITY of libomp)."""

_OPENMP_RUNTIMES: Final = ("libgomp", "libiomp5", "libomp")
MINDSPORE_LIBRARY: Final = "libmindspore"
"""Mapped from its import on, long before its threads have names; asked of processes whose environment names no launcher of a framework."""

_NAMES_FRAMEWORK: Final = ("MS_ROLE", "LOCAL_RANK", "JAX_PROCESS_ID")
_MOST_DESCRIPTORS: Final = 1024
"""Each is one readlink(2) of a µs; a process opens its devices before its many sockets and files."""

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


def rebinding(process: ProcessFacts) -> str:
    """The variables, as `NAME=value`, that let an OpenMP runtime bind this process's threads; empty where there are none."""
    return " ".join(f"{name}={value}" for name, value in rebinding_variables(process).items())


def rebinding_variables(process: ProcessFacts) -> dict[str, str]:
    """Those variables by name.

    `OMP_PROC_BIND=false` switches the others off but for KMP_AFFINITY, which goes before it (libgomp: `OMP_PLACES` beside it binds
    nobody; openmp/runtime/src/kmp_settings.cpp: the order of the rivals).
    """
    environ = process.environ or {}
    is_off = environ.get("OMP_PROC_BIND", "").strip().lower() == "false"
    names = ("KMP_AFFINITY",) if is_off else REBINDING
    return {name: environ[name] for name in names if not _binds_nobody(environ.get(name, ""))}


def _binds_nobody(value: str) -> bool:
    """Whether it is empty or says no; KMP_AFFINITY takes a list of words (`verbose,none`)."""
    return not value.strip() or not {word.strip() for word in value.lower().split(",")}.isdisjoint(_NOBODY)


def openmp_runtimes(process: ProcessFacts) -> tuple[str, ...]:
    """The OpenMP runtimes that it has mapped; looked for where a variable would let them bind threads."""
    return tuple(name for name in process.libraries if name in _OPENMP_RUNTIMES)


def _wanted_libraries(environ: Mapping[str, str]) -> tuple[str, ...]:
    openmp = _OPENMP_RUNTIMES if any(name in environ for name in REBINDING) else ()
    return openmp if any(name in environ for name in _NAMES_FRAMEWORK) else (*openmp, MINDSPORE_LIBRARY)


def binding_environ(process: ProcessFacts) -> Mapping[str, str] | None:
    """Of its environment what binds threads, memory and devices, or tells libraries how many to start; None where it may not be read."""
    if process.environ is None:
        return None
    return {
        name: value
        for name, value in sorted(process.environ.items())
        if name.startswith(_BINDS) or name.endswith("_VISIBLE_DEVICES")
    }


def read_facts(root: HostRoot, pid: int, *, deep: bool = True) -> ProcessFacts | None:
    """What /proc says of a process now, None where it is gone; `deep` adds cpuset, memory policy, OpenMP runtimes, device files."""
    stat = procfs.stat_of(root, pid)
    if stat is None:
        return None
    who = pid if stat.state not in "ZX" else procfs.speaker_of(root, pid)
    environ = procfs.environ_of(root, who, WANTED_ENVIRONMENT)
    status = procfs.status_of(root, who)
    uid_line, numbers = status.get("Uid", "").split(), status.get("NSpid", "").split()
    policy, policy_denied, cpuset = None, False, None
    libraries: tuple[str, ...] = ()
    devices_held: tuple[str, ...] | None = None
    if deep:
        devices_held = device_files(root, who, _MOST_DESCRIPTORS)
        try:
            policy = procfs.policy_of(root, who)
        except DeniedError:
            policy_denied = True
        cpuset = cpuset_of(root, who).cpus
        if environ is not None and (wanted := _wanted_libraries(environ)):
            libraries = procfs.mapped_libraries(root, who, wanted)
    age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - stat.starttime_ticks / _TICKS_PER_S
    return ProcessFacts(
        pid=pid,
        ppid=stat.ppid,
        starttime_ticks=stat.starttime_ticks,
        sid=stat.sid,
        comm=stat.comm,
        cmdline=procfs.cmdline_of(root, who),
        environ=None if environ is None else {key: safe_text(value) for key, value in environ.items()},
        uid=int(uid_line[0]) if uid_line else None,
        threads=stat.threads,
        cpuset=cpuset,
        policy=policy,
        policy_denied=policy_denied,
        started_s=time.time() - age_s,
        libraries=libraries,
        start_stack=stat.start_stack,
        mems_allowed=parse.id_list(status.get("Mems_allowed_list", "").encode()),
        inner_pid=int(numbers[-1]) if len(numbers) > 1 and numbers[-1].isdecimal() else None,
        devices_held=devices_held,
    )


def scan_facts(root: HostRoot) -> dict[int, ProcessFacts]:
    """The facts of every process that /proc lists, without the deep ones; kernel threads are left out."""
    found: dict[int, ProcessFacts] = {}
    for pid in procfs.pids(root):
        stat = procfs.stat_of(root, pid)
        if stat is None or stat.is_kernel_thread:
            continue
        facts = read_facts(root, pid, deep=False)
        if facts is not None:
            found[pid] = facts
    return found
