"""PCI addresses, and where a device hangs in the tree of bridges (Documentation/ABI/testing/sysfs-bus-pci)."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from numascope.host.root import HostRoot

PCI_DIRECTORY: Final = "sys/bus/pci/devices"

_ADDRESS = re.compile(r"([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])")
_ROOT_COMPLEX = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
_DEEPEST: Final = 64


class Place(NamedTuple):
    """The bridges above a device and itself, from the root complex down, and the directory of each below the root."""

    path: tuple[str, ...]
    directories: tuple[str, ...]


NOWHERE: Final = Place((), ())


def is_address(name: str) -> bool:
    """Whether it is a PCI address as the kernel writes it: `0000:3b:00.0`, the domain with up to eight digits."""
    return _ADDRESS.fullmatch(name) is not None


def is_root_complex(name: str) -> bool:
    """Whether it is the directory of a host bridge (`pci0000:3a`), or of a domain of its own behind a device (Intel VMD)."""
    return _ROOT_COMPLEX.fullmatch(name) is not None


def address_order(address: str) -> tuple[int, ...]:
    """A PCI address as numbers, for sorting; a domain may have more than four digits."""
    return tuple(int(part, 16) for part in re.split(r"[:.]", address))


def usual_address(written: str) -> str | None:
    """An address as NVIDIA's and Huawei's tools write it (`00000000:3B:00.0`) in the kernel's spelling; None where it is none."""
    lowered = written.strip().lower()
    if not is_address(lowered):
        return None
    domain, _, rest = lowered.partition(":")
    return f"{int(domain, 16):04x}:{rest}"


def place_of(root: HostRoot, address: str) -> Place:
    """Out of where the device's link in /sys/bus/pci/devices points; NOWHERE where a copy of /sys has no links."""
    link = root.link(f"{PCI_DIRECTORY}/{address}")
    parts = [part for part in (link or "").split("/") if part not in ("", ".", "..", "sys")]
    start = next((at for at, part in enumerate(parts) if is_root_complex(part)), None)
    if start is None or parts[0] != "devices" or parts[-1] != address or len(parts) > _DEEPEST:
        return NOWHERE
    if not all(is_address(part) or is_root_complex(part) for part in parts[start:]):
        return NOWHERE
    directories = ("sys/" + "/".join(parts[:end]) for end in range(start + 1, len(parts) + 1))
    return Place(tuple(parts[start:]), tuple(directories))
