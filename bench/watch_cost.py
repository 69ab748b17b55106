"""CPU per poll of `diff --watch` on 2,000 mostly sleeping threads, against `ps -L` of the same process in the same run."""

from __future__ import annotations

import statistics
import tempfile
import time

from commands import NUMASCOPE, cpu_s, many_threads, own_cpus, ratio, row, start, write_plan

THREADS = 2_000
SHORT_S, LONG_S = 2, 22
JUDGED = (0, 1, 3)


def measure(pid: int, plan: str) -> tuple[float, float]:
    """Seconds of CPU of one ps and of one poll, once a second each, side by side, so that both meet the same machine."""
    watch = (*NUMASCOPE, "diff", plan, f"{pid}=device0", "--watch", "--for")
    short = cpu_s(start(*watch, f"{SHORT_S}s"), JUDGED)
    long = start(*watch, f"{LONG_S}s")
    ps = []
    for _ in range(LONG_S - SHORT_S):
        time.sleep(1)
        ps.append(cpu_s(start("ps", "-L", "-o", "tid,psr,comm", "-p", str(pid))))
    return statistics.median(ps), (cpu_s(long, JUDGED) - short) / (LONG_S - SHORT_S)


def main() -> None:
    """Prints the two costs and their ratio."""
    with tempfile.TemporaryDirectory() as folder, many_threads(THREADS, busy=2) as pid:
        ps, poll = measure(pid, write_plan(folder, ",".join(map(str, own_cpus()))))
    print(f"watching {THREADS:,} mostly sleeping threads, once a second, {LONG_S - SHORT_S} times")
    row("ps -L -o tid,psr,comm", ps)
    row("numascope diff --watch, a poll", poll)
    ratio("ratio", poll / ps, "promised: at most 0.2")


if __name__ == "__main__":
    main()
