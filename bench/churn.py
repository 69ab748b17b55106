"""Applying to a process that creates and ends about a thousand threads a second, many times, against `taskset -ap`.

    .venv/bin/python bench/churn.py [ROUNDS]

Not part of `make bench`: 200 rounds take some minutes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from commands import NUMASCOPE, own_cpus, write_plan

TARGET = """
import sys, threading, time
made = 0
def short(): time.sleep(0.004)
def breed():
    global made
    while True:
        threading.Thread(target=short, daemon=True).start(); made += 1
        time.sleep(0.0015)
for _ in range(2): threading.Thread(target=breed, daemon=True).start()
print("ready", flush=True)
while sys.stdin.readline(): print(made, flush=True)
"""


def misplaced(pid: int, cpus: set[int]) -> int:
    """How many living threads may run anywhere else."""
    count = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            count += os.sched_getaffinity(int(tid)) != cpus
        except ProcessLookupError:
            continue
    return count


def main(rounds: int) -> None:
    """Prints how often each left a thread behind or failed, and how fast threads came and went."""
    planned, everywhere = own_cpus()[0], own_cpus()
    failed = {"numascope apply": 0, "taskset -acp": 0}
    left = dict(failed)
    command = [sys.executable, "-c", TARGET]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target,
    ):
        assert target.stdin is not None
        assert target.stdout is not None
        target.stdout.readline()
        plan, pid = write_plan(folder, str(planned)), target.pid
        apply = [*NUMASCOPE, "apply", plan, f"{pid}=device0", "--yes"]
        revert = [*NUMASCOPE, "revert", "--yes"]
        taskset = ["taskset", "-acp", str(planned), str(pid)]
        reset = ["taskset", "-acp", ",".join(map(str, everywhere)), str(pid)]
        environ = {**os.environ, "NUMASCOPE_STATE": folder}
        began_s = time.monotonic()
        for _ in range(rounds):
            for name, set_all, undo in (("numascope apply", apply, revert), ("taskset -acp", taskset, reset)):
                code = subprocess.run(set_all, capture_output=True, env=environ, check=False).returncode
                failed[name] += code != 0
                left[name] += misplaced(pid, {planned}) > 0
                subprocess.run(undo, capture_output=True, env=environ, check=False)
            while misplaced(pid, set(everywhere)):
                subprocess.run(reset, capture_output=True, check=False)
        target.stdin.write("\n")
        target.stdin.flush()
        per_s = int(target.stdout.readline()) / (time.monotonic() - began_s)
        target.kill()
    print(f"{rounds} rounds, {per_s:.0f} threads born a second")
    for name, count in failed.items():
        print(f"  {name:<20} failed {count} times, left a thread behind {left[name]} times")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
