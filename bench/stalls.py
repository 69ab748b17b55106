"""A process of known size in pages of 4 KiB that keeps, in a page shared with us, the longest that one step of it took."""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_FILLED = """
import ctypes, mmap, os, struct, sys, time
size, shared = int(sys.argv[1]), mmap.mmap(int(sys.argv[2]), 4096)
memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(15)  # MADV_NOHUGEPAGE: pages of 4 KiB
for at in range(0, size, 4096): memory[at] = 1
print("ready", flush=True)
clock = time.perf_counter_ns
def keep(took):
    if took > struct.unpack_from("Q", shared)[0]: struct.pack_into("Q", shared, 0, took)
"""


class Stalled(NamedTuple):
    """The process, and the page in which it keeps its longest stall."""

    pid: int
    page: mmap.mmap

    def reset(self) -> None:
        """Forgets what it felt so far."""
        struct.pack_into("Q", self.page, 0, 0)

    def longest_s(self) -> float:
        """What it felt since."""
        return float(struct.unpack_from("Q", self.page)[0]) / 1e9


@contextlib.contextmanager
def stalled(steps: str, size_bytes: int, prefix: Sequence[str] = ()) -> Iterator[Stalled]:
    """Runs steps without end in a process of this size, started by a prefix; they give `keep` how long each took, in ns."""
    file = os.memfd_create("stall")
    os.ftruncate(file, 4096)
    command = [*prefix, sys.executable, "-c", _FILLED + steps, str(size_bytes), str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, pass_fds=(file,)) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            yield Stalled(child.pid, mmap.mmap(file, 4096))
        finally:
            child.kill()
            os.close(file)
