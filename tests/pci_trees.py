"""PCI devices made by hand, laid out as the kernel lays them out."""

from __future__ import annotations

from pathlib import Path


def add(root: Path, address: str, above: str = "pci0000:00", **files: str) -> None:
    """An Ascend NPU unless `files` say otherwise: a directory below its bridges, and a link from the bus."""
    _write(root / "sys/devices" / above / address, files)
    bus = root / "sys/bus/pci/devices"
    bus.mkdir(parents=True, exist_ok=True)
    (bus / address).symlink_to(f"../../../devices/{above}/{address}")


def add_copy(root: Path, address: str, **files: str) -> None:
    """The same in a copy of /sys that has no links."""
    _write(root / "sys/bus/pci/devices" / address, files)


def _write(directory: Path, files: dict[str, str]) -> None:
    directory.mkdir(parents=True)
    values = {"class": "0x120000", "vendor": "0x19e5", "device": "0xd801", "numa_node": "-1", **files}
    for name, text in values.items():
        (directory / name).write_text(f"{text}\n")
