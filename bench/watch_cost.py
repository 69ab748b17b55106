"""CPU per poll of `diff --watch` on 2,000 mostly sleeping threads, against one `ps -L` of the same process in the same run."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

THREADS = 2_000
SHORT_S, LONG_S = 2, 22

TARGET = f"""
import threading, time
def spin():
    while True:
        began = time.perf_counter()
        while time.perf_counter() - began < 0.002: pass
        time.sleep(0.02)
threading.stack_size(65536)
for _ in range({THREADS - 3}): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
for _ in range(2): threading.Thread(target=spin, daemon=True).start()
print("ready", flush=True)
time.sleep(1000)
"""


def cpu_s(command: list[str]) -> float:
    """User and system time of a command that may end with any verdict."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
    if code not in (0, 1, 3):  # clean, findings, part unreadable: anything else did not do its work
        sys.exit(f"{' '.join(command)} ended with {code}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Prints the two costs and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder, "bind.json")
        cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        plan.write_text(json.dumps({"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": {"main": cpus}}}))
        with subprocess.Popen([sys.executable, "-c", TARGET], stdout=subprocess.PIPE, text=True) as target:
            try:
                assert target.stdout is not None
                target.stdout.readline()
                time.sleep(1)
                ps = min(cpu_s(["ps", "-L", "-o", "tid,psr,comm", "-p", str(target.pid)]) for _ in range(5))
                watch = [sys.executable, "-m", "numascope", "diff", str(plan), f"{target.pid}=device0", "--watch"]
                short = cpu_s([*watch, "--for", f"{SHORT_S}s"])
                long = cpu_s([*watch, "--for", f"{LONG_S}s"])
            finally:
                target.kill()
    poll = (long - short) / (LONG_S - SHORT_S)
    print(f"{THREADS} threads, 1 Hz, {LONG_S - SHORT_S} polls")
    print(f"  ps -L -o tid,psr,comm, once     {1000 * ps:7.1f} ms of CPU")
    print(f"  numascope diff --watch, a poll  {1000 * poll:7.1f} ms of CPU")
    print(f"  ratio                           {poll / ps:7.3f}   (promised: at most 0.2)")


if __name__ == "__main__":
    main()
