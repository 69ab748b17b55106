"""A server of 192 CPUs, 8 nodes and 8 NPUs as the files of its /sys and /proc, made by hand; as a script it writes the archive."""

from __future__ import annotations

import gzip
import io
import sys
import tarfile
from collections.abc import Iterator

NODES = 8
PER_NODE = 24
CPUS = NODES * PER_NODE
PER_PACKAGE = 48
NEAR = (6, 6, 4, 4, 2, 2, 0, 0)
"""Device → the node that it is near, as such servers have it."""

_GIB_KIB = 1 << 20
_FREE_GIB = (182, 183, 142, 181, 181, 183, 182, 182)


def device_address(device: int) -> str:
    return f"0000:{('01', '02', '41', '42', '81', '82', 'c1', 'c2')[device]}:00.0"


def irq_of(device: int) -> int:
    return 100 + device


def files() -> Iterator[tuple[str, str]]:
    """Path → text of everything that numascope reads of it."""
    everybody = f"0-{CPUS - 1}\n"
    system = "sys/devices/system"
    for name in ("possible", "present", "online"):
        yield f"{system}/cpu/{name}", everybody
    yield f"{system}/cpu/isolated", "\n"
    yield "proc/sys/kernel/arch", "aarch64\n"
    yield "proc/self/cgroup", "4:cpuset:/\n"
    yield "proc/self/mountinfo", "30 25 0:26 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    for name in ("cpus", "effective_cpus"):
        yield f"sys/fs/cgroup/cpuset/cpuset.{name}", everybody
    for name in ("mems", "effective_mems"):
        yield f"sys/fs/cgroup/cpuset/cpuset.{name}", f"0-{NODES - 1}\n"
    for cpu in range(CPUS):
        yield from _cpu_files(f"{system}/cpu/cpu{cpu}", cpu)
    yield f"{system}/node/online", f"0-{NODES - 1}\n"
    yield f"{system}/node/possible", f"0-{NODES - 1}\n"
    for node in range(NODES):
        yield from _node_files(f"{system}/node/node{node}", node)
    for device, node in enumerate(NEAR):
        yield from _device_files(f"sys/bus/pci/devices/{device_address(device)}", device, node)


def _cpu_files(directory: str, cpu: int) -> Iterator[tuple[str, str]]:
    package, node = cpu // PER_PACKAGE, cpu // PER_NODE
    yield f"{directory}/topology/physical_package_id", f"{package}\n"
    yield f"{directory}/topology/core_id", f"{cpu}\n"
    yield f"{directory}/topology/thread_siblings_list", f"{cpu}\n"
    yield (
        f"{directory}/topology/core_siblings_list",
        f"{package * PER_PACKAGE}-{package * PER_PACKAGE + PER_PACKAGE - 1}\n",
    )
    for at, (level, kind, size) in enumerate(((1, "Data", "64K"), (2, "Unified", "512K"), (3, "Unified", "24576K"))):
        index = f"{directory}/cache/index{at}"
        yield f"{index}/level", f"{level}\n"
        yield f"{index}/type", f"{kind}\n"
        yield f"{index}/size", f"{size}\n"
        yield f"{index}/shared_cpu_list", f"{_node_cpus(node) if level == 3 else cpu}\n"


def _node_files(directory: str, node: int) -> Iterator[tuple[str, str]]:
    distances = (10 if other == node else 12 if other // 2 == node // 2 else 24 for other in range(NODES))
    yield f"{directory}/cpulist", f"{_node_cpus(node)}\n"
    yield f"{directory}/distance", " ".join(map(str, distances)) + "\n"
    sizes = (("MemTotal", 256), ("MemFree", _FREE_GIB[node]), ("FilePages", 20))
    yield f"{directory}/meminfo", "".join(f"Node {node} {name}: {gib * _GIB_KIB} kB\n" for name, gib in sizes)


def _device_files(directory: str, device: int, node: int) -> Iterator[tuple[str, str]]:
    yield f"{directory}/class", "0x120000\n"
    yield f"{directory}/vendor", "0x19e5\n"
    yield f"{directory}/device", "0xd802\n"
    yield f"{directory}/numa_node", f"{node}\n"
    yield f"{directory}/local_cpulist", f"{_node_cpus(node)}\n"
    yield f"{directory}/msi_irqs/{irq_of(device)}", "msix\n"
    yield f"proc/irq/{irq_of(device)}/effective_affinity_list", f"{node * PER_NODE}\n"


def _node_cpus(node: int) -> str:
    return f"{node * PER_NODE}-{node * PER_NODE + PER_NODE - 1}"


def archive() -> bytes:
    """The files as a tar.gz, the same bytes whenever it is made."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, filename="") as zipped,
        tarfile.open(fileobj=zipped, mode="w") as tar,
    ):
        for path, text in sorted(files()):
            member = tarfile.TarInfo(path)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()


if __name__ == "__main__":
    sys.stdout.buffer.write(archive())
