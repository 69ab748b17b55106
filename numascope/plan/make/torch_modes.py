"""PyTorch's four binding modes (`torchrun --numa-binding`; torch/numa/binding.py of 2.13), with its errors or without."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.objects import Machine
from numascope.plan.make.made import NoPlanError, union
from numascope.plan.make.seats import Seat

MODES: Final = ("node", "socket", "exclusive", "core-complex")


class TorchError(NoPlanError):
    """What torch raises in this place: the name of its exception and its text."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        self.message = message
        super().__init__(f"{kind}: {message}")


class TorchView:
    """A machine as torch sees it: the CPUs that the launcher may use, and every visible device, whether a rank has it or not."""

    def __init__(self, machine: Machine, allowed: CpuSet, seats: Sequence[Seat], *, has_numactl: bool = True) -> None:
        self.machine = machine
        self.allowed = allowed
        self.seats = sorted(seats, key=lambda seat: seat.number)
        self.has_numactl = has_numactl
        self.node_cpus: Mapping[int, CpuSet] = {node.id: node.cpus for node in machine.nodes}
        self.possible = sorted({*self.node_cpus, *machine.nodes_offline})
        self.package_of = {cpu: package.id for package in machine.packages for cpu in package.cpus}
        self.core_of = {cpu: core.cpus for core in machine.cores for cpu in core.cpus}
        self.cache_of = largest_caches(machine)

    def bound(self, seat: Seat, mode: str) -> CpuSet:
        """The CPUs that torch binds a rank to; TorchError where it raises."""
        found = _MODES[mode](self, seat)
        if not self.has_numactl:
            raise TorchError("RuntimeError", "numactl CLI is required for NUMA binding")
        if not found:
            raise TorchError("RuntimeError", "Must bind to a non-empty set of CPU indices")
        return found

    def home(self, seat: Seat) -> int:
        """The node that torch takes a device to be near: any unknown one is 0."""
        return 0 if seat.kernel_node is None else max(seat.kernel_node, 0)

    def allowed_of(self, node: int) -> CpuSet:
        """The node's CPUs that the launcher may use."""
        if node not in self.node_cpus:
            raise TorchError("RuntimeError", f"Could not determine CPUs corresponding to numa_node_index={node}.")
        return self.node_cpus[node] & self.allowed

    def peers(self, seat: Seat) -> list[int]:
        """The numbers of the devices near the same node."""
        return [one.number for one in self.seats if self.home(one) == self.home(seat)]

    def package_of_node(self, node: int) -> int | None:
        """The package of the node's first usable CPU."""
        cpus = self.allowed_of(node)
        if not cpus:
            raise TorchError("ValueError", "min() arg is an empty sequence")
        return self.package_of.get(cpus.first)

    def cores(self, cpus: CpuSet) -> list[CpuSet]:
        """The usable CPUs by core, in the order of the core's first CPU, usable or not."""
        groups = _grouped(cpus, lambda cpu: self.core_of.get(cpu, CpuSet.of((cpu,))).first)
        return [groups[key] for key in sorted(groups)]

    def complexes(self, cpus: CpuSet) -> list[CpuSet]:
        """The usable CPUs by largest cache, the fullest first, then by the cache's first CPU, usable or not."""
        for cpu in cpus:
            if cpu not in self.cache_of:
                raise NoPlanError(f"no cache of CPU {cpu} is told here, so core-complex has nothing to go by")
        groups = _grouped(cpus, lambda cpu: self.cache_of[cpu].first)
        return [groups[key] for key in sorted(groups, key=lambda key: (-len(groups[key]), key))]


def _node(view: TorchView, seat: Seat) -> CpuSet:
    return view.allowed_of(view.home(seat))


def _socket(view: TorchView, seat: Seat) -> CpuSet:
    package = view.package_of_node(view.home(seat))
    return union(view.allowed_of(node) for node in view.possible if view.package_of_node(node) == package)


def _exclusive(view: TorchView, seat: Seat) -> CpuSet:
    home = view.home(seat)
    cores, peers = view.cores(view.allowed_of(home)), view.peers(seat)
    if len(cores) < len(peers):
        raise TorchError(
            "RuntimeError",
            f"There are only {len(cores)} physical cores on numa_node_index={home},"
            f" but there are {len(peers)} GPUs associated with this NUMA node.",
        )
    return union(dealt(cores, len(peers), peers.index(seat.number)))


def _core_complex(view: TorchView, seat: Seat) -> CpuSet:
    complexes = view.complexes(view.allowed_of(view.home(seat)))
    if not complexes:
        raise TorchError("ZeroDivisionError", "integer modulo by zero")
    return complexes[view.peers(seat).index(seat.number) % len(complexes)]


_MODES: Final[Mapping[str, Callable[[TorchView, Seat], CpuSet]]] = {
    "node": _node,
    "socket": _socket,
    "exclusive": _exclusive,
    "core-complex": _core_complex,
}


def dealt(cores: Sequence[CpuSet], shares: int, at: int) -> Sequence[CpuSet]:
    """One of so many consecutive shares; what is left over goes one each to the first ones."""
    each, more = divmod(len(cores), shares)
    start = at * each + min(at, more)
    return cores[start : start + each + (at < more)]


def largest_caches(machine: Machine) -> dict[int, CpuSet]:
    """CPU → the CPUs that share its data cache of the highest level; what stands before a node's memory is none."""
    found: dict[int, CpuSet] = {}
    levels: dict[int, int] = {}
    for cache in machine.caches:
        if cache.memory_side or cache.type == "Instruction":
            continue
        for cpu in cache.cpus:
            if cache.level > levels.get(cpu, 0):
                found[cpu], levels[cpu] = cache.cpus, cache.level
    return found


def _grouped(cpus: Iterable[int], key: Callable[[int], int]) -> dict[int, CpuSet]:
    groups: dict[int, CpuSet] = {}
    for cpu in cpus:
        at = key(cpu)
        groups[at] = groups.get(at, EMPTY) | CpuSet(1 << cpu)
    return groups
