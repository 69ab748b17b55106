"""`numascope capture` as users call it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from numascope.cli.capture import capture
from numascope.errors import InputError, UsageError
from numascope.host.archive.root import open_archive
from numascope.machine.build import build_machine


def run(*arguments: str) -> Result:
    return CliRunner().invoke(capture, arguments)


@pytest.mark.live
def test_it_says_what_it_wrote_and_what_it_left_out(tmp_path: Path) -> None:
    path = str(tmp_path / "this machine.tar.gz")
    done = run("-o", path)
    assert done.exit_code == 0, done.output
    written, left_out, *_, look = done.output.splitlines()
    assert written.startswith(f"wrote {path}: ")
    assert written.endswith(" KiB")
    assert left_out == (
        "left out: host name, serial numbers, MAC addresses, UUIDs, names of users, jobs and pods, command lines, environment"
    )
    assert look == f"look inside: tar tzf '{path}'"
    assert build_machine(open_archive(path)).cpus.online


def test_without_a_name_it_is_named_by_what_the_machine_is(
    stored_root: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("--root", str(stored_root("lscpu-s390-lpar-drawer")))
    assert done.exit_code == 0, done.output
    assert os.listdir(tmp_path) == ["numascope-capture-s390x-8cpus.tar.gz"]


def test_it_never_writes_over_a_file(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine")
    done = run("-o", str(taken))
    assert isinstance(done.exception, InputError)
    assert str(done.exception) == f"{taken}: is there already: give another name with -o FILE"
    assert taken.read_text() == "mine"
    assert isinstance(run("-o", "-").exception, UsageError)


def test_a_root_without_a_machine_is_one_clear_error(tmp_path: Path) -> None:
    done = run("--root", str(tmp_path), "-o", str(tmp_path / "capture"))
    assert isinstance(done.exception, InputError)
    assert "no machine to capture" in str(done.exception)
    assert os.listdir(tmp_path) == []


def test_files_that_may_not_be_read_are_counted_and_some_are_named(tmp_path: Path) -> None:
    cpus = tmp_path / "root/sys/devices/system/cpu"
    for number in range(5):
        (cpus / f"cpu{number}").mkdir(parents=True)
        os.mkfifo(cpus / f"cpu{number}/online")
    done = run("--root", str(tmp_path / "root"), "-o", str(tmp_path / "capture"))
    assert (
        "left out: 5 files that this user or this kernel does not give (/sys/devices/system/cpu/cpu0/online, "
        in done.output
    )
    assert "cpu2/online, …)" in done.output


@pytest.mark.parametrize(("option", "given"), [("-o", "-o"), ("-o", "--output"), ("--root", "--root")])
def test_an_empty_value_is_refused_by_the_name_of_its_option(option: str, given: str) -> None:
    done = run(given, "")
    assert isinstance(done.exception, UsageError)
    assert str(done.exception) == f"{option}: its value is empty: give one, or leave {option} out"
