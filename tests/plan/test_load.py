from __future__ import annotations

import os
from pathlib import Path

import pytest
from plans import loaded

from numascope.errors import InputError
from numascope.plan.json_reader import LARGEST_FILE_BYTES
from numascope.plan.load import parse_plan

DIALECTS = (
    'numascope reads MindSpore\'s unified bind JSON (an object with "bind_config", "bind_cpu" and "bind_memory"), '
    "and the dialects that --dialect lists"
)


def refusal(path: Path | str) -> str:
    with pytest.raises(InputError) as caught:
        loaded(str(path))
    return str(caught.value)


def test_any_name_of_a_file_will_do(tmp_path: Path) -> None:
    path = tmp_path / "plan.txt"
    path.write_text('{"bind_config": {}}')
    plan = loaded(str(path))
    assert (plan.path, plan.dialect) == (str(path), "mindspore")


def test_the_path_is_made_safe_before_it_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[2J.json"
    path.write_text('{"bind_config": {}}')
    assert loaded(str(path)).path == f"{tmp_path}/a\\x1b[2J.json"


def test_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    assert refusal(path) == f"{path}: there is no such file: give the path of a bind plan"


def test_a_path_that_cannot_be() -> None:
    assert refusal("a\0b") == "a\\x00b: no path has a zero byte in it: give the path of a bind plan"
    assert refusal("x" * 300).endswith(": cannot be read: File name too long")


def test_a_directory(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"{tmp_path}: is a directory: give the path of the bind plan itself"


def test_a_fifo_does_not_hang(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    assert refusal(path) == f"{path}: is no regular file: write the bind plan to a file first"


def test_a_device() -> None:
    assert refusal("/dev/zero") == "/dev/zero: is no regular file: write the bind plan to a file first"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_an_unreadable_file(tmp_path: Path) -> None:
    path = tmp_path / "secret.json"
    path.touch(0o000)
    assert refusal(path) == f"{path}: not readable by this user: copy it, or run as its owner"


def test_a_large_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert refusal(path) == f"{path}: is over 4 MiB: no bind plan is that large, is it the right file"


def test_the_largest_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "wide.json"
    path.write_text('{"bind_config": {}}'.ljust(LARGEST_FILE_BYTES))
    assert loaded(str(path)).rules == ()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"numa: 0\n", '1:1: begins with "n", this is no bind plan'),
        (b"\x7fELF", '1:1: begins with "\\x7f", this is no bind plan'),
        (b"[1]", "1:1: the file holds a list"),
        (b'"cpu"', '1:1: the file holds "cpu"'),
        (b"{}", '1:1: this object has none of the keys "bind_config", "bind_cpu", "bind_memory"'),
        (
            b'\n{"device0": ["0-1"]}',
            "2:1: this is the short form of msrun's command line: write it as msrun --bind_core='…' or --bind_numa='…'",
        ),
    ],
)
def test_what_is_no_plan_is_told_what_is_read(data: bytes, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_plan("x", data)
    assert str(caught.value) == f"x:{problem}: {DIALECTS}"


def test_a_plan_with_a_mistake_in_its_json_is_still_read_as_json() -> None:
    with pytest.raises(InputError, match=r"^x:2:1: found the end of the file"):
        parse_plan("x", b'{"bind_config":\n')
    with pytest.raises(InputError, match=r"^x:1:1: the file is empty"):
        parse_plan("x", b"")
