"""CPU of applying a plan to 1,000 threads and of reverting it, against `taskset -ap` on the same process in the same run."""

from __future__ import annotations

import tempfile

from commands import NUMASCOPE, cpu_s, many_threads, median_cpu_s, own_cpus, ratio, row, start, write_plan

THREADS = 1_000
TIMES = 5


def main() -> None:
    """Prints the costs beyond the interpreter's start, and their ratios."""
    first = str(own_cpus()[0])
    everywhere = ",".join(map(str, own_cpus()))
    with tempfile.TemporaryDirectory() as folder, many_threads(THREADS) as pid:
        plan = write_plan(folder, first)
        began = median_cpu_s(TIMES, *NUMASCOPE, "apply", "--help")
        taskset, applied, reverted = [], [], []
        for _ in range(TIMES):
            taskset.append(cpu_s(start("taskset", "-acp", first, str(pid))))
            cpu_s(start("taskset", "-acp", everywhere, str(pid)))
            applied.append(
                cpu_s(start(*NUMASCOPE, "apply", plan, f"{pid}=device0", "--yes", NUMASCOPE_STATE=folder)) - began
            )
            reverted.append(cpu_s(start(*NUMASCOPE, "revert", "--yes", NUMASCOPE_STATE=folder)) - began)
    peer, apply, revert = (sorted(one)[TIMES // 2] for one in (taskset, applied, reverted))
    print(f"setting {THREADS:,} threads, each journaled, checked twice and read back (median of {TIMES})")
    row("taskset -acp", peer)
    row("numascope apply, beyond its start", apply)
    row("numascope revert, beyond its start", revert)
    ratio("apply / taskset", apply / peer)
    ratio("revert / taskset", revert / peer)


if __name__ == "__main__":
    main()
