"""The calls that write, each behind a small protocol so that a test can stand between; nothing outside this package reaches them."""

from __future__ import annotations

import array
import ctypes
import errno
import os
import platform
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from numascope.cpuset import CpuSet
from numascope.errors import UsageError
from numascope.host.affinity import AffinityReader

UNTOLD: Final = -4096
"""The status of a page of which the kernel said nothing: no error number is so large (MAX_ERRNO of include/linux/err.h)."""

_MOVE_ONLY_OWN: Final = 1 << 1
"""MPOL_MF_MOVE of include/uapi/linux/mempolicy.h: only pages that no other process maps. MPOL_MF_MOVE_ALL is never given."""

_MOVE_PAGES: Final = {
    "x86_64": 279, "aarch64": 239, "riscv64": 239, "loongarch64": 239, "ppc64le": 301, "ppc64": 301, "s390x": 310,
}  # fmt: skip
"""Number of move_pages(2) by architecture."""


class Kernel(Protocol):
    """Sets and gets the affinity mask of a thread; OSError as the kernel says."""

    def set_affinity(self, tid: int, cpus: CpuSet) -> None:
        """Sets the mask; the kernel silently intersects it with what exists and with the cpuset."""
        ...

    def get_affinity(self, tid: int) -> CpuSet:
        """The CPUs that are allowed and online."""
        ...


class PageAnswer(NamedTuple):
    """What the kernel said of a batch of pages: an error number of the whole call (0: none), and of each page a node or minus an error number."""

    error: int
    statuses: list[int]


class PageKernel(Protocol):
    """Moves pages of another process."""

    def move_pages(self, pid: int, addresses: Sequence[int], node: int) -> PageAnswer:
        """Moves those of the pages that the process alone maps to a node."""
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


class LinuxPages:
    """The running kernel (move_pages(2))."""

    def __init__(self) -> None:
        self._number = _MOVE_PAGES.get(platform.machine())
        self._call = ctypes.CDLL(None, use_errno=True).syscall

    def move_pages(self, pid: int, addresses: Sequence[int], node: int) -> PageAnswer:
        """Moves pages to a node; a page that the kernel did not come to has the status UNTOLD (`do_pages_move` of mm/migrate.c)."""
        count = len(addresses)
        if self._number is None:
            return PageAnswer(errno.ENOSYS, [UNTOLD] * count)
        pages = (ctypes.c_uint64 * count).from_buffer(array.array("Q", addresses))
        nodes = (ctypes.c_int * count)(*[node] * count)
        statuses = (ctypes.c_int * count)(*[UNTOLD] * count)
        code = self._call(
            ctypes.c_long(self._number), ctypes.c_long(pid), ctypes.c_ulong(count), pages, nodes, statuses,
            ctypes.c_long(_MOVE_ONLY_OWN),
        )  # fmt: skip
        return PageAnswer(ctypes.get_errno() if code < 0 else 0, list(statuses))


class LinuxDisk:
    """The file system that the descriptor belongs to."""

    def append(self, descriptor: int, data: bytes) -> int:
        """Writes at the end of a file, and tells how many bytes were taken."""
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        """Returns once the file or directory is on the disk."""
        os.fsync(descriptor)
