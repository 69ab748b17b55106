"""What each source says of the NUMA node that a device is near, the most trusted first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, CpuSet
from numascope.host import parse
from numascope.host.pci.address import PCI_DIRECTORY, Place, is_address
from numascope.host.root import HostRoot
from numascope.host.system.lists import NODE_DIRECTORY, numbers_of
from numascope.host.system.memory import NVIDIA_GPUS, own_node

_LONGEST_VALUE: Final = 120


class NodeClaim(NamedTuple):
    """What one source says of a device's node; `node` None: it says that it does not know."""

    source: str
    path: str
    value: str
    node: int | None


class LocalCpus(NamedTuple):
    """A device's `local_cpulist`, else its `local_cpus`; `cpus` None where the text is neither list nor mask."""

    path: str
    text: str
    cpus: CpuSet | None


def read_local_cpus(root: HostRoot, address: str) -> LocalCpus | None:
    """The CPUs that the kernel calls near to the device; None where there is no such file."""
    found = None
    for name, parser in (("local_cpulist", parse.id_list), ("local_cpus", parse.mask)):
        path = f"{PCI_DIRECTORY}/{address}/{name}"
        raw = root.read_if_there(path)
        if raw is None:
            continue
        cpus = parser(raw)
        if cpus is not None:
            return LocalCpus(path, str(cpus), cpus)
        found = found or LocalCpus(path, parse.text(raw), None)
    return found


def node_of_cpus(cpus: CpuSet, nodes: Mapping[int, CpuSet]) -> int | None:
    """The one node whose online CPUs these are; None where they are all CPUs, which is how the kernel says that it does not know."""
    every = EMPTY
    for one in nodes.values():
        every |= one
    if cpus & every == every:
        return None
    matching = [node for node, own in nodes.items() if own and own == cpus & every]
    return matching[0] if len(matching) == 1 else None


def chosen(claims: Iterable[NodeClaim], nodes: Mapping[int, CpuSet]) -> tuple[int | None, str | None]:
    """The node that the most trusted source names, and that source; a node that is not online is no answer."""
    for claim in claims:
        if claim.node is not None and claim.node in nodes:
            return claim.node, claim.source
    return None, None


class NodeFiles:
    """The files of /sys/bus/pci that speak of nodes; what is said of a bridge is read once for all devices below it."""

    def __init__(self, root: HostRoot, nodes: Mapping[int, CpuSet]) -> None:
        self._root = root
        self._nodes = nodes
        self._bridges: dict[str, list[NodeClaim]] = {}
        self._lists_nodes = len(nodes) != 1 or bool(numbers_of(root, NODE_DIRECTORY, "node"))

    def claims(self, address: str, place: Place, local: LocalCpus | None) -> list[NodeClaim]:
        """Of its own `numa_node`, of its local CPUs, of the bridges above it from the nearest up."""
        found = self._numa_node("numa_node", f"{PCI_DIRECTORY}/{address}")
        if local is not None:
            node = None if local.cpus is None else node_of_cpus(local.cpus, self._nodes)
            found.append(NodeClaim(local.path.rpartition("/")[2], f"/{local.path}", _short(local.text), node))
        for name, directory in list(zip(*place, strict=True))[-2::-1]:
            if is_address(name):
                found += self._bridge(name, directory)
        return found

    def only_node(self, claims: Iterable[NodeClaim]) -> list[NodeClaim]:
        """On a machine with one node every device is near that; where the kernel lists none, and one stands for all, unless a source names a node."""
        if len(self._nodes) != 1:
            return []
        number = next(iter(self._nodes))
        if self._lists_nodes:
            return [NodeClaim("only node", f"/{NODE_DIRECTORY}", f"node {number} alone", number)]
        if any(claim.node is not None for claim in claims):
            return []
        return [
            NodeClaim("only node", f"/{NODE_DIRECTORY}", f"no node is listed: node {number} stands for all", number)
        ]

    def _bridge(self, name: str, directory: str) -> list[NodeClaim]:
        if directory not in self._bridges:
            self._bridges[directory] = self._numa_node(f"numa_node of {name}", directory)
        return self._bridges[directory]

    def _numa_node(self, source: str, directory: str) -> list[NodeClaim]:
        """What the file says, in a list of one; −1 is the kernel's word for unknown."""
        raw = self._root.read_if_there(f"{directory}/numa_node")
        if raw is None:
            return []
        node = parse.decimal(raw)
        known = node if node is not None and node >= 0 else None
        return [NodeClaim(source, f"/{directory}/numa_node", _short(parse.text(raw)), known)]


def own_memory(root: HostRoot, address: str) -> list[NodeClaim]:
    """Of an NVIDIA GPU whose memory is a NUMA node of its own: the driver's `numa_status` names that node, not the near one."""
    node = own_node(root, address)
    if node is None:
        return []
    path = f"/{NVIDIA_GPUS}/{address}/numa_status"
    return [NodeClaim("numa_status", path, f"node {node} is its own memory", None)]


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
