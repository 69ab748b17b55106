"""The rules of the house that no tool knows."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = REPOSITORY / "numascope"
MOST_LINES = 300
KERNEL_PATH = re.compile(r"/(?:proc|sys)(?:/\S*)?")
"""A text that is a path below /proc or /sys and nothing else; a sentence that names one for the user is another thing."""

PLACE_OF_WORK = re.compile(rb"(?<![\w.}/-])/(?:wor" + rb"k|roo" + rb"t)/")
"""A path of the machine that numascope is developed on."""


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def texts_in(tree: ast.Module) -> Iterator[ast.Constant]:
    """Every string in the code but docstrings; of an f-string its constant pieces."""
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node


@pytest.mark.parametrize("module", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_has_at_most_300_lines(module: Path) -> None:
    lines = module.read_bytes().count(b"\n")
    assert lines <= MOST_LINES


def test_only_host_has_absolute_paths_of_proc_and_sys() -> None:
    found = [
        f"{module.relative_to(REPOSITORY)}:{text.lineno}: {text.value!r}"
        for module in modules()
        if PACKAGE / "host" not in module.parents
        for text in texts_in(ast.parse(module.read_bytes()))
        if KERNEL_PATH.fullmatch(str(text.value))
    ]
    assert found == []


def test_no_tracked_file_has_a_path_of_the_machine_that_it_was_written_on() -> None:
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout, or no git to ask")
    names = [name for name in listed.decode().split("\0") if name]
    assert names
    files = [REPOSITORY / name for name in names]
    found = [
        str(file.relative_to(REPOSITORY))
        for file in files
        if file.is_file() and PLACE_OF_WORK.search(file.read_bytes())
    ]
    assert found == []
