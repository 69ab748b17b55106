"""Roots to read from: small copies of /sys written file by file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from numascope.host.root import MOST_BYTES, HostRoot


def root_of(folder: Path, files: Mapping[str, str]) -> HostRoot:
    """A root that holds these files; files that are there already stay."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return HostRoot(str(folder))


def system_root(folder: Path, files: Mapping[str, str]) -> HostRoot:
    """A root whose /sys/devices/system holds these files; files that are there already stay."""
    return root_of(folder, {f"sys/devices/system/{name}": text for name, text in files.items()})


class CountingRoot(HostRoot):
    """A root that notes what is read."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.seen: list[str] = []

    def read(self, path: str, limit: int = MOST_BYTES) -> bytes:
        """As any root."""
        self.seen.append(path)
        return super().read(path, limit)
