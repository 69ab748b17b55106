"""The calls that write, each behind a small protocol so that a test can stand between; nothing outside this package reaches them."""

from __future__ import annotations

import os
from typing import Protocol

from numascope.cpuset import CpuSet
from numascope.errors import UsageError
from numascope.host.affinity import AffinityReader


class Kernel(Protocol):
    """Sets and gets the affinity mask of a thread; OSError as the kernel says."""

    def set_affinity(self, tid: int, cpus: CpuSet) -> None:
        """Sets the mask; the kernel silently intersects it with what exists and with the cpuset."""
        ...

    def get_affinity(self, tid: int) -> CpuSet:
        """The CPUs that are allowed and online."""
        ...


class Disk(Protocol):
    """Appends to the journal and brings it to the disk."""

    def append(self, descriptor: int, data: bytes) -> int:
        """Writes at the end of a file, and tells how many bytes were taken (write(2))."""
        ...

    def sync(self, descriptor: int) -> None:
        """Waits until a file or directory is on the disk, as fsync(2) does."""
        ...


class LinuxKernel:
    """The running kernel (sched_setaffinity(2), sched_getaffinity(2))."""

    def __init__(self) -> None:
        self._reader = AffinityReader()

    def set_affinity(self, tid: int, cpus: CpuSet) -> None:
        """Sets the mask of one thread; an empty set is never written."""
        if not cpus:
            raise UsageError(f"thread {tid}: an empty set is never written")
        os.sched_setaffinity(tid, cpus)

    def get_affinity(self, tid: int) -> CpuSet:
        """The CPUs that are allowed and online; AbsentError, DeniedError."""
        return self._reader.read(tid)


class LinuxDisk:
    """The file system that the descriptor belongs to."""

    def append(self, descriptor: int, data: bytes) -> int:
        """Writes at the end of a file, and tells how many bytes were taken."""
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        """Returns once the file or directory is on the disk."""
        os.fsync(descriptor)
