"""Accelerators held open are told by the names of device files, and by no others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from numascope.host.opened import device_files
from numascope.host.root import HostRoot


def copied(root: Path, *targets: str) -> HostRoot:
    folder = root / "proc/7/fd"
    folder.mkdir(parents=True)
    for number, target in enumerate(targets):
        (folder / str(number)).symlink_to(target)
    return HostRoot(str(root))


def test_device_files_are_told_once_each(tmp_path: Path) -> None:
    root = copied(
        tmp_path, "/dev/nvidia3", "/dev/nvidia3", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/davinci12", "/dev/davinci_manager",
        "/dev/dri/renderD129", "/dev/dri/card0", "/home/me/dev/nvidia4", "/dev/nvidia5\n", "socket:[1]",
    )  # fmt: skip

    assert device_files(root, 7) == ("davinci12", "nvidia3", "renderD129")


def test_a_process_without_accelerators_holds_none(tmp_path: Path) -> None:
    assert device_files(copied(tmp_path, "/dev/null"), 7) == ()


def test_descriptors_that_may_not_be_listed_are_unknown(tmp_path: Path) -> None:
    assert device_files(HostRoot(str(tmp_path)), 7) is None


@pytest.mark.live
def test_ones_own_descriptors_can_be_listed() -> None:
    assert device_files(HostRoot(), os.getpid()) is not None
