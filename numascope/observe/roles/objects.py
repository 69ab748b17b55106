"""Roles as values, and what they are told from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from numascope.cpuset import CpuSet

Confidence = Literal["named", "inferred", "unknown"]
ProcessKind = Literal["launcher", "scheduler", "rank", "helper", "other"]

ROLES: Final[Mapping[str, str]] = {
    "main": "the first thread of its process, which runs the script",
    "launcher": "starts the ranks and waits for them",
    "runtime": "runs the graph or feeds the device (MindSpore's actors and queues, torch_npu's acl_thread)",
    "pynative": "MindSpore's queues that run op by op",
    "batch_launch": "launches kernels in groups",
    "kernel": "a pool that computes operators on the CPU",
    "omp": "a thread of the OpenMP pool",
    "autograd": "runs the backward pass of one device",
    "pool": "a pool for work that may run beside other work",
    "minddata": "MindSpore's data pipeline",
    "loader": "loads data",
    "pin": "copies batches to pinned memory",
    "comm": "moves data between ranks",
    "engine": "schedules the requests of a serving engine",
    "frontend": "takes and answers requests, splits and joins text",
    "store": "the rendezvous of the ranks",
    "compile": "compiles",
    "helper": "a queue or pool of the Python library",
    "housekeeping": "watches, logs, cleans; idle",
    "cleaner": "a process that waits for the end of a data pipeline",
    "stress": "MindSpore's stress detection",
    "log": "follows a log",
    "unnamed": "carries its process's name: nothing outside tells what it is",
    "other": "has a name that no table knows",
}
"""Every role and what such a thread does."""


@dataclass(frozen=True, slots=True)
class Role:
    """A role by the common words, how sure it is, and what it was told by."""

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


class Planned(NamedTuple):
    """The CPUs that something says a module of MindSpore is bound to, and what says so."""

    cpus: CpuSet
    source: str


class ProcessView(NamedTuple):
    """What roles need to know of a process: which part of the job it is, its name, arguments and main thread's mask."""

    framework: str
    kind: ProcessKind
    pid: int
    comm: str
    cmdline: tuple[str, ...]
    rank_allowed: CpuSet | None
    was_cleaner: bool = False
    parent_cmdline: tuple[str, ...] | None = None
    """The arguments of its parent, None where they are not known: a forked child has the same."""
    busiest_ns: int | None = None
    """The most CPU time that the first thread of any of its rank's children has used."""
    omp_threads: int | None = None
    """OMP_NUM_THREADS of its environment."""
    minddata: Planned | None = None
    """Where MindSpore's data pipeline is bound, by the plan or by the worker's own log."""
