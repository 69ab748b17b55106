"""The accelerators that a process holds open: names of device files behind its descriptors, nothing else of them is kept."""

from __future__ import annotations

import os
import re
from itertools import islice
from typing import Final

from numascope.host.root import HostRoot

_MOST_DESCRIPTORS: Final = 16_384
"""A rank with many sockets holds some thousand; the device files are among the first that it opens."""

_DEVICE: Final = re.compile(r"/dev/(?:dri/)?((?:nvidia|davinci|renderD)[0-9]{1,4})")
"""NVIDIA's driver names GPUs by minor number, Ascend's NPUs by physical id, DRM render nodes from 128 on (drivers/gpu/drm)."""


def device_files(root: HostRoot, pid: int | str, most: int = _MOST_DESCRIPTORS) -> tuple[str, ...] | None:
    """`nvidia0`, `davinci3`, `renderD128` … that a process holds open, sorted; None where its descriptors may not be listed.

    Of its descriptors the lowest `most` are looked at.
    """
    try:
        folder = os.open(os.path.join(root.path, f"proc/{pid}/fd"), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    found: set[str] = set()
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, most):
                try:
                    device = _DEVICE.fullmatch(os.readlink(entry.name, dir_fd=folder))
                except OSError:  # closed since, or no link
                    continue
                if device is not None:
                    found.add(device[1])
    except OSError:
        return None
    finally:
        os.close(folder)
    return tuple(sorted(found))
