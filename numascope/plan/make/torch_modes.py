"""PyTorch's four binding modes (`torchrun --numa-binding`; torch/numa/binding.py of 2.13), with its errors or without."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from numascope.cpuset import EMPTY, CpuSet, union
from numascope.host.pci.address import PCI_DIRECTORY
from numascope.host.system.lists import CPU_DIRECTORY
from numascope.machine.objects import Device, Machine
from numascope.plan.make.made import NoPlanError
from numascope.plan.make.seats import Seat

MODES: Final = ("node", "socket", "exclusive", "core-complex")


class TorchError(NoPlanError):
    """What torch raises in this place: the name of its exception and its text."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        self.message = message
        super().__init__(f"{kind}: {message}")


class TorchView:
    """A machine as torch sees it: the CPUs that the launcher may use, and every visible device in torch's order, whether a rank has it or not.

    Where a file is missing torch ends at the first CPU or node in the order of its own sets, so sets are walked as sets here.
    """

    def __init__(self, machine: Machine, allowed: CpuSet, seats: Sequence[Seat], *, has_numactl: bool = True) -> None:
        self.machine = machine
        self.allowed = allowed
        self.seats = seats
        self.has_numactl = has_numactl
        self.node_cpus: Mapping[int, CpuSet] = {node.id: node.cpus for node in machine.nodes}
        self.possible = set(sorted({*self.node_cpus, *machine.nodes_offline}))  # noqa: C414  (the order of torch's own set)
        self.package_of = {cpu: package.id for package in machine.packages for cpu in package.cpus}
        self.core_of = {cpu: core.cpus for core in machine.cores for cpu in core.cpus}
        self.untold = _without_topology(machine)
        self.mute = {one.address for one in machine.devices if _has_no_node_file(one)}
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
        if seat.address in self.mute:
            raise _no_file(f"/{PCI_DIRECTORY}/{seat.address}/numa_node")
        return 0 if seat.kernel_node is None else max(seat.kernel_node, 0)

    def allowed_of(self, node: int) -> CpuSet:
        """The node's CPUs that the launcher may use."""
        if node not in self.node_cpus:
            raise TorchError("RuntimeError", f"Could not determine CPUs corresponding to numa_node_index={node}.")
        return self.node_cpus[node] & self.allowed

    def in_torchs_order(self, node: int) -> set[int]:
        """The same in the order in which torch looks at each."""
        return set(self.node_cpus[node]) & set(self.allowed)

    def peers(self, seat: Seat) -> list[int]:
        """The numbers of the devices near the same node."""
        home = self.home(seat)
        return [one.number for one in self.seats if self.home(one) == home]

    def package_of_node(self, node: int) -> int | None:
        """The package of the node's first usable CPU."""
        cpus = self.allowed_of(node)
        if not cpus:
            raise TorchError("ValueError", "min() arg is an empty sequence")
        if cpus.first in self.untold:
            raise TorchError("RuntimeError", f"Could not determine socket for cpu_index={cpus.first}")
        return self.package_of.get(cpus.first)

    def cores(self, cpus: CpuSet) -> list[CpuSet]:
        """The usable CPUs by core, in the order of the core's first CPU, usable or not."""
        groups = _grouped(cpus, lambda cpu: self.core_of.get(cpu, CpuSet.of((cpu,))).first)
        return [groups[key] for key in sorted(groups)]

    def complexes(self, cpus: CpuSet) -> list[CpuSet]:
        """The usable CPUs by largest cache, the fullest first, then by the cache's first CPU, usable or not."""
        groups = _grouped(cpus, lambda cpu: self.cache_of[cpu].first)
        return [groups[key] for key in sorted(groups, key=lambda key: (-len(groups[key]), key))]


def _without_topology(machine: Machine) -> CpuSet:
    """The CPUs of no core and no package, whose `topology` files are not there, as where a sandbox shows a part of /sys."""
    placed = union(one.cpus for one in machine.packages) | union(one.cpus for one in machine.cores)
    return machine.cpus.online - placed


def _has_no_node_file(device: Device) -> bool:
    """Whether the kernel tells the device's local CPUs and has no `numa_node` beside them, as one built without NUMA."""
    sources = {claim.source for claim in device.claims}
    return bool(sources & {"local_cpulist", "local_cpus"}) and "numa_node" not in sources


def _no_file(path: str) -> TorchError:
    return TorchError("FileNotFoundError", f"[Errno 2] No such file or directory: '{path}'")


def _node(view: TorchView, seat: Seat) -> CpuSet:
    return view.allowed_of(view.home(seat))


def _socket(view: TorchView, seat: Seat) -> CpuSet:
    package = view.package_of_node(view.home(seat))
    return union([view.allowed_of(node) for node in view.possible if view.package_of_node(node) == package])


def _exclusive(view: TorchView, seat: Seat) -> CpuSet:
    home, peers = view.home(seat), view.peers(seat)
    cores = view.cores(view.allowed_of(home))
    for cpu in view.in_torchs_order(home):
        if cpu in view.untold:
            raise _no_file(f"/{CPU_DIRECTORY}/cpu{cpu}/topology/thread_siblings_list")
    if len(cores) < len(peers):
        raise TorchError(
            "RuntimeError",
            f"There are only {len(cores)} physical cores on numa_node_index={home},"
            f" but there are {len(peers)} GPUs associated with this NUMA node.",
        )
    return union(dealt(cores, len(peers), peers.index(seat.number)))


def _core_complex(view: TorchView, seat: Seat) -> CpuSet:
    home, peers = view.home(seat), view.peers(seat)
    cpus = view.allowed_of(home)
    for cpu in view.in_torchs_order(home):
        if cpu not in view.cache_of:
            raise _no_file(f"/{CPU_DIRECTORY}/cpu{cpu}/cache")
    complexes = view.complexes(cpus)
    if not complexes:
        raise TorchError("ZeroDivisionError", "integer modulo by zero")
    return complexes[peers.index(seat.number) % len(complexes)]


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
