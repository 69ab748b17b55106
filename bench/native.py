"""The small C programs of the benches, built where a compiler is there, and a target of many threads that each work a little."""

from __future__ import annotations

import atexit
import contextlib
import functools
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

_TARGET = """
import sys, threading, time
threads, working, burst_s = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) / 1e6
began = time.monotonic() + threads / 5000
def work(number):
    due = began + number / working
    while True:
        due += 1
        time.sleep(max(0, due - time.monotonic()))
        woken = time.monotonic()
        while time.monotonic() - woken < burst_s: pass
threading.stack_size(65536)
for number in range(threads - 1):
    body, given = (work, number) if number < working else (time.sleep, 100000)
    threading.Thread(target=body, args=(given,), daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""


@functools.cache
def built(name: str) -> Path | None:
    """The program that `NAME.c` beside this file gives; None without a C compiler (`cc`)."""
    if shutil.which("cc") is None:
        return None
    folder = tempfile.mkdtemp(prefix="numascope-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    program = Path(folder, name)
    source = Path(__file__).with_name(f"{name}.c")
    done = subprocess.run(
        ["cc", "-O2", "-pthread", "-o", str(program), str(source)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"  {source.name} could not be built: {done.stderr.strip()[:300]}")
        return None
    return program


@contextlib.contextmanager
def working_threads(count: int, working: int, burst_us: int) -> Iterator[int | None]:
    """The pid of a process of so many threads, some of which work so long once a second; None where they cannot be made."""
    native = built("target")
    command = [str(native)] if native is not None else [sys.executable, "-c", _TARGET]
    command += [str(count), str(working), str(burst_us)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as target:
        assert target.stdout is not None
        try:
            yield target.pid if target.stdout.readline() == "ready\n" else None
        finally:
            target.kill()
