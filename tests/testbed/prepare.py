"""What a guest boots from: QEMU installed, and Debian's stock kernel, some of its modules and a busybox in a cache."""

# ruff: noqa: T201  (what a command line says)

from __future__ import annotations

import lzma
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

QEMU: Final = "qemu-system-x86_64"

KERNEL_PACKAGE: Final = "linux-image-amd64"
"""Its "cloud" flavour lacks 9p."""

MODULES: Final = ("virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay", "nvme", "virtio_net")
"""What the guest needs of the kernel; a cache made before a change of these has to be removed."""


class NotPreparedError(Exception):
    """The machine that should run QEMU cannot; the text says why."""


def apt_get(*arguments: str, cwd: Path | None = None) -> None:
    """Runs apt-get without questions; NotPreparedError."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise NotPreparedError("preparing needs Debian 12, root and apt-get")
    done = subprocess.run(
        ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", *arguments],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        raise NotPreparedError(f"apt-get {shlex.join(arguments)} failed:\n{done.stdout.decode(errors='replace')}")


def _unpacked(package: str, folder: Path) -> Path:
    """The files of a Debian package, without installing it."""
    tree = folder / package
    tree.mkdir()
    apt_get("download", package, cwd=tree)
    if subprocess.run(["dpkg", "-x", *tree.glob("*.deb"), tree], check=False).returncode:
        raise NotPreparedError(f"{package} cannot be unpacked: is the disk full?")
    return tree


def _elf_kernel(bzimage: bytes) -> bytes:
    """The kernel inside a bzImage (Documentation/arch/x86/boot.rst): as it is, it need not be unpacked under emulation."""
    offset, length = struct.unpack_from("<II", bzimage, 0x248)
    start = (bzimage[0x1F1] + 1) * 512 + offset
    return lzma.LZMADecompressor().decompress(bzimage[start : start + length])


def _in_load_order(names: Sequence[str], files: Mapping[str, Path], ordered: tuple[Path, ...] = ()) -> tuple[Path, ...]:
    """The files of kernel modules, each after those that it depends on; what is built into the kernel has no file."""
    for name in names:
        path = files.get(name)
        if path is None or path in ordered:
            continue
        found = re.search(rb"\0depends=([^\0]*)", path.read_bytes())
        depends = "" if found is None else found[1].decode().replace("-", "_")
        ordered = (*_in_load_order(depends.split(","), files, ordered), path)
    return ordered


def _kernel_package() -> str:
    """The package that holds the stock kernel's files now; NotPreparedError."""
    about = subprocess.run(["apt-cache", "show", KERNEL_PACKAGE], check=False, capture_output=True, text=True)
    found = re.search(r"^Depends: (linux-image-\S+)", about.stdout, re.MULTILINE)
    if found is None:
        raise NotPreparedError(f"apt-cache does not know {KERNEL_PACKAGE}: the test bed boots Debian's kernel")
    return found[1]


def prepare(cache: Path) -> Path:
    """Installs QEMU and fills the cache, unless both are done; the folder of what a guest boots from. NotPreparedError."""
    guest = cache / "guest"
    if shutil.which(QEMU) and guest.exists():
        return guest
    print("testbed: preparing (once)", file=sys.stderr, flush=True)
    apt_get("update")
    if not shutil.which(QEMU):
        apt_get("install", "-y", "--no-install-recommends", "qemu-system-x86")
    if guest.exists():
        return guest
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as name:
        folder = Path(name)
        fresh = folder / "guest"
        (fresh / "modules").mkdir(parents=True)
        linux = _unpacked(_kernel_package(), folder)
        (fresh / "kernel").write_bytes(_elf_kernel(next(linux.glob("boot/vmlinuz-*")).read_bytes()))
        files = {path.stem.replace("-", "_"): path for path in linux.glob("lib/modules/*/kernel/**/*.ko")}
        for number, path in enumerate(_in_load_order(MODULES, files)):
            path.rename(fresh / "modules" / f"{number:02}-{path.name}")
        (_unpacked("busybox-static", folder) / "bin/busybox").rename(fresh / "busybox")
        if not guest.exists():  # nobody else was faster
            fresh.rename(guest)
    return guest
