"""The bundle starts from one file, unpacks itself once into the user's cache, and says in one line why it cannot."""

from __future__ import annotations

import importlib.util
import os
import stat
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parent.parent.parent / "tools" / "bundle.py"
CLI = b"import os, sys\ndef main():\n    print(os.path.abspath(__file__), *sys.argv[1:])\n    raise SystemExit(3)\n"
HERE = os.uname().machine


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    found = importlib.util.spec_from_file_location("bundle", TOOL)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    if ".".join(map(str, sys.version_info[:2])) not in module.PYTHONS:
        pytest.skip("the bundle is not made for the Python that runs this test")
    return module


def make(tool: ModuleType, directory: Path, cli: bytes = CLI, architecture: str = HERE) -> Path:
    made = directory / "numascope.pyz"
    files = {"common/numascope/__init__.py": b"", "common/numascope/cli.py": cli}
    tool.write(made, files, "9.9", architecture)
    return made


def start(made: Path, cache: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, str(made), *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    said, complained = process.communicate(timeout=60)
    return process.returncode, said, complained


def test_it_runs_from_the_cache_with_its_arguments_and_exit_status(tool: ModuleType, tmp_path: Path) -> None:
    status, said, _ = finish(start(make(tool, tmp_path), tmp_path / "cache", "topo", "--json"))
    place, *arguments = said.split()
    assert (status, arguments) == (3, ["topo", "--json"])
    assert Path(place).is_relative_to(tmp_path / "cache" / "numascope")


def test_its_directory_is_private_and_whole(tool: ModuleType, tmp_path: Path) -> None:
    finish(start(make(tool, tmp_path), tmp_path / "cache"))
    root = tmp_path / "cache" / "numascope"
    (home,) = root.iterdir()
    assert home.name.startswith("9.9-")
    assert [stat.S_IMODE(one.stat().st_mode) for one in (root, home)] == [0o700, 0o700]


def test_four_first_runs_at_once_leave_one_directory(tool: ModuleType, tmp_path: Path) -> None:
    made = make(tool, tmp_path)
    ended = [finish(one) for one in [start(made, tmp_path / "cache") for _ in range(4)]]
    assert {status for status, _, _ in ended} == {3}
    assert len(list((tmp_path / "cache" / "numascope").iterdir())) == 1


def test_other_contents_unpack_to_another_place(tool: ModuleType, tmp_path: Path) -> None:
    finish(start(make(tool, tmp_path), tmp_path / "cache"))
    finish(start(make(tool, tmp_path, CLI + b"# newer\n"), tmp_path / "cache"))
    assert len(list((tmp_path / "cache" / "numascope").iterdir())) == 2


def test_a_cache_that_others_can_write_to_is_not_used(tool: ModuleType, tmp_path: Path) -> None:
    root = tmp_path / "cache" / "numascope"
    root.mkdir(parents=True)
    root.chmod(0o777)
    status, said, _ = finish(start(make(tool, tmp_path), tmp_path / "cache"))
    assert status == 3
    assert not Path(said.split()[0]).is_relative_to(root)
    assert not Path(said.split()[0]).exists()
    assert list(root.iterdir()) == []


def test_without_a_cache_it_runs_from_a_directory_that_goes_away(tool: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a directory should be")
    status, said, _ = finish(start(make(tool, tmp_path), tmp_path / "cache"))
    assert status == 3
    assert not Path(said.split()[0]).exists()


def test_another_architecture_is_told_in_one_line(tool: ModuleType, tmp_path: Path) -> None:
    status, _, complained = finish(start(make(tool, tmp_path, architecture="vax"), tmp_path / "cache"))
    assert status == 2
    assert complained == f"numascope: this file is for vax, this machine is {HERE}: make the bundle for it\n"


def test_the_same_files_give_the_same_bytes(tool: ModuleType, tmp_path: Path) -> None:
    first = make(tool, tmp_path).read_bytes()
    assert make(tool, tmp_path).read_bytes() == first
