"""Pack what a topology reader reads of /sys and /proc into a tar.gz: `capture.py TARGET`, on any Linux, emulated or real."""

from __future__ import annotations

import io
import os
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_PATTERNS: Final = (
    "proc/cpuinfo",
    "proc/meminfo",
    "proc/stat",
    "proc/version",
    "proc/cmdline",
    "proc/interrupts",
    "proc/sys/kernel/numa_balancing",
    "sys/bus/pci/devices/*",
    "sys/bus/pci/devices/*/numa_node",
    "sys/bus/pci/devices/*/local_cpulist",
    "sys/bus/pci/devices/*/vendor",
    "sys/bus/pci/devices/*/device",
    "sys/bus/pci/devices/*/class",
    "sys/bus/pci/devices/*/driver",
    "sys/class/net/*",
    "sys/class/nvme/*",
    "sys/block/*",
    "sys/class/dmi/id",
    "sys/class/dmi/id/*_name",
    "sys/fs/cgroup/cgroup.controllers",
    "sys/fs/cgroup/cpuset.*.effective",
    "sys/kernel/mm/transparent_hugepage/enabled",
)
_TREES: Final = ("sys/devices/system/cpu", "sys/devices/system/node", "sys/devices/virtual/memory_tiering")


def _paths() -> Iterator[Path]:
    """Each file under its real folder, and the links that lead there."""
    root = Path("/")
    for pattern in _PATTERNS:
        yield from (path.parent.resolve() / path.name for path in root.glob(pattern))
    for tree in _TREES:
        for folder, subfolders, files in os.walk(root / tree):
            if "power" in subfolders:
                subfolders.remove("power")
            yield from (Path(folder, name) for name in (*subfolders, *files))


def pack(target: str) -> None:
    """Writes the archive; paths are kept without the leading slash, and what cannot be read is left out."""
    with tarfile.open(target, "w:gz") as archive:
        for path in sorted(set(_paths())):
            entry = tarfile.TarInfo(str(path).lstrip("/"))
            content = b""
            try:
                if path.is_symlink():
                    entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(path)
                elif path.is_dir():
                    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                else:
                    content = path.read_bytes()  # sysfs misstates sizes
            except OSError:  # write-only, or not implemented by this kernel
                continue
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


if __name__ == "__main__":
    pack(sys.argv[1])
