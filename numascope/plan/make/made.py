"""What a policy makes: the CPUs of each device's roles, its memory nodes, and what has to be said about them."""

from __future__ import annotations

from typing import NamedTuple

from numascope.cpuset import EMPTY, CpuSet, union
from numascope.errors import NumascopeError
from numascope.plan.make.seats import Seat


class NoPlanError(NumascopeError):
    """A plan that this machine does not allow; the text is one sentence that says what stands in the way."""

    exit_code = 1


class RoleCpus(NamedTuple):
    """One role's CPUs; `any` is the whole process. With `nodes` it is meant to follow the CPUs of these nodes."""

    role: str
    cpus: CpuSet
    nodes: CpuSet | None = None


class Share(NamedTuple):
    """What one device's rank gets; `memory` None binds no memory."""

    seat: Seat
    roles: tuple[RoleCpus, ...]
    memory: CpuSet | None = None

    @property
    def cpus(self) -> CpuSet:
        """The CPUs of all roles."""
        return union(one.cpus for one in self.roles)


class Made(NamedTuple):
    """A whole plan by a policy, in the order of devices."""

    policy: str
    shares: tuple[Share, ...]
    scheduler: CpuSet = EMPTY
    notes: tuple[str, ...] = ()
    torch_mode: str | None = None
    """The `--numa-binding` with which torchrun itself makes this very plan."""
    fixed_actors: bool = True
