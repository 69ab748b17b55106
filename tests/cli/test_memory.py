"""`numascope memory` as users call it: text, document, rights, exit codes, and that a full walk asks first."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from memory_programs import PLACING
from namespaces import PACKAGE, needs_setpriv, python_for
from processes import program

from numascope.cli.standin_process import StandIn
from numascope.host.root import HostRoot
from numascope.observe.facts import scan_facts
from numascope.observe.jobs import find_jobs

pytestmark = pytest.mark.live

SITE = str(Path(pytest.__file__).resolve().parent.parent)
MEMORY = """
import sys
package, site, pid = sys.argv[1:]
sys.path[:0] = [package, site]
from numascope.cli import main
sys.argv = ["numascope", "memory", pid, "--width", "200"]
sys.exit(main())
"""
PROGRAM = "import sys; sys.argv[0] = 'numascope'; from numascope.cli import main; "
AS_NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
TOUCH_40_MIB = PLACING + "touch(mapped(40 * MIB), 40 * MIB); ready(); sleep()"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="runs as another user")


def run(*arguments: str, drop: bool = False) -> subprocess.CompletedProcess[str]:
    as_whom = AS_NOBODY if drop else ()
    if drop and subprocess.run([*as_whom, sys.executable, "-c", PROGRAM], capture_output=True, check=False).returncode:
        pytest.skip("nobody may not read this checkout")
    command = [*as_whom, sys.executable, "-c", PROGRAM + "main()", "memory", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def test_it_tells_where_the_memory_of_a_process_lies() -> None:
    with program(TOUCH_40_MIB) as child:
        done = run(str(child.pid), "--kind")
        document = json.loads(run(str(child.pid), "--json").stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "policy default, 1 thread" in done.stdout
    assert "anonymous" in done.stdout
    assert "\x1b" not in done.stdout
    (process,) = document["processes"]
    assert (document["schema"], process["pid"]) == ("numascope.memory/1", child.pid)
    assert process["pages_resident"] >= 1_000
    assert sum(one["share"] for one in process["nodes"]) == pytest.approx(1.0)


@needs_root
def test_another_users_process_ends_3_and_says_who_may_read_it() -> None:
    with program("ready(); sleep()") as child:
        done = run(str(child.pid), "--width", "200", drop=True)
    assert done.returncode == 3, done.stderr
    assert "may not be read: run as its owner (uid 0) or as root" in done.stdout


def test_a_process_that_is_not_there_ends_4_and_what_is_not_one_process_ends_2() -> None:
    gone, unnamed, nobody, wrong = run("4194305"), run("no-such-program"), run(), run("1=device0")
    assert (gone.returncode, gone.stdout) == (4, "")
    assert gone.stderr.startswith("numascope: no process 4194305 here")
    assert (unnamed.returncode, unnamed.stdout) == (4, "")
    assert 'no process is called "no-such-program"' in unnamed.stderr
    assert [nobody.returncode, wrong.returncode] == [2, 2]
    assert "say which process: PID, NAME or --match REGEX, one of them" in nobody.stderr
    assert "a device is given where a plan is read; give 1" in wrong.stderr


def test_a_process_is_also_found_by_its_command_line() -> None:
    with program("ready(); sleep()  # memory-by-its-command-line") as child:
        done = run("--match", "memory-by-its-command-[l]ine", "--json")
    assert [one["pid"] for one in json.loads(done.stdout)["processes"]] == [child.pid], done.stderr


def test_a_scheduler_which_is_no_rank_is_looked_at_itself() -> None:
    with StandIn(60.0) as job:
        (scheduler,) = (one.scheduler for one in find_jobs(scan_facts(HostRoot())) if one.launcher == job.launcher_pid)
        done = run(str(scheduler), "--json")
    assert done.returncode == 0, done.stderr
    assert [one["pid"] for one in json.loads(done.stdout)["processes"]] == [scheduler]


@needs_setpriv
def test_a_launcher_whose_ranks_may_not_be_told_ends_3_and_says_who_may_read_it() -> None:
    with StandIn(60.0) as job:
        done = subprocess.run(
            [*AS_NOBODY, python_for(AS_NOBODY), "-c", MEMORY, PACKAGE, SITE, str(job.launcher_pid)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 3, done.stdout + done.stderr
    assert "may not be read: run as its owner (uid 0) or as root" in done.stdout


def test_a_full_walk_is_not_done_where_nobody_can_be_asked() -> None:
    with program("ready(); sleep()") as child:
        asked = run(str(child.pid), "--full")
        told = run(str(child.pid), "--full", "--yes", "--json")
    assert asked.returncode == 2
    assert "give --yes" in asked.stderr
    assert json.loads(told.stdout)["processes"][0]["method"] == "numa_maps"


def on_terminal(answer: bytes, *arguments: str) -> str:
    """Runs the verb on a terminal, answers its question, and gives what was on the screen."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", PROGRAM + "main()", "memory", *arguments])  # noqa: S606  (no shell is wanted)
    seen = b""
    try:
        while part := os.read(terminal, 4096):
            seen += part
            if b"walk it? y/[n]:" in seen and answer:
                os.write(terminal, answer)
                answer = b""
    except OSError:  # the terminal of a program that ended
        pass
    os.waitpid(pid, 0)
    os.close(terminal)
    return seen.decode()


@pytest.mark.parametrize(("answer", "walked"), [(b"y\r", True), (b"\r", False)])
def test_a_full_walk_says_its_cost_and_asks(answer: bytes, walked: bool) -> None:
    with program("ready(); sleep()") as child:
        seen = on_terminal(answer, str(child.pid), "--full")
    assert "ms under its mmap lock" in seen
    assert ("every page counted by numa_maps" in seen) == walked
