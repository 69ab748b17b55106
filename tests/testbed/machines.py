"""The machines that the test bed can emulate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

NVME: Final = "nvme,serial=testbed"
NETWORK: Final = "virtio-net-pci,romfile="
GPU: Final = "ati-vga,romfile="
"""Vendor 0x1002 (AMD), class 0x030000; no device of QEMU takes the ids of another vendor: see `--disguise`."""

UNKNOWN: Final = "edu"
"""A device of an unknown class."""


class Node(NamedTuple):
    """A NUMA node: what QEMU's `-numa node` says of it besides its memory."""

    options: str
    memory_mib: int


class Device(NamedTuple):
    """A PCI device behind a root bus of its own, which lies on a NUMA node."""

    node: int
    model: str


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine in QEMU's words; without `distances` nodes are 10 from themselves and 20 from each other."""

    about: str
    smp: str
    nodes: tuple[Node, ...]
    devices: tuple[Device, ...] = ()
    distances: tuple[tuple[int, ...], ...] = ()
    cpu: str = "max,vendor=GenuineIntel"
    extra: tuple[str, ...] = ()

    def qemu_arguments(self) -> Iterator[str]:
        """What makes QEMU this machine."""
        yield from ("-machine", "q35", "-cpu", self.cpu, "-smp", self.smp)
        yield from ("-m", f"{sum(node.memory_mib for node in self.nodes)}M")
        for number, node in enumerate(self.nodes):
            options = [f"node,nodeid={number}", *([node.options] if node.options else [])]
            if node.memory_mib:
                yield from ("-object", f"memory-backend-ram,id=mem{number},size={node.memory_mib}M")
                options.append(f"memdev=mem{number}")
            yield from ("-numa", ",".join(options))
        for source, row in enumerate(self.distances):
            for target, distance in enumerate(row):
                yield from ("-numa", f"dist,src={source},dst={target},val={distance}")
        for number, device in enumerate(self.devices, start=1):
            bus = f"pxb-pcie,id=pxb{number},bus=pcie.0,bus_nr={number * 16},numa_node={device.node}"
            yield from ("-device", bus)
            yield from ("-device", f"pcie-root-port,id=port{number},bus=pxb{number},chassis={number}")
            yield from ("-device", f"{device.model},bus=port{number}")
        yield from self.extra


def evenly(nodes: int, cpus: int, memory_mib: int) -> tuple[Node, ...]:
    """That many nodes, each with that many CPUs and that much memory."""
    return tuple(Node(f"cpus={one * cpus}-{one * cpus + cpus - 1}", memory_mib) for one in range(nodes))


def _access(initiator: int, target: int, latency_ns: int, bandwidth_mib_per_s: int) -> tuple[str, ...]:
    """What one node's access to another's memory takes, for the HMAT."""
    entry = f"hmat-lb,initiator={initiator},target={target},hierarchy=memory"
    latency = f"{entry},data-type=access-latency,latency={latency_ns}"
    return ("-numa", latency, "-numa", f"{entry},data-type=access-bandwidth,bandwidth={bandwidth_mib_per_s}M")


MACHINES: Final = {
    "two-socket": Machine(
        about="2 sockets x 4 cores x 2 threads, 2 nodes; NVMe on node 0, GPU on node 1",
        smp="16,sockets=2,cores=4,threads=2",
        nodes=evenly(2, 8, 768),
        devices=(Device(0, NVME), Device(1, GPU), Device(1, UNKNOWN)),
    ),
    "four-node": Machine(
        about="2 sockets x 2 dies x 4 cores, 4 nodes at unequal distances; NVMe on node 1, network on node 2",
        smp="16,sockets=2,dies=2,cores=4,threads=1",
        nodes=evenly(4, 4, 384),
        devices=(Device(1, NVME), Device(2, NETWORK)),
        distances=((10, 12, 21, 31), (12, 10, 31, 21), (21, 31, 10, 12), (31, 21, 12, 10)),
    ),
    "memory-only": Machine(
        about="1 socket x 2 dies x 4 cores, 2 nodes and one of memory only (as CXL's), HMAT; GPU on node 1",
        smp="8,sockets=1,dies=2,cores=4,threads=1",
        nodes=(*evenly(2, 4, 512), Node("initiator=1", 512)),
        devices=(Device(1, GPU),),
        distances=((10, 12, 31), (12, 10, 28), (31, 28, 10)),
        extra=(
            *("-machine", "hmat=on"),
            *(*_access(0, 0, 80, 100_000), *_access(0, 1, 120, 60_000), *_access(0, 2, 300, 20_000)),
            *(*_access(1, 0, 120, 60_000), *_access(1, 1, 80, 100_000), *_access(1, 2, 250, 30_000)),
        ),
    ),
    "chiplets": Machine(
        about="2 sockets x 2 dies (an L3 each) x 2 cores x 2 threads, 2 nodes; network on node 0, GPU on node 1",
        smp="16,sockets=2,dies=2,cores=2,threads=2",
        nodes=evenly(2, 8, 768),
        devices=(Device(0, NETWORK), Device(1, GPU)),
    ),
    "accelerators": Machine(
        about="2 sockets x 2 dies x 4 cores, 4 nodes; two GPUs on each of nodes 0 and 2, one on bus 0 whose node is unknown",
        smp="16,sockets=2,dies=2,cores=4,threads=1",
        nodes=evenly(4, 4, 384),
        devices=(Device(0, GPU), Device(0, GPU), Device(2, GPU), Device(2, GPU), Device(2, NETWORK)),
        distances=((10, 12, 21, 21), (12, 10, 21, 21), (21, 21, 10, 12), (21, 21, 12, 10)),
        extra=("-device", f"{GPU},bus=pcie.0"),
    ),
    "four-threads": Machine(
        about="2 sockets x 2 cores x 4 threads, 2 nodes",
        smp="16,sockets=2,cores=2,threads=4",
        nodes=evenly(2, 8, 512),
    ),
    "no-memory": Machine(
        about="2 sockets x 4 cores, 3 nodes: one with both, one of CPUs only, one of memory only",
        smp="8,sockets=2,cores=4,threads=1",
        nodes=(Node("cpus=0-3", 1024), Node("cpus=4-7", 0), Node("", 512)),
        distances=((10, 20, 17), (20, 10, 28), (17, 28, 10)),
    ),
    "amd": Machine(
        about="2 EPYC sockets, 2 nodes; only KVM emulates its threads and its several L3, see README.md",
        smp="16,sockets=2,dies=2,cores=2,threads=2",
        nodes=evenly(2, 8, 768),
        devices=(Device(0, NETWORK), Device(1, GPU)),
        cpu="EPYC-Rome",
    ),
    "large": Machine(
        about="8 sockets x 4 cores x 2 threads, 8 nodes of 192 MiB; NVMe on node 0, network on 3, GPU on 7",
        smp="64,sockets=8,cores=4,threads=2",
        nodes=evenly(8, 8, 192),
        devices=(Device(0, NVME), Device(3, NETWORK), Device(7, GPU)),
    ),
}
"""Name → machine; README.md has the table."""
