"""Programs whose memory lies where they put it, by mbind(2) and set_mempolicy(2), and looks at them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from random import Random
from typing import TypeVar

from numascope.host.root import HostRoot
from numascope.observe.memory_look import RankMemory, look_steps
from numascope.observe.residence import Steps

_Value = TypeVar("_Value")

PLACING = """
import ctypes, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
PREFERRED, BIND, INTERLEAVE = 1, 2, 3
PRIVATE, SHARED, ANONYMOUS, NORESERVE, HUGE = 2, 1, 0x20, 0x4000, 0x40000
MIB, GIB = 1 << 20, 1 << 30
def mapped(size, flags=PRIVATE | ANONYMOUS, rights=3, file=-1):
    address = libc.mmap(None, size, rights, flags, file, 0)
    if address in (None, ctypes.c_void_p(-1).value): raise OSError(ctypes.get_errno(), "mmap")
    return address
def mask(nodes): return ctypes.byref(ctypes.c_ulong(sum(1 << node for node in nodes)))
def done(code):
    if code: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def mbind(address, size, mode, nodes):
    done(libc.syscall(237, ctypes.c_void_p(address), ctypes.c_ulong(size), mode, mask(nodes), ctypes.c_ulong(64), 0))
def set_mempolicy(mode, nodes): done(libc.syscall(238, mode, mask(nodes), ctypes.c_ulong(64)))
def touch(address, size): ctypes.memset(address, 1, size)
def place(size, nodes, mode=BIND, flags=PRIVATE | ANONYMOUS):
    address = mapped(size, flags)
    libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), 15)
    mbind(address, size, mode, nodes); touch(address, size); return address
"""
"""x86-64's numbers of the two calls; 15 is MADV_NOHUGEPAGE, so that pages are of 4 KiB unless a test wants others."""


def finished(steps: Steps[_Value]) -> _Value:
    """All steps of some work at once, and its result."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            found: _Value = done.value
            return found


def look(root: HostRoot, pid: int, seed: int, *, cgroup_is_own: bool = False) -> RankMemory:
    """One whole look at a process that stays."""
    random = Random(seed)  # noqa: S311  (a sample, no secret)
    steps = look_steps(root, pid, random, time.thread_time_ns, cgroup_is_own=cgroup_is_own)
    found = finished(steps)
    assert found is not None
    return found


def shares_of(sizes: Mapping[int, int]) -> dict[int, float]:
    """Sizes by node as shares of their sum."""
    total = sum(sizes.values())
    return {node: size / total for node, size in sizes.items()}
