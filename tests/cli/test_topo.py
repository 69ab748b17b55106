"""`numascope topo` as users call it: ways in, ways out, and what is refused with one clear line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from captures import MACHINES
from processes import OWN_CPUS, program

TWO_SOCKETS = str(MACHINES / "qemu-two-socket" / "host.tar.gz")
CHIPLETS = str(MACHINES / "qemu-chiplets" / "host.tar.gz")
WORDS = "package:2 node:2 l3:2 core:4 pu:2"


def topo(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "numascope", "topo", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def told(*arguments: str) -> str:
    done = topo(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def refusal(*arguments: str) -> str:
    done = topo(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    line = done.stderr.strip().splitlines()[-1]
    return line.removeprefix("numascope: ").removeprefix("Error: ")


def test_the_ways_in_tell_the_machine_that_they_name() -> None:
    assert "2 packages, 4 nodes, 32 cores, 64 CPUs" in told("--synthetic", WORDS).replace("\n ", "")
    assert told("--capture", TWO_SOCKETS).startswith("x86_64, ")


def test_xml_that_was_written_is_read_back_as_the_same_machine(tmp_path: Path) -> None:
    path = tmp_path / "machine.xml"
    path.write_text(told("--capture", TWO_SOCKETS, "--format", "xml"))
    one, other = (
        json.loads(told(*way, "--json"))["machine"] for way in (("--capture", TWO_SOCKETS), ("--xml", str(path)))
    )
    assert one["packages"] == other["packages"]
    assert [core["cpus"] for core in one["cores"]] == [core["cpus"] for core in other["cores"]]


@pytest.mark.parametrize(
    ("wanted", "sign"),
    [
        ("tree", "└─ node"),
        ("boxes", "┌"),
        ("table", "CPU "),
        ("json", '"schema": "numascope.topo/1"'),
        ("svg", "<svg"),
        ("md", "| "),
        ("xml", "<topology"),
    ],
)
def test_each_format_has_its_look(wanted: str, sign: str) -> None:
    assert sign in told("--capture", CHIPLETS, "--format", wanted)


def test_words_are_written_of_a_regular_machine_and_refused_of_another() -> None:
    assert "Core:4" in told("--synthetic", WORDS, "-f", "synthetic")
    assert topo("--capture", CHIPLETS, "-f", "synthetic").returncode == 2


def test_a_part_of_the_machine_is_shown_alone() -> None:
    document = json.loads(told("--synthetic", WORDS, "--node", "1,3", "--json"))
    assert [node["id"] for node in document["machine"]["nodes"]] == [1, 3]


def test_objects_of_one_kind_are_a_table() -> None:
    lines = told("--synthetic", WORDS, "--only", "l3").splitlines()
    assert sum("0-7" in line or line.lstrip().startswith("0-") for line in lines) == 1
    assert len(lines) >= 9


@pytest.mark.live
def test_around_a_process_are_the_nodes_that_it_may_use() -> None:
    code = f"os.sched_setaffinity(0, {{{OWN_CPUS[0]}}}); ready(); sleep()"
    with program(code) as child:
        assert "node" in told("--around", str(child.pid))
        assert topo("--around", "4194300").returncode == 4


def test_an_object_is_explained_by_its_files() -> None:
    text = told("--capture", TWO_SOCKETS, "--explain", "cpu3")
    assert text.startswith("cpu3: core of CPUs")
    assert "/sys/devices/system/cpu/cpu3/topology" in text


def test_what_differs_ends_1_and_nothing_ends_0() -> None:
    same = topo("--capture", TWO_SOCKETS, "--diff", TWO_SOCKETS)
    other = topo("--capture", TWO_SOCKETS, "--diff", CHIPLETS)
    document = json.loads(topo("--capture", TWO_SOCKETS, "--diff", CHIPLETS, "--json").stdout)
    assert (same.returncode, same.stdout) == (0, "nothing differs\n")
    assert other.returncode == 1
    assert "~ machine: online CPUs" in other.stdout
    assert document["schema"] == "numascope.topo-diff/1"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--root", "/", "--xml", "x.xml"], "--root and --xml name two machines: give one of them"),
        (["--inside", "sys"], "--inside chooses a machine of an archive: give the archive with --capture"),
        (["--boxes", "--json"], "boxes and json: one format at a time"),
        (["--synthetic", WORDS, "--node", "4"], "--node 4: this machine has nodes 0-3"),
        (["--synthetic", WORDS, "--node", "x"], "--node 'x'"),
        (["--synthetic", WORDS, "--explain", "cpu0"], "--explain shows the kernel's files"),
        (["--synthetic", WORDS, "--around", "1"], "--around looks at a process of this host"),
        (["--capture", "/nowhere.tar"], "/nowhere.tar: "),
        (["--xml", "/nowhere.xml"], "/nowhere.xml: there is no such file: give the path of a hwloc XML"),
        (["--synthetic", "package:two"], "synthetic:"),
        (["--capture", CHIPLETS, "--diff", "/nowhere"], "/nowhere: "),
        (["--links-from", "/nowhere"], "/nowhere: there is no such file"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line_that_says_what_to_do(arguments: list[str], problem: str) -> None:
    assert refusal(*arguments).startswith(problem)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--only", "core", "--json"], "--only and --json: --only is a table, leave --json or --only out"),
        (["--only", "node", "--boxes"], "--only and --boxes: "),
        (["--links", "--node", "0"], "--links and --node: --links is of the whole machine, leave --node out"),
        (["--links", "--boxes"], "--links and --boxes: --links prints a text of its own or --json, leave "),
        (["--links-from", "x", "-f", "md"], "--links-from and --format md: "),
        (["--links", "--only", "pu"], "--links and --only show two things: give one of them"),
        (["--diff", "x", "--node", "0"], "--diff and --node: "),
        (["--diff", "x", "--around", "1"], "--diff and --around: "),
        (["--diff", "x", "--boxes"], "--diff and --boxes: "),
        (["--diff", "x", "--explain", "d0"], "--diff and --explain show two things"),
        (["--explain", "d0", "--node", "0"], "--explain and --node: "),
        (["--explain", "d0", "--around", "1"], "--explain and --around: "),
        (["--explain", "d0", "--json"], "--explain and --json: --explain prints a text of its own, leave --json or "),
        (["--theme", "dark"], "--theme: --theme is for --format svg alone, add --format svg or leave --theme out"),
        (["--theme", "light", "--json"], "--theme and --json: --theme is for --format svg alone, leave --theme out"),
        (["--expand", "-f", "svg"], "--expand and --format svg: --expand is for --format boxes alone"),
        (["--expand", "--links"], "--expand and --links: "),
        (["--around", "1", "--node", "0"], "--node and --around both choose nodes: give one of them"),
    ],
)
def test_an_option_that_would_be_left_unheeded_is_refused_with_the_one_that_it_is_against(
    arguments: list[str], problem: str
) -> None:
    assert refusal("--synthetic", WORDS, *arguments).startswith(problem)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--only", "core", "-f", "table"],
        ["--only", "core", "--node", "1"],
        ["--links", "--json"],
        ["--theme", "dark", "-f", "svg", "--node", "0"],
        ["--expand", "--boxes"],
    ],
)
def test_options_that_have_a_sense_together_are_obeyed(arguments: list[str]) -> None:
    assert told("--synthetic", WORDS, *arguments)


def test_the_picture_and_the_tree_can_be_ascii() -> None:
    for wanted in ("tree", "boxes"):
        assert told("--synthetic", WORDS, "--format", wanted, "--ascii").isascii()


@pytest.mark.parametrize("width", [40, 80, 200])
def test_nothing_is_wider_than_asked(width: int) -> None:
    for wanted in ("tree", "boxes"):
        text = told("--synthetic", "package:2 node:4 l3:4 core:8 pu:2", "--format", wanted, "--width", str(width))
        assert max(map(len, text.splitlines())) <= width


def test_a_pipe_that_closes_early_is_no_error() -> None:
    command = f"{sys.executable} -m numascope topo --synthetic '{WORDS}' --json | head -1"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False, env=os.environ)
    assert (done.stdout, done.stderr) == ("{\n", "")
