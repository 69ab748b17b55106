"""Copies of /sys for machines that are larger than this one, as a kernel of today would write them."""

from __future__ import annotations

from pathlib import Path

from numascope.cpuset import CpuSet
from numascope.machine.synthetic.machine import synthetic_machine

_CACHES = (
    (0, 1, "Data", "48K"),
    (1, 1, "Instruction", "32K"),
    (2, 2, "Unified", "2048K"),
    (3, 3, "Unified", "32768K"),
)


def write_tree(folder: Path, words: str) -> None:
    """Writes the files that numascope and lstopo read of such a machine; every core has an L1 and an L2."""
    machine = synthetic_machine(words)
    cpus = folder / "sys/devices/system/cpu"
    online = str(machine.cpus.online)
    for name in ("possible", "present", "online"):
        _write(cpus / name, online)
    _write(cpus / "isolated", "")
    package_of = {cpu: package for package in machine.packages for cpu in package.cpus}
    l3_of = {cpu: cache.cpus for cache in machine.caches if cache.level == 3 for cpu in cache.cpus}
    for number, core in enumerate(machine.cores):
        for cpu in core.cpus:
            package = package_of[cpu]
            _write_topology(cpus / f"cpu{cpu}/topology", core.cpus, package.cpus, number, package.id)
            for index, level, kind, size in _CACHES:
                _write_cache(
                    cpus / f"cpu{cpu}/cache/index{index}", level, kind, size, core.cpus if level < 3 else l3_of[cpu]
                )
    for node in machine.nodes:
        directory = folder / f"sys/devices/system/node/node{node.id}"
        _write(directory / "cpulist", str(node.cpus))
        _write(directory / "cpumap", node.cpus.mask())
        _write(directory / "distance", " ".join("10" if other.id == node.id else "21" for other in machine.nodes))
        _write(directory / "meminfo", f"Node {node.id} MemTotal: 268435456 kB\nNode {node.id} MemFree: 200000000 kB")
    (folder / "proc").mkdir()
    _write(folder / "proc/cpuinfo", "processor\t: 0\nmodel name\t: Bench\nflags\t\t: fpu lm")


def _write_topology(directory: Path, core: CpuSet, package: CpuSet, core_id: int, package_id: int) -> None:
    for name, cpus in (
        ("core_cpus", core),
        ("thread_siblings", core),
        ("package_cpus", package),
        ("core_siblings", package),
    ):
        _write(directory / name, cpus.mask())
        _write(directory / f"{name}_list", str(cpus))
    _write(directory / "core_id", str(core_id))
    _write(directory / "physical_package_id", str(package_id))


def _write_cache(directory: Path, level: int, kind: str, size: str, cpus: CpuSet) -> None:
    for name, text in (("level", str(level)), ("type", kind), ("size", size), ("shared_cpu_map", cpus.mask())):
        _write(directory / name, text)
    _write(directory / "shared_cpu_list", str(cpus))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")
