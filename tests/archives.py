"""Tar archives made for a test: of a small machine, and of what nobody should send."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

CPU = "sys/devices/system/cpu"

MACHINE: Mapping[str, bytes] = {
    f"{CPU}/online": b"0-1\n",
    f"{CPU}/cpu0/topology/core_id": b"0\n",
    f"{CPU}/cpu0/topology/core_cpus": b"1\n",
    f"{CPU}/cpu1/topology/core_id": b"1\n",
    f"{CPU}/cpu1/topology/core_cpus": b"2\n",
}
"""Two CPUs of a core each."""

PACKERS: Mapping[str, Callable[[bytes], bytes]] = {
    "tar": bytes,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


def file(name: str, data: bytes = b"") -> tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    return entry, data


def special(name: str, kind: bytes, target: str = "") -> tuple[tarfile.TarInfo, bytes]:
    """A link, directory, device or fifo, by tarfile's constants."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return entry, b""


def symlink(name: str, target: str) -> tuple[tarfile.TarInfo, bytes]:
    return special(name, tarfile.SYMTYPE, target)


def tar(members: Sequence[tuple[tarfile.TarInfo, bytes]], form: int = tarfile.GNU_FORMAT) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=form, encoding="utf-8") as archive:
        for entry, data in members:
            archive.addfile(entry, io.BytesIO(data))
    return raw.getvalue()


def machine(*more: tuple[tarfile.TarInfo, bytes], at: str = "") -> list[tuple[tarfile.TarInfo, bytes]]:
    """The members of the small machine below a directory, and more."""
    return [file(f"{at}{name}", data) for name, data in MACHINE.items()] + list(more)


def written(directory: Path, data: bytes, name: str = "one.tar") -> str:
    path = directory / name
    path.write_bytes(data)
    return str(path)
