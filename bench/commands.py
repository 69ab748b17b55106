"""What the benches share: a target of many threads, and the CPU time of whole commands."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NUMASCOPE = (sys.executable, "-m", "numascope")

_TARGET = """
import sys, threading, time
def spin():
    while True:
        began = time.perf_counter()
        while time.perf_counter() - began < 0.002: pass
        time.sleep(0.02)
threading.stack_size(65536)
sleeping, busy = int(sys.argv[1]) - 1 - int(sys.argv[2]), int(sys.argv[2])
for _ in range(sleeping): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
for _ in range(busy): threading.Thread(target=spin, daemon=True).start()
print("ready", flush=True)
time.sleep(1000)
"""


@contextlib.contextmanager
def many_threads(count: int, busy: int = 0) -> Iterator[int]:
    """The pid of a process of so many threads, of which a few use a tenth of a CPU each."""
    command = [sys.executable, "-c", _TARGET, str(count), str(busy)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as target:
        try:
            assert target.stdout is not None
            target.stdout.readline()
            yield target.pid
        finally:
            target.kill()


def start(*command: str, **environ: str) -> subprocess.Popen[bytes]:
    """A command whose output nobody reads."""
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **environ}
    )


def cpu_s(process: subprocess.Popen[bytes], good: tuple[int, ...] = (0,)) -> float:
    """User and system time of a command, which has to end with one of these codes."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in good:
        sys.exit(f"{process.args!r} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def median_cpu_s(times: int, *command: str, good: tuple[int, ...] = (0,), **environ: str) -> float:
    """The median of several runs."""
    return statistics.median(cpu_s(start(*command, **environ), good) for _ in range(times))


def write_plan(folder: str, cpus: str) -> str:
    """A plan that gives device 0 these CPUs."""
    path = Path(folder, "bind.json")
    document = {"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": {"main": cpus}}}
    path.write_text(json.dumps(document))
    return str(path)


def own_cpus() -> list[int]:
    """The CPUs that a bench may use."""
    return sorted(os.sched_getaffinity(0))


def row(name: str, seconds: float) -> None:
    """One measured line."""
    print(f"  {name:<44} {1000 * seconds:8.1f} ms of CPU")


def ratio(name: str, value: float, promise: str = "") -> None:
    """One ratio, and what was promised of it."""
    print(f"  {name:<44} {value:8.3f}{f'   {promise}' if promise else ''}")
