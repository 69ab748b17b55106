"""CPU per poll of `diff --watch` on 2,000 mostly sleeping threads, against one `ps -L` of the same process in the same run."""

from __future__ import annotations

import json
import os
import statistics
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


def cpu_s(process: subprocess.Popen[bytes]) -> float:
    """User and system time of a command that has to end with a verdict."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1, 3):  # clean, findings, part unreadable: anything else did not do its work
        sys.exit(f"{process.args!r} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def start(*command: str) -> subprocess.Popen[bytes]:
    """A command whose output nobody reads."""
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def measure(pid: int, plan: str) -> tuple[float, float]:
    """Seconds of CPU of one ps and of one poll, once a second each, side by side, so that both meet the same machine."""
    watch = (sys.executable, "-m", "numascope", "diff", plan, f"{pid}=device0", "--watch", "--for")
    short = cpu_s(start(*watch, f"{SHORT_S}s"))
    long = start(*watch, f"{LONG_S}s")
    ps = []
    for _ in range(LONG_S - SHORT_S):
        time.sleep(1)
        ps.append(cpu_s(start("ps", "-L", "-o", "tid,psr,comm", "-p", str(pid))))
    return statistics.median(ps), (cpu_s(long) - short) / (LONG_S - SHORT_S)


def main() -> None:
    """Prints the two costs and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder, "bind.json")
        cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        document = {"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": {"main": cpus}}}
        plan.write_text(json.dumps(document))
        with subprocess.Popen([sys.executable, "-c", TARGET], stdout=subprocess.PIPE, text=True) as target:
            try:
                assert target.stdout is not None
                target.stdout.readline()
                ps, poll = measure(target.pid, str(plan))
            finally:
                target.kill()
    print(f"{THREADS} mostly sleeping threads, once a second, {LONG_S - SHORT_S} times")
    print(f"  ps -L -o tid,psr,comm           {1000 * ps:7.1f} ms of CPU (median)")
    print(f"  numascope diff --watch, a poll  {1000 * poll:7.1f} ms of CPU (mean)")
    print(f"  ratio                           {poll / ps:7.3f}   promised: at most 0.2")


if __name__ == "__main__":
    main()
