"""The mask and the memory policy of this very process, before it becomes another program: what taskset and numactl set before exec."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol

from numascope.cpuset import EMPTY, CpuSet
from numascope.plan.objects import MemoryPolicy

_SET_MEMPOLICY: Final = {
    "x86_64": 238, "aarch64": 237, "riscv64": 237, "loongarch64": 237, "ppc64le": 261, "ppc64": 261, "s390x": 270,
}  # fmt: skip
_GET_MEMPOLICY: Final = {
    "x86_64": 239, "aarch64": 236, "riscv64": 236, "loongarch64": 236, "ppc64le": 260, "ppc64": 260, "s390x": 269,
}  # fmt: skip
"""Numbers of set_mempolicy(2) and get_mempolicy(2) by architecture."""

_MODES: Final[Mapping[MemoryPolicy, int]] = {
    "preferred": 1, "bind": 2, "interleave": 3, "local": 4, "preferred-many": 5, "weighted-interleave": 6,
}  # fmt: skip
"""MPOL_* of include/uapi/linux/mempolicy.h."""

_SINCE: Final[Mapping[MemoryPolicy, str]] = {"preferred-many": "5.15", "weighted-interleave": "6.9"}
"""The Linux that policies came with, where there are older ones in use."""

_WORDS: Final = 16
"""Words of 64 bits: room for 1,024 nodes, the most that a kernel is built for (NODES_SHIFT of include/linux/numa.h)."""

_IGNORED_BY_PYTHON: Final = (signal.SIGPIPE, signal.SIGXFSZ)


class Policy(NamedTuple):
    """A memory policy as the kernel knows it: mode with its flags, and nodes."""

    mode: int
    nodes: CpuSet


_NO_POLICY: Final = Policy(0x0FFF, EMPTY)
"""A mode that no kernel has (MPOL_MAX is below 10, flags begin at 0x2000), which it finds invalid before it looks at nodes."""


class OwnKernel(Protocol):
    """The calls on this process; OSError as the kernel says."""

    def set_affinity(self, cpus: CpuSet) -> None:
        """Sets the mask of the calling thread."""
        ...

    def affinity(self) -> CpuSet:
        """The mask of the calling thread."""
        ...

    def set_policy(self, policy: Policy) -> None:
        """Sets the memory policy of the calling thread."""
        ...

    def policy(self) -> Policy:
        """The memory policy of the calling thread."""
        ...


class RunningKernel:
    """The running kernel."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)

    def set_affinity(self, cpus: CpuSet) -> None:
        """Sets the mask (sched_setaffinity(2)); the kernel silently cuts it to what exists and to the cpuset."""
        os.sched_setaffinity(0, cpus)

    def affinity(self) -> CpuSet:
        """The mask (sched_getaffinity(2))."""
        return CpuSet.of(os.sched_getaffinity(0))

    def set_policy(self, policy: Policy) -> None:
        """Sets the policy (set_mempolicy(2))."""
        mask = None if not policy.nodes else (ctypes.c_ulong * _WORDS)(*_words(policy.nodes))
        bits = ctypes.c_ulong(0 if mask is None else _WORDS * 64 + 1)
        self._call(_SET_MEMPOLICY, ctypes.c_long(policy.mode), mask, bits)

    def policy(self) -> Policy:
        """The policy (get_mempolicy(2))."""
        mode, mask = ctypes.c_int(), (ctypes.c_ulong * _WORDS)()
        self._call(_GET_MEMPOLICY, ctypes.byref(mode), mask, ctypes.c_ulong(_WORDS * 64), None, ctypes.c_ulong(0))
        bits = sum(word << (64 * at) for at, word in enumerate(mask) if word)
        return Policy(mode.value, CpuSet(bits))

    def _call(self, numbers: Mapping[str, int], *arguments: object) -> None:
        number = numbers.get(platform.machine())
        if number is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        if self._libc.syscall(ctypes.c_long(number), *arguments) != 0:
            found = ctypes.get_errno()
            raise OSError(found, os.strerror(found))


def _words(nodes: CpuSet) -> list[int]:
    return [(nodes.bits >> (64 * at)) & (2**64 - 1) for at in range(_WORDS)]


def policy_of(name: MemoryPolicy, nodes: CpuSet) -> Policy:
    """The policy of that name; `local` has no nodes."""
    return Policy(_MODES[name], EMPTY if name == "local" else nodes)


class Refused(NamedTuple):
    """What the kernel refuses, in words with the way out."""

    call: str
    problem: str


def probe(kernel: OwnKernel, *, needs_memory: bool) -> list[Refused]:
    """Asks for what no kernel can do, an empty mask and a policy that there is not: only a call that is permitted comes so far.

    Nothing changes. Setting the mask to what it is would: from Linux 6.2 on a mask that was asked for no longer grows with its cpuset.
    """
    nothing: list[tuple[str, Callable[[], None]]] = [("sched_setaffinity", lambda: kernel.set_affinity(EMPTY))]
    if needs_memory:
        nothing.append(("set_mempolicy", lambda: kernel.set_policy(_NO_POLICY)))
    found = []
    for call, ask in nothing:
        try:
            ask()
        except OSError as error:
            if error.errno != errno.EINVAL:
                found.append(Refused(call, refusal(error)))
    return found


def refusal(error: OSError, policy: MemoryPolicy | None = None) -> str:
    """Why a call failed, to stand after `is`, and what would open it; `policy` is the one that it asked for."""
    if error.errno in (errno.EPERM, errno.EACCES):
        return (
            "not permitted: the seccomp filter of a container or service does that, start it with --cap-add SYS_NICE "
            "or with a filter of its own"
        )
    if error.errno == errno.ENOSYS:
        return "not there: this kernel is built without NUMA, or a sandbox hides it"
    if error.errno == errno.EINVAL:
        since = None if policy is None else _SINCE.get(policy)
        older = (
            "" if since is None else f", or this kernel, {platform.release()}, is older than the policy (Linux {since})"
        )
        return f"refused as invalid: none of it may be used here{older}"
    return f"refused: {os.strerror(error.errno or 0).lower()}"


def become(command: tuple[str, ...]) -> None:
    """Replaces this program by another (exec(3)), found by PATH; OSError. What Python changed at its start is put back.

    Python ignores SIGPIPE and SIGXFSZ, which exec would hand on; signals that the caller had ignored stay so. Limits,
    descriptors, mask of signals and folder were never touched.
    """
    if not command[0]:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    for number in _IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    os.execvp(command[0], command)  # noqa: S606  (without a shell, which is the point)
