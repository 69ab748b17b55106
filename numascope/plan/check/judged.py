"""What MindSpore says to a unified bind JSON, as values: problems in its own order, and what it starts each process with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from numascope.cpuset import CpuSet
from numascope.plan.json_reader import Entry, Value

Stage = Literal["reads", "checks", "starts", "runs", "binds"]
"""When it fails: reading the file, checking it before anybody starts, starting a worker, in numactl, in set_cpu_affinity."""

Mode = Literal["cpu", "numa", "none"]

SETTINGS = ("bind_cpu_mode", "bind_memory_mode", "actor_thread_fix_bind")


class Problem(NamedTuple):
    """One thing that MindSpore fails at: the exception that it raises, and where the cause is written."""

    stage: Stage
    kind: str
    where: Value | Entry
    text: str
    remedy: str
    is_id: bool = False
    """A CPU or node that is not available, of which the rules on the machine say more."""
    is_host: bool = False
    """It is the host's fault, whatever the plan says."""
    is_of_version: bool = False
    """MindSpore 2.9 and 2.10 alone fail at it."""


class View(NamedTuple):
    """The host as MindSpore sees it; None is unknown, and then nothing is held against the plan."""

    cpus: CpuSet | None = None
    nodes: CpuSet | None = None
    """Those with CPUs and memory."""
    highest_device: int | None = None
    """By npu-smi; None also where that does not work."""
    has_cpuset_file: bool | None = None
    tools: Mapping[str, bool] | None = None


class Affinity(NamedTuple):
    """Module → the CPUs that set_cpu_affinity binds its threads to, an empty set for none; or the exception that it ends with.

    No modules and no exception: it logs a warning and binds nothing.
    """

    modules: Mapping[str, CpuSet]
    exception: str | None = None


class Judgement(NamedTuple):
    """All problems in MindSpore's order of asking, and process → the words that stand before its command."""

    problems: tuple[Problem, ...]
    prefixes: Mapping[str, tuple[str, ...]]
    cpu_mode: Mode
    memory_mode: Mode
    devices: Mapping[str, Entry]
    """Process → its entry in "bind_cpu", by the name that MindSpore knows it by."""
    affinities: Mapping[int, Affinity]
    """Device with such an entry → what set_cpu_affinity(bind_file=…) does in its rank, started by msrun."""

    def first(self, *stages: Stage) -> Problem | None:
        """The first problem of one of these stages."""
        return next((one for stage in stages for one in self.problems if one.stage == stage), None)
