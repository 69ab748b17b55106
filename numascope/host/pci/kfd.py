"""AMD GPUs as the driver's compute side lists them in /sys/class/kfd (drivers/gpu/drm/amd/amdkfd/kfd_topology.c)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.host import parse
from numascope.host.pci.nodes import NodeClaim
from numascope.host.root import HostRoot

KFD_DIRECTORY: Final = "sys/class/kfd/kfd/topology/nodes"

_XGMI: Final = 11
"""`type` of an io_link over AMD's own fabric; 2 is PCIe (CRAT_IOLINK_TYPE_* in kfd_crat.h)."""

_MOST_NODES: Final = 1024
_LONGEST_FILE: Final = 1 << 16


class KfdGpu(NamedTuple):
    """One GPU; `cpu_node` is the number of the CPU node in the driver's list that it hangs on, `peers` the GPUs on its fabric."""

    address: str
    name: str | None
    cpu_node: int | None
    cpu_link: str | None
    """The file that says `cpu_node`."""
    peers: tuple[str, ...]


class Kfd(NamedTuple):
    """The driver's list: its GPUs by PCI address, and the numbers of its CPU nodes."""

    gpus: Mapping[str, KfdGpu]
    cpu_nodes: tuple[int, ...]


NO_KFD: Final = Kfd({}, ())


def read_kfd(root: HostRoot) -> Kfd:
    """All nodes of the driver's list; NO_KFD where the driver is not there."""
    numbers = sorted(int(name) for name in root.names(KFD_DIRECTORY) if name.isascii() and name.isdecimal())
    properties = {number: _properties(root, f"{KFD_DIRECTORY}/{number}") for number in numbers[:_MOST_NODES]}
    cpu_nodes = tuple(number for number, values in properties.items() if values.get("cpu_cores_count", 0) > 0)
    addresses = {number: _address(values) for number, values in properties.items() if number not in cpu_nodes}
    gpus: dict[str, KfdGpu] = {}
    for number, address in addresses.items():
        # A GPU that is split into several compute partitions is listed once for each of them.
        if address is not None and address not in gpus:
            gpus[address] = _read_gpu(root, number, address, addresses, cpu_nodes)
    return Kfd(gpus, cpu_nodes)


def node_claim(kfd: Kfd, address: str, nodes: Mapping[int, CpuSet], own: int | None) -> list[NodeClaim]:
    """What the driver says of the GPU's node, in a list of one; `own` is the node of the GPU's own `numa_node`.

    The driver lists nodes with CPUs from 0 on, but writes the NUMA node's number into the link, so that the link tells
    something only where the two agree. Where it finds no node it writes 0: that is known from a 0 which is meant only by `own`.
    """
    gpu = kfd.gpus.get(address)
    if gpu is None or gpu.cpu_node is None or gpu.cpu_link is None:
        return []
    with_cpus = sorted(node for node, cpus in nodes.items() if cpus)
    place = kfd.cpu_nodes.index(gpu.cpu_node)
    node = with_cpus[place] if place < len(with_cpus) else None
    if node != gpu.cpu_node or (node == 0 and own is None):
        node = None
    value = f"node_to {gpu.cpu_node}" + ("" if node is not None else ", which proves nothing here")
    return [NodeClaim("kfd", f"/{gpu.cpu_link}", value, node)]


def _read_gpu(
    root: HostRoot, number: int, address: str, addresses: Mapping[int, str | None], cpu_nodes: tuple[int, ...]
) -> KfdGpu:
    directory = f"{KFD_DIRECTORY}/{number}"
    raw = root.read_if_there(f"{directory}/name", _LONGEST_FILE)
    cpu_node = cpu_link = None
    peers: dict[str, None] = {}
    for name in root.names(f"{directory}/io_links")[:_MOST_NODES]:
        link = _properties(root, f"{directory}/io_links/{name}")
        end = link.get("node_to")
        if end in cpu_nodes and cpu_node is None:
            cpu_node, cpu_link = end, f"{directory}/io_links/{name}/properties"
        elif end is not None and link.get("type") == _XGMI and (peer := addresses.get(end)) not in (None, address):
            peers[str(peer)] = None
    return KfdGpu(address, (None if raw is None else parse.text(raw)) or None, cpu_node, cpu_link, tuple(peers))


def _address(values: Mapping[str, int]) -> str | None:
    """`location_id` is bus<<8 | device<<3 | function; its upper bits number the partitions of one GPU."""
    location, domain = values.get("location_id", 0) & 0xFFFF, values.get("domain", 0)
    if not location or not 0 <= domain <= 0xFFFF_FFFF:
        return None
    return f"{domain:04x}:{location >> 8:02x}:{location >> 3 & 0x1F:02x}.{location & 7}"


def _properties(root: HostRoot, directory: str) -> dict[str, int]:
    raw = root.read_if_there(f"{directory}/properties", _LONGEST_FILE)
    found: dict[str, int] = {}
    for line in (raw or b"").splitlines():
        key, _, value = line.partition(b" ")
        number = parse.decimal(value)
        if number is not None:
            found[parse.text(key)] = number
    return found
