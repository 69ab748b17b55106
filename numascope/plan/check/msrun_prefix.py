"""What msrun puts before a process's command: taskset, numactl, or nothing."""

from __future__ import annotations

from collections.abc import Mapping

from numascope.plan.check.judged import Mode
from numascope.plan.json_reader import Entry


def prefix_of(modes: tuple[Mode, Mode], cpus: Entry | None, memory: Entry | None) -> tuple[str, ...]:
    """The words of one process by the modes for CPUs and memory and by its two entries; empty: it starts unbound."""
    cpu_mode, memory_mode = modes
    bound = _written(memory) if memory_mode == "numa" else None
    membind = () if bound is None else ("--membind", bound)
    if cpu_mode == "cpu":
        main = _main(cpus)
        if bound is None:
            return ("taskset", "-c", main) if main else ()
        return ("numactl", *membind, *(("--physcpubind", main) if main else ()))
    node = _written(cpus) if cpu_mode == "numa" else None
    nodebind = () if node is None else ("--cpunodebind", node)
    return ("numactl", *membind, *nodebind) if membind or nodebind else ()


def _main(entry: Entry | None) -> str:
    """The module that is bound at the start; a number does not get this far, or is 0 and means nothing."""
    modules = None if entry is None else entry.value.data
    main = modules.get("main") if isinstance(modules, Mapping) else None
    return "" if main is None or not isinstance(main.value.data, str) else main.value.data.replace(" ", "")


def _written(entry: Entry | None) -> str | None:
    """A node as numactl gets it: Python's text of the value, spaces and all, the empty text too; None: null, or not there."""
    data = None if entry is None else entry.value.data
    return str(data) if isinstance(data, str | int) else None
