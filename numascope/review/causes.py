"""What may have put a thread where it is: hints that stand beside a verdict, each with what it was told by. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.observe.facts import rebinding
from numascope.observe.sample import ProcessFacts
from numascope.review.report import Placement

_OUT_OF_PLACE: Final = frozenset({"narrow", "loose", "astray", "escaped"})
_MODULES: Final = frozenset({"runtime", "pynative", "minddata"})
"""Roles that MindSpore binds only where the program calls mindspore.runtime.set_cpu_affinity."""

_MAYBE_NCCL: Final = frozenset({"comm", "unnamed", "other"})
"""NCCL names its threads only with NCCL_SET_THREAD_NAME=1."""

_MASKS_KEPT_SINCE: Final = (6, 2)
"""Since Linux 6.2 the mask that was asked for is kept beside the cpuset (commit 8f9ea86fdf99, kernel/sched/core.c)."""

_RELEASE = re.compile(r"([0-9]{1,4})\.([0-9]{1,4}).*", re.DOTALL)


class Around(NamedTuple):
    """What stands around a thread: all processes, the masks of their main threads, and the machine."""

    processes: Mapping[int, ProcessFacts]
    main_masks: Mapping[int, CpuSet | None]
    """Process → the mask of its first thread."""
    machine: Machine


class Cause(NamedTuple):
    """A hint, and what lasts against it; empty where nothing is known to."""

    text: str
    lasting: str = ""


def around(placements: Sequence[Placement], processes: Mapping[int, ProcessFacts], machine: Machine) -> Around:
    """The surroundings of one sample's threads."""
    mains = {one.key.pid: one.allowed for one in placements if one.key.tid == one.key.pid}
    return Around(processes, mains, machine)


def causes(one: Placement, there: Around) -> list[Cause]:
    """The hints for one thread, the most telling first; none for a thread that is in its place."""
    process = there.processes.get(one.key.pid)
    if process is None or one.verdict not in _OUT_OF_PLACE or one.target is None or one.allowed is None:
        return []
    found = (
        _openmp(one, process),
        _nccl(one, process),
        _cpuset(one, one.allowed, process, there.machine),
        _launcher(one, one.allowed, process, there),
        _restarted(process),
        _never_bound(one, one.allowed, process, there),
    )
    return [cause for cause in found if cause is not None]


def _openmp(one: Placement, process: ProcessFacts) -> Cause | None:
    """The variables that narrow threads behind everybody's back, and whether a runtime that obeys them is mapped."""
    named = rebinding(process)
    if not named:
        return None
    mapped = f", {process.libraries[0]} mapped" if process.libraries else ", no OpenMP runtime mapped"
    return Cause(named + mapped, f"start without {named.partition('=')[0]}" if one.verdict == "narrow" else "")


def _nccl(one: Placement, process: ProcessFacts) -> Cause | None:
    value = (process.environ or {}).get("NCCL_IGNORE_CPU_AFFINITY", "0")
    if value.strip() in ("", "0") or one.role.name not in _MAYBE_NCCL or one.verdict == "narrow":
        return None
    return Cause(
        f"NCCL_IGNORE_CPU_AFFINITY={value}: NCCL puts its threads on the CPUs of the GPU, whatever the mask",
        "start without NCCL_IGNORE_CPU_AFFINITY",
    )


def _cpuset(one: Placement, allowed: CpuSet, process: ProcessFacts, machine: Machine) -> Cause | None:
    """Its mask is the whole of a cpuset that is not the whole machine: what a rewritten cpuset leaves, by kernel."""
    assert one.target is not None  # noqa: S101  (the caller asks of threads that have one)
    cpuset = process.cpuset
    if cpuset is None or allowed != cpuset or cpuset >= machine.cpus.online or allowed <= one.target.cpus:
        return None
    whole = f"its mask is its whole cpuset {cpuset}"
    seen = next((change for change in reversed(one.activity.mask_changes) if change.after == cpuset), None)
    if seen is not None:
        whole = f"its mask became its whole cpuset {cpuset} while it was watched (from {seen.before or 'unknown'})"
    keeps = _keeps_masks(machine.kernel)
    if keeps is None:
        return Cause(f"{whole}: before Linux 6.2 any write of cpuset.cpus does that")
    version = ".".join((machine.kernel or "").split(".")[:2])
    if keeps:
        return Cause(f"{whole}: Linux {version} keeps masks when a cpuset changes, so it was not bound within it")
    return Cause(
        f"{whole}: on Linux {version} any write of cpuset.cpus and any move between cgroups does that (kubelet, Slurm)",
        "numascope hold puts it back each time",
    )


def _keeps_masks(kernel: str | None) -> bool | None:
    found = _RELEASE.fullmatch(kernel or "")
    return None if found is None else (int(found[1]), int(found[2])) >= _MASKS_KEPT_SINCE


def _launcher(one: Placement, allowed: CpuSet, process: ProcessFacts, there: Around) -> Cause | None:
    """The mask of whoever started its process, where that is bound itself."""
    mask = there.main_masks.get(process.ppid)
    parent = there.processes.get(process.ppid)
    if parent is None or mask is None or mask != allowed or mask >= there.machine.cpus.online or mask == process.cpuset:
        return None
    if one.target is not None and allowed <= one.target.cpus:
        return None
    return Cause(
        f"{parent.comm} {parent.pid}, which started it, has the same mask: what a launcher is bound to, its ranks inherit",
        "start the launcher unbound, or each rank under its own prefix",
    )


def _restarted(process: ProcessFacts) -> Cause | None:
    count = (process.environ or {}).get("TORCHELASTIC_RESTART_COUNT", "")
    if not count.isdecimal() or int(count) == 0:
        return None
    return Cause(
        f"torchrun started it anew (TORCHELASTIC_RESTART_COUNT={count}): what was bound live ended with the process before",
        "torchrun --numa-binding or a prefix is set again at each start",
    )


def _never_bound(one: Placement, allowed: CpuSet, process: ProcessFacts, there: Around) -> Cause | None:
    """A module's thread still with main's set, after the time that the framework has for it."""
    environ = process.environ or {}
    if "MS_ROLE" not in environ or one.role.name not in _MODULES or one.key.tid == one.key.pid:
        return None
    if allowed != there.main_masks.get(process.pid) or (one.target is not None and allowed <= one.target.cpus):
        return None
    return Cause(
        "still main's set: the program never called mindspore.runtime.set_cpu_affinity, or it failed (its log has "
        '"Module bind core policy" where it did not)',
        "call set_cpu_affinity with this plan before the first step",
    )
