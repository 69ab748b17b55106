"""`apply --memory move` as it is typed, on a machine that may have one node: what is refused, what is said, what a dry run ends with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from memory_programs import PLACING
from processes import program

from numascope.cli.standin_process import StandIn
from numascope.host.root import HostRoot
from numascope.host.system.node_memory import read_node_memory
from numascope.observe.facts import scan_facts
from numascope.observe.jobs import find_jobs

pytestmark = pytest.mark.live

HOLD = "\nready(); time.sleep(100_000)"
NODES = [one.node for one in read_node_memory(HostRoot()) if one.total_kib]


class Said(NamedTuple):
    """How a verb ended, and what it printed."""

    code: int
    out: str
    err: str


def move(folder: Path, *words: str) -> Said:
    done = subprocess.run(
        [sys.executable, "-m", "numascope", "apply", "--memory", "move", *words],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
        env={**os.environ, "NUMASCOPE_STATE": str(folder), "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    return Said(done.returncode, done.stdout, done.stderr)


def test_memory_that_is_all_on_the_wanted_nodes_has_nothing_to_move(tmp_path: Path) -> None:
    everywhere = f"{NODES[0]}-{NODES[-1]}" if len(NODES) > 1 else str(NODES[0])
    with program(PLACING + "touch(mapped(20 * MIB), 20 * MIB)" + HOLD) as child:
        dry = move(tmp_path, str(child.pid), "--to", everywhere, "--dry-run")
        done = move(tmp_path, str(child.pid), "--to", everywhere, "--yes", "--json")
    assert (dry.code, done.code) == (0, 0), (dry, done)
    assert "listing every page of" in dry.out
    assert "wanted" in dry.out
    assert "exit 0: there is nothing to move" in dry.out
    assert max(map(len, dry.out.splitlines())) <= 80
    document = json.loads(done.out)
    (one,) = document["moves"]
    assert document["schema"] == "numascope.journal/1"
    assert sum(node["pages"] for node in one["nodes"]) > 20 * 256
    assert not (tmp_path / "numascope").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--to", "1000", "--dry-run"), "no such node with memory here"),
        (("--to", "x", "--dry-run"), "give node numbers such as 1 or 0-1"),
        (("--to", "", "--dry-run"), "give node numbers such as 1 or 0-1"),
        (("--to", "0"), "there is nobody to ask"),
        (("--to", "0", "--limit", "0", "--dry-run"), "--limit"),
        (("--to", "0", "--limit", "nan", "--dry-run"), '"nan" is no number: give 0.001 to 1000'),
        (("--to", "0", "--limit", "fast", "--dry-run"), '"fast" is no number: give 0.001 to 1000'),
        (("--to", "0", "--all", "--dry-run"), "are about threads"),
    ],
)
def test_what_makes_no_sense_is_one_line_that_says_what_does(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    with program(HOLD) as child:
        done = move(tmp_path, str(child.pid), *words)
    assert done.code == 2, done
    assert said in done.err
    assert done.out == ""


def test_a_process_is_also_named_by_its_command_line(tmp_path: Path) -> None:
    with program(HOLD + "  # moved-by-its-command-line") as child:
        done = move(tmp_path, "--match", "moved-by-its-command-[l]ine", "--to", str(NODES[0]), "--dry-run")
        nobody = move(tmp_path, "--to", str(NODES[0]), "--dry-run")
        no_plan = move(tmp_path, "bind/none.json", "--to", str(NODES[0]), "--dry-run")
    assert done.code in (0, 1), done
    assert f"{child.pid} to node {NODES[0]}" in " ".join(done.out.split())
    assert [nobody.code, no_plan.code] == [2, 2]
    assert "say whose memory: PID, NAME or --match" in nobody.err
    assert "there is no such file: give the path of a bind plan" in no_plan.err


def test_a_scheduler_which_is_no_rank_is_moved_itself(tmp_path: Path) -> None:
    with StandIn(60.0) as job:
        (scheduler,) = (one.scheduler for one in find_jobs(scan_facts(HostRoot())) if one.launcher == job.launcher_pid)
        done = move(tmp_path, str(scheduler), "--to", str(NODES[0]), "--dry-run")
    assert done.code in (0, 1), done
    assert f"python {scheduler} to node {NODES[0]}" in " ".join(done.out.split())


@pytest.mark.parametrize("words", [("--to", "0"), ("--limit", "1"), ("--push-out-cache",)])
def test_pace_nodes_and_page_cache_are_about_memory(words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "numascope", "apply", "bind.json", *words, "--dry-run"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "give --memory move with them" in done.stderr


def test_a_process_that_is_gone_ends_4(tmp_path: Path) -> None:
    with program(HOLD) as child:
        pid = child.pid
    done = move(tmp_path, str(pid), "--to", str(NODES[0]), "--dry-run")
    assert done.code == 4
    assert f"no process {pid}" in done.err
