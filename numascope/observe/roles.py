"""What each thread is for, by its name, its process and its age: data in tables, evidence in words, unknown where nothing tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from numascope.cpuset import CpuSet

Confidence = Literal["named", "inferred", "unknown"]
ProcessKind = Literal["launcher", "scheduler", "rank", "helper", "other"]


@dataclass(frozen=True, slots=True)
class Role:
    """A role by the common words (main, runtime, pynative, minddata, loader, omp, autograd, comm, housekeeping, unnamed …)."""

    name: str
    confidence: Confidence
    evidence: str


class ThreadFacts(NamedTuple):
    """What roles are told from: a thread's numbers, name, start (clock ticks), CPU time (ns) and mask."""

    tid: int
    comm: str
    starttime_ticks: int
    run_ns: int | None
    allowed: CpuSet | None


MINDSPORE_NAMES: Final[Mapping[str, str]] = {
    "ActorThread_": "runtime", "infer_queue": "runtime", "resize_queue": "runtime", "launch_queue": "runtime",
    "frontend_queue": "pynative", "backend_queue": "pynative", "bprop_queue": "pynative",
    "stress_detect_q": "stress", "batch_launch_": "batch_launch", "KernelThread_": "kernel",
    "RECV_EVENT_LOOP": "comm", "SEND_EVENT_LOOP": "comm", "independent_dat": "minddata",
}  # fmt: skip
"""Start of a thread's name → role in a MindSpore process (names that its C++ runtime gives to its threads)."""

TORCH_NAMES: Final[Mapping[str, str]] = {
    "pt_data_worker": "loader", "pt_data_pin": "pin", "pt_autograd_": "autograd",
    "pt_nccl_": "housekeeping", "pt_nccl2_": "housekeeping", "pt_watchdog": "housekeeping", "pt_workerserver": "housekeeping",
    "cuda-EvtHandlr": "housekeeping", "cuda0": "housekeeping", "hccl_watchdog": "housekeeping",
    "pt_gloo_runloop": "comm", "gloo_tcp_loop": "comm", "NCCL ": "comm", "pt_dist_engine": "comm",
    "pt_tcpstore": "store", "PTThreadPool": "pool", "pt_thread_pool": "pool",
    "acl_thread": "runtime", "release_thread": "runtime",
}  # fmt: skip
"""Start of a thread's name → role in a torch process (names set by libtorch, gloo, NCCL, the CUDA driver and torch_npu)."""

_NAMES: Final[Mapping[str, Mapping[str, str]]] = {"mindspore": MINDSPORE_NAMES, "torch": TORCH_NAMES}

_BURST_THREADS: Final = 4
_BURST_TICKS: Final = 50
"""A MindSpore data pipeline starts its threads together: four or more within half a second, unnamed."""

_WORKED_NS: Final = 1_000_000

_UNNAMED: Final = Role("unnamed", "unknown", "carries its process's name")


class ProcessView(NamedTuple):
    """What roles need to know of a process: which part of the job it is, its name, arguments and main thread's mask."""

    framework: str
    kind: ProcessKind
    pid: int
    comm: str
    cmdline: tuple[str, ...]
    rank_allowed: CpuSet | None
    was_cleaner: bool = False


def roles_of(process: ProcessView, threads: Sequence[ThreadFacts]) -> tuple[Role, ...]:
    """The role of each thread of one process."""
    whole = _role_of_whole_process(process, threads)
    if whole is not None:
        return tuple(whole for _ in threads)
    names = _NAMES.get(process.framework, {})
    pipeline = _pipeline(process, threads) if process.framework == "mindspore" else frozenset()
    return tuple(_role_of_thread(process, thread, names, pipeline) for thread in threads)


def _role_of_thread(
    process: ProcessView, thread: ThreadFacts, names: Mapping[str, str], pipeline: frozenset[int]
) -> Role:
    if thread.tid == process.pid:
        return Role("main", "named", "its process's first thread")
    for start, role in names.items():
        if thread.comm.startswith(start):
            return Role(role, "named", f'comm "{thread.comm}"')
    if thread.tid in pipeline:
        return Role("minddata", "inferred", f"unnamed, started with {len(pipeline) - 1} others, as a data pipeline is")
    if thread.comm != process.comm:
        return Role("other", "unknown", f'comm "{thread.comm}" is in no table')
    return _UNNAMED


def _role_of_whole_process(process: ProcessView, threads: Sequence[ThreadFacts]) -> Role | None:
    if process.kind == "launcher":
        return Role("launcher", "named", "launches the job")
    if process.kind == "other":
        return _other(process)
    if process.kind != "helper":
        return None
    if process.framework == "mindspore":
        return _dataset_process(process, threads)
    if process.framework == "torch":
        return _torch_helper(process)
    return None


def _other(process: ProcessView) -> Role | None:
    if process.comm == "tail":
        return Role("log", "named", "follows a worker's log")
    return None


def _dataset_process(process: ProcessView, threads: Sequence[ThreadFacts]) -> Role:
    """A MindSpore worker's child: generator workers have helper threads; map workers and cleaners have one thread each.

    What was once seen to be a cleaner stays one, whatever becomes of its rank's set.
    """
    if process.comm == "independent_dat":
        return Role("minddata", "named", "the independent dataset process")
    if len(threads) > 1:
        return Role("minddata", "named", "a dataset worker process, by its parent and its feeder threads")
    only = threads[0] if threads else None
    inherits = only is not None and only.allowed is not None and only.allowed == process.rank_allowed
    if inherits or process.was_cleaner:
        return Role("cleaner", "inferred", "one thread, with its rank's own set: a cleaning process")
    return Role("minddata", "inferred", "a dataset worker process of one thread, by its parent and its own set")


def _torch_helper(process: ProcessView) -> Role | None:
    arguments = " ".join(process.cmdline[:8])
    if process.comm == "pt_data_worker":
        return Role("loader", "named", 'comm "pt_data_worker"')
    if "compile_worker" in arguments:
        return Role("compile", "named", "torch.compile's worker pool, by its command line")
    if "multiprocessing.resource_tracker" in arguments or "multiprocessing.forkserver" in arguments:
        return Role("housekeeping", "named", "Python's multiprocessing, by its command line")
    return None


def _pipeline(process: ProcessView, threads: Sequence[ThreadFacts]) -> frozenset[int]:
    """The unnamed threads of each burst of starts that has used CPU time, largest bursts first."""
    if process.kind not in ("rank", "helper"):
        return frozenset()
    unnamed = sorted(
        (thread for thread in threads if thread.comm == process.comm and thread.tid != process.pid),
        key=lambda thread: (thread.starttime_ticks, thread.tid),
    )
    found: set[int] = set()
    while len(burst := _largest_burst(unnamed)) >= _BURST_THREADS:
        if any(thread.run_ns for thread in burst):
            found.update(thread.tid for thread in burst if _works(thread, process.rank_allowed))
        unnamed = [thread for thread in unnamed if thread not in burst]
    return frozenset(found)


def _works(thread: ThreadFacts, rank_allowed: CpuSet | None) -> bool:
    """Whether a thread of a burst does the pipeline's work: it was given a set of its own, or has used CPU time to speak of.

    Pools of libraries start in bursts too, but sleep with the set that they inherited.
    """
    return thread.allowed != rank_allowed or (thread.run_ns or 0) >= _WORKED_NS


def _largest_burst(threads: Sequence[ThreadFacts]) -> Sequence[ThreadFacts]:
    """The most threads, in order of start, that started within half a second."""
    best, first = (0, 0), 0
    for last, thread in enumerate(threads):
        while thread.starttime_ticks - threads[first].starttime_ticks > _BURST_TICKS:
            first += 1
        if last + 1 - first > best[1] - best[0]:
            best = (first, last + 1)
    return threads[best[0] : best[1]]
