"""CPU per poll of a whole `diff --watch` on 1,000 threads, against `ps -L` of the same processes in the same run."""

from __future__ import annotations

import contextlib
import statistics
import tempfile
import time

from commands import NUMASCOPE, cpu_s, own_cpus, ratio, row, start, write_plan
from native import working_threads

THREADS = 1_000
ACTIVITIES = {"idle": (0, 0), "5 % active": (50, 50)}
"""How many threads work once a second, and how many µs."""

SHORT_S, LONG_S = 2, 22
JUDGED = (0, 1, 3)


def measure(pids: list[int], plan: str) -> list[tuple[float, float]]:
    """For each process `ps` and a poll in CPU seconds: of a long watch, less its start, shared among the polls that it adds."""

    def watch(pid: int, for_s: int) -> tuple[str, ...]:
        return (*NUMASCOPE, "diff", plan, f"{pid}=device0", "--watch", "--for", f"{for_s}s")

    shorts = [cpu_s(start(*watch(pid, SHORT_S)), JUDGED) for pid in pids]
    longs = [start(*watch(pid, LONG_S)) for pid in pids]
    ps: list[list[float]] = [[] for _ in pids]
    for _ in range(LONG_S - SHORT_S):
        time.sleep(1)
        for pid, found in zip(pids, ps, strict=True):
            found.append(cpu_s(start("ps", "-L", "-o", "tid,psr,comm", "-p", str(pid))))
    return [
        (statistics.median(found), (cpu_s(long, JUDGED) - short) / (LONG_S - SHORT_S))
        for found, long, short in zip(ps, longs, shorts, strict=True)
    ]


def main() -> None:
    """Prints the costs and their ratios."""
    with contextlib.ExitStack() as stack:
        plan = write_plan(stack.enter_context(tempfile.TemporaryDirectory()), ",".join(map(str, own_cpus())))
        made = [stack.enter_context(working_threads(THREADS, *work)) for work in ACTIVITIES.values()]
        pids = [pid for pid in made if pid is not None]
        assert len(pids) == len(made), f"no {THREADS} threads can be made here"
        found = measure(pids, plan)
    print(f"a whole diff --watch of {THREADS:,} threads, once a second, {LONG_S - SHORT_S} times")
    for activity, (ps, poll) in zip(ACTIVITIES, found, strict=True):
        row(f"ps -L -o tid,psr,comm, {activity}", ps)
        row(f"numascope diff --watch, a poll, {activity}", poll)
        ratio("ratio", poll / ps, "promised: at most 0.1")


if __name__ == "__main__":
    main()
