"""The kernel's own confined walk and ours, for kernels without one, come to the same file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from numascope.host.confined import open_below, walk_below

PATHS = (
    "sys/value", "/sys/value", "sys/../sys/value", "../../sys/value", "up", "absolute", "through/value", "loop", "nowhere",
    "sys/value/more", "sys", "fifo", "out", "",
)  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "sys").mkdir(parents=True)
    (folder / "sys/value").write_text("inside")
    (tmp_path / "secret").write_text("outside")
    for name, target in (
        ("up", "../../../../sys/value"),
        ("absolute", "/sys/value"),
        ("through", "/sys"),
        ("loop", "loop"),
        ("out", str(tmp_path / "secret")),
    ):
        (folder / name).symlink_to(target)
    os.mkfifo(folder / "fifo")
    return folder


def inode(descriptor: int) -> int:
    try:
        return os.fstat(descriptor).st_ino
    finally:
        os.close(descriptor)


def by_hand(root: int, path: str) -> int | str:
    try:
        return inode(walk_below(root, path))
    except OSError as error:
        return error.strerror or ""


def by_kernel(root: int, path: str, *, directory: bool) -> int | str:
    try:
        return inode(open_below(root, path, directory=directory))
    except OSError as error:
        return error.strerror or ""


@pytest.mark.parametrize("path", PATHS)
def test_both_find_the_same(root: Path, path: str) -> None:
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    walked = by_hand(descriptor, path)
    opened = by_kernel(descriptor, path, directory=path in ("sys", ""))
    os.close(descriptor)
    if path == "fifo":
        assert opened == "not a regular file"
    else:
        assert opened == walked


def test_a_file_is_not_opened_as_a_directory_nor_the_other_way(root: Path) -> None:
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    assert by_kernel(descriptor, "sys", directory=False) == "not a regular file"
    assert by_kernel(descriptor, "sys/value", directory=True) == "Not a directory"
    os.close(descriptor)
