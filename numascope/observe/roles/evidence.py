"""What threads without a name of their own are, told by what they do: start together, share a set, compute beside main."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from numascope.cpuset import CpuSet
from numascope.observe.roles.objects import ProcessView, Role, ThreadFacts

_BURST_THREADS: Final = 4
_BURST_TICKS: Final = 50
"""A MindSpore data pipeline starts its threads together: four or more within half a second, unnamed."""

_TIGHT_TICKS: Final = 10
"""Measured: 15 of the 16 threads of a pipeline start within a tenth of a second."""

_WORKED_NS: Final = 1_000_000
_WORKING_SHARE: Final = 4
"""One in four of a pipeline's threads has worked; of a library's pool that only waits none has."""

_MOST_BLAS_THREADS: Final = 64
"""Of the OpenBLAS that comes with numpy (OpenMathLib/openblas-libs, NUM_THREADS)."""

_CLEANER_NS: Final = 100_000_000
_CLEANER_SHARE: Final = 2
"""Measured after 6 to 17 s: cleaning processes had used 0 to 30 ms, map workers of the same rank 240 to 1,190 ms.

Which of two is more than the other's half is told on slow machines too; who is taken for a cleaner wrongly is accused of nothing.
"""

_BESIDE_MAIN: Final = 20
"""A thread of an OpenMP pool has used at least a twentieth of main's CPU time: it spins or computes in every parallel region."""


def pipeline_roles(process: ProcessView, unnamed: Sequence[ThreadFacts]) -> dict[int, Role]:
    """The threads of a MindSpore data pipeline: by the set that it is bound to, or by a burst of starts that has worked."""
    if process.kind not in ("rank", "helper"):
        return {}
    found: dict[int, Role] = {}
    planned, inherited = process.minddata, process.rank_allowed
    if planned is not None:
        bound = Role("minddata", "inferred", f"unnamed, on the CPUs of minddata, {planned.cpus} by {planned.source}")
        on_them = (thread for thread in unnamed if thread.allowed == planned.cpus and _has_own_set(thread, inherited))
        found.update((thread.tid, bound) for thread in on_them)
    pool = _blas_pool(process, unnamed)
    started = sorted((thread for thread in unnamed if thread.tid not in pool), key=_start)
    for burst in _bursts(started, _BURST_TICKS, _BURST_THREADS):
        members = {thread.tid for thread in burst if _works(thread, inherited)}
        members.update(thread.tid for group in _pipelines(burst, inherited) for thread in group)
        role = Role(
            "minddata", "inferred", f"unnamed, one of {len(members)} that started together, as a data pipeline does"
        )
        found.update((tid, role) for tid in members if tid not in found)
    return found


def _blas_pool(process: ProcessView, unnamed: Sequence[ThreadFacts]) -> frozenset[int]:
    """The first burst of a process, where it is one thread less than the CPUs that it may use: the pool that OpenBLAS starts with numpy.

    It has the set of before main was bound. With OMP_NUM_THREADS, as under msrun, OpenBLAS goes by that.
    """
    if process.omp_threads is not None:
        return frozenset()
    first = next(iter(_bursts(sorted(unnamed, key=_start), _TIGHT_TICKS, _BURST_THREADS)), ())
    cpus = first[0].allowed if first else None
    is_pool = cpus is not None and len(first) == min(len(cpus), _MOST_BLAS_THREADS) - 1
    return frozenset(one.tid for one in first) if is_pool and all(one.allowed == cpus for one in first) else frozenset()


def _start(thread: ThreadFacts) -> tuple[int, int]:
    return thread.starttime_ticks, thread.tid


def _has_own_set(thread: ThreadFacts, inherited: CpuSet | None) -> bool:
    """Whether a thread was bound by itself; a set that main's lies within is what main had before it was bound."""
    return thread.allowed is not None and inherited is not None and not inherited <= thread.allowed


def _works(thread: ThreadFacts, inherited: CpuSet | None) -> bool:
    """Whether a thread of a burst does the pipeline's work: it was given a set of its own, or has used CPU time to speak of.

    Pools of libraries start in bursts too, but sleep with the set that they inherited.
    """
    return _has_own_set(thread, inherited) or (thread.run_ns or 0) >= _WORKED_NS


def _pipelines(burst: Sequence[ThreadFacts], inherited: CpuSet | None) -> list[Sequence[ThreadFacts]]:
    """Those parts of a burst that started at once and of which enough work: then the others, who wait, belong to them."""
    return [
        part
        for part in _bursts(burst, _TIGHT_TICKS, _BURST_THREADS)
        if sum(not _has_own_set(thread, inherited) and (thread.run_ns or 0) >= _WORKED_NS for thread in part)
        * _WORKING_SHARE
        >= len(part)
    ]


def _bursts(threads: Sequence[ThreadFacts], ticks: int, least: int) -> list[Sequence[ThreadFacts]]:
    """The runs of threads, in order of start, in which each is one of `least` that started within so many clock ticks."""
    found: list[Sequence[ThreadFacts]] = []
    first = end = 0
    for at in range(len(threads) - least + 1):
        if threads[at + least - 1].starttime_ticks - threads[at].starttime_ticks > ticks:
            continue
        if at >= end:
            if end:
                found.append(threads[first:end])
            first = at
        end = at + least
    if end:
        found.append(threads[first:end])
    return found


def dataset_process(process: ProcessView, threads: Sequence[ThreadFacts]) -> Role:
    """A MindSpore worker's child: generator workers have helper threads; map workers and cleaners have one thread each.

    A cleaner keeps its rank's set and wakes ten times a second to look whether its parent lives. What was once seen to be one
    stays one, whatever becomes of its rank's set, as long as it does not begin to work as its siblings do.
    """
    if process.comm == "independent_dat":
        return Role("minddata", "named", "the independent dataset process")
    if len(threads) > 1:
        return Role("minddata", "named", "a dataset worker process, by its parent and its feeder threads")
    only = threads[0] if threads else None
    inherits = only is not None and only.allowed is not None and only.allowed == process.rank_allowed
    if only is not None and (inherits or process.was_cleaner):
        least_ns = max(_CLEANER_NS, (process.busiest_ns or 0) // _CLEANER_SHARE)
        if (only.run_ns or 0) < least_ns:
            return Role(
                "cleaner", "inferred", "one thread, with its rank's own set, and hardly any work: a cleaning process"
            )
        return Role("minddata", "inferred", "a dataset worker process of one thread, by its parent and its work")
    return Role("minddata", "inferred", "a dataset worker process of one thread, by its parent and its own set")


def pool_roles(process: ProcessView, main: ThreadFacts | None, unnamed: Sequence[ThreadFacts]) -> dict[int, Role]:
    """The OpenMP pool of a rank: exactly as many unnamed threads compute beside main, on its set, as OMP_NUM_THREADS asks for."""
    wanted = (process.omp_threads or 1) - 1
    if process.kind != "rank" or main is None or not main.run_ns or main.run_ns < _WORKED_NS or wanted < 1:
        return {}
    beside = [
        thread
        for thread in unnamed
        if thread.allowed == main.allowed and (thread.run_ns or 0) * _BESIDE_MAIN >= main.run_ns
    ]
    if len(beside) != wanted:
        groups = _bursts(sorted(beside, key=_start), _TIGHT_TICKS, 2) if wanted > 1 else []
        fitting = [group for group in groups if len(group) == wanted]
        if len(fitting) != 1:
            return {}
        beside = list(fitting[0])
    count = "the one unnamed thread" if wanted == 1 else f"one of the {wanted} unnamed threads"
    role = Role("omp", "inferred", f"{count} that computes beside main, as OMP_NUM_THREADS={wanted + 1} asks")
    return dict.fromkeys((thread.tid for thread in beside), role)
