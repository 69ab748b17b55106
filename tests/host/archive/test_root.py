"""A machine is read from an archive as from the directory that it would unpack to."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from archives import CPU, PACKERS, file, machine, special, symlink, tar, written
from captures import expected

from numascope.errors import InputError
from numascope.host.archive.root import ArchiveRoot, open_archive
from numascope.host.root import AbsentError, DeniedError, HostRoot
from numascope.machine.build import build_machine


@pytest.mark.parametrize("name", expected())
def test_every_capture_of_the_store_is_the_same_machine_packed_and_unpacked(
    name: str, shared: Path, stored_root: Callable[[str], Path]
) -> None:
    entry = expected()[name]
    packed = open_archive(str(shared / "captures" / entry["archive"]), entry["root"] if ":" in name else None)
    unpacked = HostRoot(str(stored_root(name)))
    from_archive, from_directory = build_machine(packed), build_machine(unpacked)
    assert from_archive._replace(source="") == from_directory._replace(source="")
    assert from_archive.source.partition(":")[0].endswith(entry["archive"])


def test_several_machines_in_one_archive_are_listed_to_choose_from(shared: Path) -> None:
    archive = str(shared / "captures" / "nri-sysfs.tar.bz2")
    with pytest.raises(InputError, match="several machines: choose one with --inside DIR, out of sysfs/") as refusal:
        open_archive(archive)
    assert all(name in str(refusal.value) for name in ("sysfs/desktop", "sysfs/server", "sysfs/4-socket-server-nosnc"))
    assert len(build_machine(open_archive(archive, "desktop")).cpus.online) == 20
    with pytest.raises(InputError, match="no machine in laptop: it has sysfs/"):
        open_archive(archive, "laptop")


@pytest.fixture
def root(tmp_path: Path) -> ArchiveRoot:
    """A small machine below two directories, with links of every kind."""
    return open_archive(
        written(
            tmp_path,
            tar(
                machine(
                    file("report/host/sys/kernel/value", b"inside"),
                    file("report/outside", b"outside"),
                    symlink("report/host/relative", "sys/kernel/value"),
                    symlink("report/host/absolute", "/sys/kernel"),
                    symlink("report/host/sys/deep", "../../../../sys/kernel/value"),
                    symlink("report/host/escape", "../outside"),
                    symlink("report/host/a", "b"),
                    symlink("report/host/b", "./a"),
                    special("report/host/hard", tarfile.LNKTYPE, "report/host/sys/kernel/value"),
                    special("report/host/too-hard", tarfile.LNKTYPE, "/etc/passwd"),
                    at="report/host/",
                )
            ),
        )
    )


def test_links_are_resolved_inside_the_machines_directory(root: ArchiveRoot) -> None:
    for path in ("relative", "absolute/value", "sys/deep", "hard", "/sys/./kernel/../kernel//value", "../../relative"):
        assert root.read(path) == b"inside", path
    for path in ("escape", "too-hard", "../outside", "sys/kernel/value/more", "sys/kernel/value/.."):
        with pytest.raises(AbsentError):
            root.read(path)


def test_links_in_a_loop_end(root: ArchiveRoot) -> None:
    with pytest.raises(DeniedError, match="symbolic links"):
        root.read("a")
    assert root.names("a") == []


def test_it_answers_as_a_directory_does(root: ArchiveRoot) -> None:
    assert root.is_live is False
    assert root.read("sys/kernel/value", limit=3) == b"ins"
    assert root.read_if_there("sys/kernel") is None
    assert root.names("absolute") == ["value"]
    assert root.names("sys/kernel/value") == root.names("nowhere") == []
    assert root.names(CPU) == ["cpu0", "cpu1", "online"]
    assert root.link("absolute") == "/sys/kernel"
    assert root.link("sys/kernel/value") is None
    with pytest.raises(DeniedError, match="not a regular file"):
        root.read("sys/kernel")
    with pytest.raises(DeniedError):
        root.read_as("sys/kernel/value", 0, 100)
    root.close()
    assert root.read_if_there("sys/kernel/value") is None


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_content_tells_how_it_is_packed_and_long_names_are_read_in_every_format(
    packer: str, form: int, tmp_path: Path
) -> None:
    directory = "/".join(["a-long-name-of-a-directory"] * 5)
    members = machine(symlink("here", f"{directory}/sys"), at=f"{directory}/") if form else machine(at=f"{directory}/")
    opened = open_archive(written(tmp_path, PACKERS[packer](tar(members, form)), "named.wrongly"))
    assert len(build_machine(opened).cpus.online) == 2


def test_the_last_of_several_members_of_one_name_counts_and_a_directory_stays_one(tmp_path: Path) -> None:
    opened = open_archive(
        written(
            tmp_path,
            tar(
                machine(
                    file(f"{CPU}/online", b"0\n"),
                    file(CPU, b"not a directory"),
                    file(f"{CPU}/online/below", b"a file"),
                    symlink("sys/devices/elsewhere", "system"),
                    file("sys/devices/elsewhere/through-a-link", b"never"),
                )
            ),
        )
    )
    assert opened.read(f"{CPU}/online") == b"0\n"
    assert opened.names("sys/devices/elsewhere") == ["cpu"]


def test_a_name_that_needs_not_be_chosen_stays_out_of_the_source(tmp_path: Path) -> None:
    one = written(tmp_path, tar(machine(at="only/")))
    two = written(tmp_path, tar([*machine(at="first/"), *machine(at="second/")]), "two.tar")
    assert open_archive(one).path == one
    assert open_archive(two, "second").path == f"{two}:second"
