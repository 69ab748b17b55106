"""What may have put a thread where it is: hints that stand beside a verdict, each with what it was told by. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.observe.facts import openmp_runtimes, rebinding_variables
from numascope.observe.roles.classify import framework_of
from numascope.observe.sample import ProcessFacts
from numascope.plan.dialects.mindspore import LATER_MODULES
from numascope.review.report import Placement, RankView

_OUT_OF_PLACE: Final = frozenset({"narrow", "loose", "astray", "escaped"})
_MAYBE_NCCL: Final = frozenset({"comm", "unnamed", "other"})
"""NCCL names its threads only with NCCL_SET_THREAD_NAME=1."""

_MASKS_KEPT_SINCE: Final = (6, 2)
"""Since Linux 6.2 the mask that was asked for is kept beside the cpuset (commit 8f9ea86fdf99, kernel/sched/core.c)."""

_WIPES: Final = "a write of cpuset.cpus or a move between cgroups"
_HOLD: Final = "numascope hold puts it back each time"
_LARGE_GRAIN: Final = re.compile("granularity=(?!fine|thread|core)")
_RELEASE: Final = re.compile(r"([0-9]{1,4})\.([0-9]{1,4}).*", re.DOTALL)


class Around(NamedTuple):
    """What stands around a thread: all processes, the masks of their main threads, the ranks, and the machine."""

    processes: Mapping[int, ProcessFacts]
    main_masks: Mapping[int, CpuSet | None]
    """Process → the mask of its first thread."""
    machine: Machine
    tops: Mapping[int, int] = {}
    """Rank → its own process, which started its helpers."""
    device_nodes: Mapping[int, int | None] = {}
    """Rank → the node of its device, as far as known."""
    bound: frozenset[int] = frozenset()
    """The ranks of which MindSpore has bound a module: a thread of theirs is on other CPUs than main."""

    def top(self, one: Placement, process: ProcessFacts) -> ProcessFacts:
        """The process of its rank that the launcher started; its own where it is of no rank."""
        pid = None if one.rank is None else self.tops.get(one.rank)
        return process if pid is None else self.processes.get(pid, process)


class Cause(NamedTuple):
    """A hint, and what lasts against it; empty where nothing is known to."""

    text: str
    lasting: str = ""


def around(
    placements: Sequence[Placement],
    ranks: Sequence[RankView],
    processes: Mapping[int, ProcessFacts],
    machine: Machine,
) -> Around:
    """The surroundings of one sample's threads."""
    mains = {one.key.pid: one.allowed for one in placements if one.key.tid == one.key.pid}
    tops = {index: view.pid for index, view in enumerate(ranks)}
    bound = (
        one.rank
        for one in placements
        if one.rank is not None and one.role.name in LATER_MODULES and one.allowed != mains.get(tops.get(one.rank, 0))
    )
    nodes = {index: view.device_node for index, view in enumerate(ranks)}
    return Around(processes, mains, machine, tops, nodes, frozenset(bound))


def causes(one: Placement, there: Around) -> list[Cause]:
    """The hints for one thread, the most telling first; none for a thread that is in its place."""
    process = there.processes.get(one.key.pid)
    if process is None or one.verdict not in _OUT_OF_PLACE or one.target is None or one.allowed is None:
        return []
    top = there.top(one, process)
    openmp = _openmp(one.allowed, process, top, there)
    found = (
        openmp,
        _nccl(one, one.allowed, process, there),
        _cpuset(one, one.allowed, process, there.machine),
        _launcher(one.allowed, top, there) if openmp is None else None,
        _restarted(one.allowed, top, there),
        _never_bound(one, one.allowed, process, top, there),
    )
    return [cause for cause in found if cause is not None]


def _openmp(allowed: CpuSet, process: ProcessFacts, top: ProcessFacts, there: Around) -> Cause | None:
    """The variables that narrow threads behind everybody's back, where a runtime that heeds them is mapped and this may be its work."""
    culprit = process if _heeded(process) else top
    named, launcher = _heeded(culprit), there.processes.get(top.ppid)
    if not named or not _is_a_place(allowed, named, there.machine):
        return None
    given, whole = there.main_masks.get(top.ppid), _whole(top, there.machine)
    is_narrowed_too = launcher is not None and given != whole and bool(_heeded(launcher))
    if allowed == (whole if given is None or is_narrowed_too else given):
        return None
    text = " ".join(f"{name}={value}" for name, value in named.items()) + f", {openmp_runtimes(culprit)[0]} mapped"
    if launcher is not None and is_narrowed_too and given == allowed:
        text += f"; {launcher.comm} {launcher.pid}, which started it, has that variable and this mask too"
    return Cause(text, f"start without {next(iter(named))}")


def _heeded(process: ProcessFacts) -> dict[str, str]:
    """The variables that a runtime which it has mapped heeds; libgomp knows none of KMP_*."""
    runtimes = openmp_runtimes(process)
    if not runtimes:
        return {}
    only_gomp = runtimes == ("libgomp",)
    return {
        name: value
        for name, value in rebinding_variables(process).items()
        if not (only_gomp and name.startswith("KMP_"))
    }


def _is_a_place(allowed: CpuSet, named: Mapping[str, str], machine: Machine) -> bool:
    """Whether a mask may be one place of OpenMP's: at most a core where the variables do not ask for larger ones."""
    places, kmp = named.get("OMP_PLACES", "threads").strip().lower(), named.get("KMP_AFFINITY", "").lower()
    is_large = not places.startswith(("threads", "cores")) or _LARGE_GRAIN.search(kmp) is not None
    return is_large or len(allowed) == 1 or any(allowed <= core.cpus for core in machine.cores)


def _whole(process: ProcessFacts, machine: Machine) -> CpuSet:
    """What a process has that nobody bound."""
    return machine.cpus.online if process.cpuset is None else machine.cpus.online & process.cpuset


def _nccl(one: Placement, allowed: CpuSet, process: ProcessFacts, there: Around) -> Cause | None:
    """NCCL's own threads have the CPUs of the GPU's node, which main has not (src/init.cc, src/graph/topo.cc)."""
    value = (process.environ or {}).get("NCCL_IGNORE_CPU_AFFINITY", "0")
    if value.strip() in ("", "0") or one.role.name not in _MAYBE_NCCL or one.verdict == "narrow":
        return None
    node = None if one.rank is None else there.device_nodes.get(one.rank)
    if allowed == there.main_masks.get(process.pid) or (
        node is not None and any(cpu.id == node and not allowed <= cpu.cpus for cpu in there.machine.nodes)
    ):
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
    seen = next((change for change in reversed(one.activity.mask_changes) if change.after == cpuset), None)
    keeps = _keeps_masks(machine.kernel)
    linux = "Linux before 6.2" if keeps is None else f"Linux {'.'.join((machine.kernel or '').split('.')[:2])}"
    if seen is not None:
        became = f"its mask became its whole cpuset {cpuset} while it was watched (from {seen.before or 'unknown'})"
        if keeps:
            return Cause(f"{became}: {linux} keeps masks when a cpuset changes, so somebody set it")
        return Cause(f"{became}: on {linux} {_WIPES} does that (kubelet, Slurm)", _HOLD)
    whole = f"its mask is its whole cpuset {cpuset}"
    if keeps:
        return Cause(f"{whole}: {linux} keeps masks when a cpuset changes, so it was not bound within it")
    return Cause(f"{whole}: it was never bound within it, or on {linux} {_WIPES} wiped that (kubelet, Slurm)", _HOLD)


def _keeps_masks(kernel: str | None) -> bool | None:
    found = _RELEASE.fullmatch(kernel or "")
    return None if found is None else (int(found[1]), int(found[2])) >= _MASKS_KEPT_SINCE


def _launcher(allowed: CpuSet, top: ProcessFacts, there: Around) -> Cause | None:
    """The mask of whoever started its rank, where that is bound itself: helpers have theirs from the rank."""
    mask, parent = there.main_masks.get(top.ppid), there.processes.get(top.ppid)
    if parent is None or mask is None or mask != allowed or mask >= _whole(top, there.machine):
        return None
    return Cause(
        f"{parent.comm} {parent.pid}, which started it, has the same mask: what a launcher is bound to, its ranks inherit",
        "start the launcher unbound, or each rank under its own prefix",
    )


def _restarted(allowed: CpuSet, top: ProcessFacts, there: Around) -> Cause | None:
    """A rank of a later attempt that has what its launcher has, or what nobody bound has."""
    count = (top.environ or {}).get("TORCHELASTIC_RESTART_COUNT", "")
    if not (count.isascii() and count.isdecimal()) or int(count[:9]) == 0:
        return None
    if allowed != (there.main_masks.get(top.ppid) or _whole(top, there.machine)):
        return None
    return Cause(
        f"torchrun started it anew (TORCHELASTIC_RESTART_COUNT={count}): what was bound live, if anything, ended with the process before",
        "torchrun --numa-binding or a prefix is set again at each start",
    )


def _never_bound(
    one: Placement, allowed: CpuSet, process: ProcessFacts, top: ProcessFacts, there: Around
) -> Cause | None:
    """A module's thread still with main's set, as all modules of its rank, after the time that the framework has for it."""
    is_mindspore = "MS_ROLE" in (process.environ or {}) or framework_of((one.comm,)) == "mindspore"
    is_main = one.key.tid == one.key.pid == top.pid
    if not is_mindspore or one.role.name not in LATER_MODULES or is_main or one.rank in there.bound:
        return None
    if allowed != there.main_masks.get(top.pid) or (one.target is not None and allowed <= one.target.cpus):
        return None
    return Cause(
        "still main's set: the program never called mindspore.runtime.set_cpu_affinity, or it failed, as it does without "
        '/sys/fs/cgroup/cpuset/cpuset.cpus (its log has "Module bind core policy" where it did not)',
        "call set_cpu_affinity with this plan before the first step",
    )
