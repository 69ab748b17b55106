"""What the kernel says of a node's memory beyond its size: huge pages, HMAT access, memory tiers, and nodes that are offline."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, CpuSet
from numascope.host import parse
from numascope.host.root import HostRoot
from numascope.host.system.lists import NODE_DIRECTORY, numbers_of, read_value

_HUGE = re.compile(r"hugepages-([0-9]{1,9})kB")
TIERS: Final = "sys/devices/virtual/memory_tiering"
_TIER = re.compile(r"memory_tier([0-9]{1,9})")
DAX_DEVICES: Final = "sys/bus/dax/devices"
NVIDIA_GPUS: Final = "proc/driver/nvidia/gpus"
_DAX_SIGNS: Final = (
    ("/cxl", "CXL"),
    ("ACPI0017", "CXL"),
    ("/ndbus", "PMEM"),
    ("ACPI0012", "PMEM"),
    ("/hmem.", "SPM"),
)
"""What stands in the path of a DAX device (drivers/dax), and the kind of its memory; SPM is the specific-purpose memory of EFI, HBM mostly."""


class HugePageRecord(NamedTuple):
    """`hugepages-SIZEkB` of a node: pages of one size (Documentation/admin-guide/mm/hugetlbpage.rst)."""

    size_kib: int
    total: int
    free: int | None


class AccessRecord(NamedTuple):
    """`accessN/initiators` of a node (Documentation/admin-guide/mm/numaperf.rst); ns and MiB a second, None where a file is absent."""

    access_class: int
    initiators: CpuSet
    read_latency_ns: int | None
    write_latency_ns: int | None
    read_bandwidth_mib: int | None
    write_bandwidth_mib: int | None


def read_huge_pages(root: HostRoot, node: int) -> tuple[HugePageRecord, ...]:
    """The pools of huge pages of a node that hold pages, by size."""
    directory = f"{NODE_DIRECTORY}/node{node}/hugepages"
    found = []
    for name in root.names(directory):
        size = _HUGE.fullmatch(name)
        total = read_value(root, f"{directory}/{name}/nr_hugepages", parse.decimal) if size else None
        if size and total:
            free = read_value(root, f"{directory}/{name}/free_hugepages", parse.decimal)
            found.append(HugePageRecord(int(size[1]), total, free))
    return tuple(sorted(found))


def read_access(root: HostRoot, node: int) -> tuple[AccessRecord, ...]:
    """How the node's memory is reached by its nearest initiators, by access class; none without an HMAT."""
    directory = f"{NODE_DIRECTORY}/node{node}"
    found = []
    for number in numbers_of(root, directory, "access"):
        initiators = f"{directory}/access{number}/initiators"
        numbers = CpuSet.of(numbers_of(root, initiators, "node"))
        figures = [
            read_value(root, f"{initiators}/{name}", parse.decimal)
            for name in ("read_latency", "write_latency", "read_bandwidth", "write_bandwidth")
        ]
        # The kernel writes 0 where the firmware gives no figure.
        told = [figure or None for figure in figures]
        if numbers or any(told):
            found.append(AccessRecord(number, numbers, *told))
    return tuple(found)


def read_tiers(root: HostRoot) -> dict[int, CpuSet]:
    """Memory tier → its nodes (Documentation/ABI/testing/sysfs-kernel-mm-memory-tiers); the lower the tier, the faster."""
    found: dict[int, CpuSet] = {}
    for name in root.names(TIERS):
        tier = _TIER.fullmatch(name)
        nodes = read_value(root, f"{TIERS}/{name}/nodelist", parse.id_list) if tier else None
        if tier and nodes:
            found[int(tier[1])] = nodes
    return found


def read_offline_nodes(root: HostRoot) -> CpuSet:
    """Nodes that are possible and not online: places where memory or CPUs could come; empty where the kernel gives no lists."""
    possible = read_value(root, f"{NODE_DIRECTORY}/possible", parse.id_list)
    online = read_value(root, f"{NODE_DIRECTORY}/online", parse.id_list)
    return EMPTY if possible is None or online is None else possible - online


def read_node_kinds(root: HostRoot) -> dict[int, str]:
    """Node → kind of its memory where a driver put it there: `CXL`, `PMEM`, `SPM` (kmem DAX), `GPU` (NVIDIA)."""
    found: dict[int, str] = {}
    for name in root.names(DAX_DEVICES):
        node = read_value(root, f"{DAX_DEVICES}/{name}/target_node", parse.decimal)
        target = root.link(f"{DAX_DEVICES}/{name}") or ""
        kind = next((kind for sign, kind in _DAX_SIGNS if sign in target), None)
        if node is not None and node >= 0 and kind is not None:
            found[node] = kind
    for address in root.names(NVIDIA_GPUS):
        node = own_node(root, address)
        if node is not None:
            found[node] = "GPU"
    return found


def own_node(root: HostRoot, address: str) -> int | None:
    """The node that the memory of an NVIDIA GPU is (Grace, POWER9), by `numa_status` of its driver; None where it is none."""
    status = root.read_if_there(f"{NVIDIA_GPUS}/{address}/numa_status", 4096) or b""
    for line in status.split(b"\0", 1)[0].splitlines():
        key, _, value = line.partition(b":")
        node = parse.decimal(value)
        if key.strip() == b"Node" and node is not None and node >= 0:
            return node
    return None
