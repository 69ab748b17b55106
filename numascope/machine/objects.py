"""The objects of a machine: frozen values, each a CpuSet of hardware threads by the kernel's own numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, CpuSet

_NO_ENTRIES: Final[Mapping[int, int]] = MappingProxyType({})

CACHE_LETTERS: Final[Mapping[str, str]] = MappingProxyType({"Data": "d", "Instruction": "i", "Unified": ""})
"""The type of a cache as it stands behind its level: L1d, L1i, L2."""


class Cpus(NamedTuple):
    """Which hardware threads there are; `offline` is present − online, `allowed` is of whoever looks (None: not known)."""

    possible: CpuSet
    present: CpuSet
    online: CpuSet
    offline: CpuSet
    allowed: CpuSet | None
    isolated: CpuSet
    nohz_full: CpuSet = EMPTY
    """Hardware threads without a tick while one thread runs: their counters move once a second."""
    rcu_nocbs: CpuSet = EMPTY
    """Whose RCU callbacks run elsewhere, by the kernel's command line."""
    partitioned: CpuSet = EMPTY
    """Taken out of load balancing by an isolated cpuset partition (cgroup v2)."""


class Package(NamedTuple):
    """A processor package (socket) by the kernel's `physical_package_id`, which may be sparse."""

    id: int
    cpus: CpuSet


class Group(NamedTuple):
    """A die, cluster, book or drawer: a level between package and core, numbered within its package."""

    package: int | None
    id: int
    cpus: CpuSet


class HugePages(NamedTuple):
    """A node's huge pages of one size; counts of pages."""

    size_kib: int
    total: int
    free: int | None


class Access(NamedTuple):
    """How a node's memory is reached from the nodes that reach it best (HMAT; Documentation/admin-guide/mm/numaperf.rst)."""

    access_class: int
    """0: from any initiator, 1: from CPUs only."""
    initiators: CpuSet
    read_latency_ns: int | None
    write_latency_ns: int | None
    read_bandwidth_mib: int | None
    write_bandwidth_mib: int | None
    """MiB a second."""


class Node(NamedTuple):
    """A NUMA node; it may have no CPUs (memory only), no memory, and may span packages."""

    id: int
    cpus: CpuSet
    memory_kib: int | None
    free_kib: int | None
    packages: tuple[int, ...] = ()
    kind: str | None = None
    distances: Mapping[int, int] = _NO_ENTRIES
    huge_pages: tuple[HugePages, ...] = ()
    access: tuple[Access, ...] = ()
    tier: int | None = None
    """The kernel's memory tier; the lower, the faster."""


class Cache(NamedTuple):
    """One cache and the hardware threads that share it; `type` is Data, Instruction or Unified."""

    level: int
    type: str
    size_kib: int | None
    cpus: CpuSet
    memory_side: bool = False


class Core(NamedTuple):
    """A core and its online hardware threads; `core_id` repeats between packages, so the set is its name."""

    cpus: CpuSet
    package: int | None
    die: int | None
    node: int | None
    core_id: int | None = None
    kind: str | None = None


class CoreKind(NamedTuple):
    """Cores that the kernel says are alike (P and E cores, big.LITTLE), with its relative capacity."""

    cpus: CpuSet
    kind: str | None
    capacity: int | None
    max_khz: int | None


class Claim(NamedTuple):
    """What one source says of a device's node; `node` None: it says that it does not know."""

    source: str
    path: str
    value: str
    node: int | None


class Device(NamedTuple):
    """A device at a PCI address (`gpu`, `npu`, `accelerator`, and on request `nic`, `nvme`); `node` None is unknown, `node_source` names what spoke."""

    address: str
    class_code: int
    kind: str
    vendor_id: int
    device_id: int
    vendor: str | None
    name: str | None
    node: int | None
    node_source: str | None
    local_cpus: CpuSet | None
    claims: tuple[Claim, ...] = ()
    """Every source that was asked, the most trusted first."""
    path: tuple[str, ...] = ()
    """The bridges above it and itself, from the root complex down: `pci0000:3a`, `0000:3a:00.0`, `0000:3b:00.0`."""


class FrequencyPolicy(NamedTuple):
    """CPUs whose clock is set together (Documentation/admin-guide/pm/cpufreq.rst)."""

    cpus: CpuSet
    governor: str | None
    driver: str | None
    min_khz: int | None
    max_khz: int | None
    """The limits in force; `hardware_*` are what the processor could."""
    hardware_min_khz: int | None = None
    hardware_max_khz: int | None = None


class Platform(NamedTuple):
    """Where this system runs, as far as it shows: `kvm`, `wsl2`, `docker`, …; None: nothing shows it."""

    hypervisor: str | None = None
    container: str | None = None
    lxcfs: tuple[str, ...] = ()
    """The files of /proc and /sys that lxcfs has put its own in place of."""


NOTHING_SHOWN: Final = Platform()


class Part(NamedTuple):
    """What a machine is a part of: its own nodes, and all nodes of the whole."""

    nodes: CpuSet
    whole: CpuSet

    @property
    def words(self) -> str:
        """`part: node 0 of 2`, `part: nodes 0-1 of 8`."""
        word = "node" if len(self.nodes) == 1 else "nodes"
        return f"part: {word} {self.nodes or 'none'} of {len(self.whole)}"


class Machine(NamedTuple):
    """All that numascope knows of a machine; lists are sorted by id or lowest CPU, `partial` says that layers are missing."""

    source: str
    arch: str | None
    model: str | None
    cpus: Cpus
    packages: tuple[Package, ...]
    dies: tuple[Group, ...]
    clusters: tuple[Group, ...]
    books: tuple[Group, ...]
    drawers: tuple[Group, ...]
    nodes: tuple[Node, ...]
    nodes_allowed: CpuSet | None
    caches: tuple[Cache, ...]
    cores: tuple[Core, ...]
    kinds: tuple[CoreKind, ...]
    devices: tuple[Device, ...]
    policies: tuple[FrequencyPolicy, ...] = ()
    platform: Platform = NOTHING_SHOWN
    nodes_offline: CpuSet = EMPTY
    """Nodes that could come online."""
    notes: tuple[str, ...] = ()
    partial: bool = False
    untold: tuple[str, ...] = ()
    """The fields of `cpus` that no file tells: there the empty set stands for unknown."""
    part: Part | None = None
    """Something was left out; None: this is all of it."""
    node_of: Mapping[int, int] = _NO_ENTRIES
    """CPU → the NUMA node that lists it; a CPU without a node is absent."""
    kernel: str | None = None
    """The kernel's release, `6.1.0-28-amd64`; None where no file tells it."""

    def node(self, number: int) -> Node | None:
        """The node of that number."""
        return next((node for node in self.nodes if node.id == number), None)

    def nodes_of(self, cpus: Iterable[int]) -> CpuSet:
        """The nodes that list these CPUs; a CPU without a node adds none."""
        return CpuSet.of({self.node_of[cpu] for cpu in cpus if cpu in self.node_of})

    def distance(self, start: int, end: int) -> int | None:
        """The firmware's distance from one node to another (10 is local); None where it gives none."""
        node = self.node(start)
        return None if node is None else node.distances.get(end)
