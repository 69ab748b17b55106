from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from numascope.errors import InputError
from numascope.host.root import AbsentError, DeniedError, HostRoot


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    secret = tmp_path / "secret"
    secret.write_text("outside")
    return secret


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    directory = tmp_path / "root"
    (directory / "sys/kernel").mkdir(parents=True)
    (directory / "sys/kernel/value").write_text("inside")
    return directory


@pytest.fixture
def root(inside: Path) -> Iterator[HostRoot]:
    opened = HostRoot(str(inside))
    yield opened
    opened.close()


def test_a_file_is_read_with_and_without_a_leading_slash(root: HostRoot) -> None:
    assert root.read("sys/kernel/value") == root.read("/sys/kernel/value") == b"inside"


def test_dots_do_not_lead_out(root: HostRoot, outside: Path) -> None:
    with pytest.raises(AbsentError):
        root.read(f"../{outside.name}")
    assert root.read("../../sys/kernel/../kernel/value") == b"inside"


def test_a_relative_link_that_points_out_is_taken_from_the_root(root: HostRoot, inside: Path, outside: Path) -> None:
    (inside / "escape").symlink_to(f"../{outside.name}")
    (inside / "sys/deep").symlink_to("../../../../../../sys/kernel/value")
    with pytest.raises(AbsentError):
        root.read("escape")
    assert root.read("sys/deep") == b"inside"


def test_an_absolute_link_is_taken_from_the_root(root: HostRoot, inside: Path, outside: Path) -> None:
    (inside / "escape").symlink_to(outside)
    (inside / "absolute").symlink_to("/sys/kernel/value")
    (inside / "directory").symlink_to("/sys/kernel")
    with pytest.raises(AbsentError):
        root.read("escape")
    assert root.read("absolute") == root.read("directory/value") == b"inside"
    assert root.names("directory") == ["value"]


def test_links_in_a_loop_end(root: HostRoot, inside: Path) -> None:
    (inside / "a").symlink_to("b")
    (inside / "b").symlink_to("a")
    with pytest.raises(DeniedError):
        root.read("a")


def test_a_fifo_does_not_block(root: HostRoot, inside: Path) -> None:
    os.mkfifo(inside / "fifo")
    with pytest.raises(DeniedError, match="not a regular file"):
        root.read("fifo")


def test_a_directory_is_no_file_and_a_file_is_no_directory(root: HostRoot) -> None:
    assert root.read_if_there("sys/kernel") is None
    assert root.names("sys/kernel/value") == []
    assert root.read_if_there("sys/kernel/value/more") is None


def test_at_most_the_limit_is_read(root: HostRoot) -> None:
    assert root.read("sys/kernel/value", limit=3) == b"ins"


def test_a_link_is_given_as_it_is_written(root: HostRoot, inside: Path) -> None:
    (inside / "sys/link").symlink_to("../../devices/x")
    assert root.link("sys/link") == "../../devices/x"
    assert root.link("sys/kernel") is None


def test_no_descriptor_is_left_open(inside: Path) -> None:
    (inside / "a").symlink_to("a")
    before = len(os.listdir("/proc/self/fd"))
    root = HostRoot(str(inside))
    for path in ("sys/kernel/value", "nowhere/at/all", "a", "sys/kernel", "sys/kernel/value/x"):
        root.read_if_there(path)
        root.names(path)
        root.link(path)
        assert len(os.listdir("/proc/self/fd")) == before + 1, "the root"
    root.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_root_that_is_no_directory_is_one_clear_error(inside: Path) -> None:
    with pytest.raises(InputError, match="Not a directory"):
        HostRoot(str(inside / "sys/kernel/value"))
