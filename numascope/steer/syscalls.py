"""The system calls that write; nothing outside this package reaches them."""

from __future__ import annotations

import errno
import os

from numascope.cpuset import CpuSet
from numascope.errors import NotPermittedError, TargetGoneError, UsageError


def set_affinity(tid: int, cpus: CpuSet) -> CpuSet:
    """Sets a thread's affinity mask and returns what the kernel made of it, since it intersects silently (sched_setaffinity(2))."""
    if not cpus:
        raise UsageError(f"thread {tid}: an empty set is never written")
    try:
        os.sched_setaffinity(tid, cpus)
        return CpuSet.of(os.sched_getaffinity(tid))
    except ProcessLookupError as error:
        raise TargetGoneError(f"thread {tid} is gone") from error
    except PermissionError as error:
        raise NotPermittedError(f"thread {tid} is another user's: CAP_SYS_NICE or its owner may set it") from error
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise UsageError(f"thread {tid}: no CPU of {cpus} is online and in its cpuset") from error
        raise
