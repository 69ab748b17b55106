"""CPU of applying a plan to 1,000 threads and of reverting it, against `taskset -ap` on the same process in the same run."""

from __future__ import annotations

import statistics
import tempfile
from typing import NamedTuple

from commands import NUMASCOPE, cpu_s, many_threads, median_cpu_s, own_cpus, ratio, row, start, write_plan

THREADS = 1_000
FEW = 2
TIMES = 7


class Costs(NamedTuple):
    """CPU seconds of whole commands, medians."""

    taskset: float
    applied: float
    reverted: float


def costs_of(threads: int) -> Costs:
    """The three commands on a process of so many threads, all of which move."""
    first, everywhere = str(own_cpus()[0]), ",".join(map(str, own_cpus()))
    found = []
    with many_threads(threads) as pid:
        for _ in range(TIMES):
            with tempfile.TemporaryDirectory() as folder:
                plan = write_plan(folder, first)
                taskset = cpu_s(start("taskset", "-acp", first, str(pid)))
                cpu_s(start("taskset", "-acp", everywhere, str(pid)))
                apply = start(*NUMASCOPE, "apply", plan, f"{pid}=device0", "--yes", NUMASCOPE_STATE=folder)
                found.append(
                    Costs(taskset, cpu_s(apply), cpu_s(start(*NUMASCOPE, "revert", "--yes", NUMASCOPE_STATE=folder)))
                )
    return Costs(*(statistics.median(column) for column in zip(*found, strict=True)))


def main() -> None:
    """Prints the costs beyond the interpreter's start, and their ratios."""
    began = median_cpu_s(TIMES, *NUMASCOPE, "apply", "--help")
    few, many = costs_of(FEW), costs_of(THREADS)
    print(f"setting {THREADS:,} threads, each journaled, checked twice and read back (median of {TIMES})")
    row("taskset -acp", many.taskset)
    row("numascope apply, beyond apply --help", many.applied - began)
    row("  of this for the threads, beyond apply of 2", many.applied - few.applied)
    row("numascope revert, beyond apply --help", many.reverted - began)
    row("  of this for the threads, beyond revert of 2", many.reverted - few.reverted)
    ratio("apply / taskset", (many.applied - began) / many.taskset)
    ratio("revert / taskset", (many.reverted - began) / many.taskset)


if __name__ == "__main__":
    main()
