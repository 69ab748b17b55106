"""What the kernel holds for this process: by a memory cgroup of its own where one can be made, else by the whole machine's slab."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

Read = Callable[[], int]


class Kernel(NamedTuple):
    """What is counted, and how to read it (KiB)."""

    name: str
    read_kib: Read


@contextlib.contextmanager
def kernel_memory() -> Iterator[Kernel]:
    """Puts this process into a new cgroup below its own, and back at the end; who it has started before stays outside."""
    for home, file, field in _homes():
        folder = home / f"numascope-day-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            if (folder / file).exists() and _moved(folder):
                try:
                    yield Kernel(f"kernel memory of a cgroup of its own ({file})", _reader(folder / file, field))
                finally:
                    _moved(home)
                return
        finally:
            folder.rmdir()
    yield Kernel("slab of the whole machine that cannot be reclaimed", _reader(Path("/proc/meminfo"), "SUnreclaim:"))


def rss_kib() -> int:
    """What this process has in memory."""
    return _reader(Path("/proc/self/status"), "VmRSS:")()


def _homes() -> list[tuple[Path, str, str]]:
    """This process's memory cgroup in either hierarchy, the file that tells of kernel memory, and the field in it."""
    found = []
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            found.append((Path("/sys/fs/cgroup/memory" + path), "memory.kmem.usage_in_bytes", ""))
        if not controllers:
            found.append((Path("/sys/fs/cgroup" + path), "memory.stat", "kernel "))
    return found


def _moved(folder: Path) -> bool:
    try:
        (folder / "cgroup.procs").write_text(str(os.getpid()))
    except OSError:
        return False
    return True


def _reader(file: Path, field: str) -> Read:
    wanted = re.compile(rf"^{field}\s*(\d+)( kB)?", re.MULTILINE)

    def read_kib() -> int:
        found = wanted.search(file.read_text())
        assert found is not None, f"{file} has no {field}"
        return int(found[1]) if found[2] else int(found[1]) >> 10

    return read_kib
