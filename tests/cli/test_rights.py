"""`numascope rights` as users call it: text, document and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from processes import program

from numascope.host.rights import Access, Own, Target
from numascope.show.ink import plain
from numascope.show.rights import remedies, rights_document, rights_lines

PROGRAM = "import sys; sys.argv[0] = 'numascope'; from numascope.cli import main; "
AS_NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="runs as another user")

NOBODY = Own(65534, 0, "user:[4026531837]", "pid:[4026531836]", 0, None, None)
OPEN = Access("stat", can=True)
CLOSED = Access("environ", can=False, reason="Permission denied")


def target(**changed: object) -> Target:
    one = Target(41, "python", 0, None, False, (41,), (OPEN, CLOSED), (Access("affinity", can=False, reason="no"),))  # noqa: FBT003
    return one._replace(**changed)  # type: ignore[arg-type]


def run(*arguments: str, drop: bool = False) -> subprocess.CompletedProcess[str]:
    as_whom = AS_NOBODY if drop else ()
    if drop and subprocess.run([*as_whom, sys.executable, "-c", PROGRAM], capture_output=True, check=False).returncode:
        pytest.skip("nobody may not read this checkout")
    command = [*as_whom, sys.executable, "-c", PROGRAM + "main()", "rights", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.live
def test_without_a_pid_it_speaks_of_ones_own_processes_and_names_no_target() -> None:
    done = run("--json")
    document = json.loads(done.stdout)
    whole = all(one["can"] for one in [*document["reads"], *document["changes"]])

    assert document["schema"] == "numascope.rights/1"
    assert document["target"] is None
    assert document["user"]["uid"] == os.geteuid()
    assert {one["what"] for one in document["changes"]} == {"affinity", "pages"}
    assert done.returncode == (0 if whole else 3)


@pytest.mark.live
@needs_root
def test_another_users_process_ends_3_and_says_in_a_sentence_who_may_set_it() -> None:
    with program("ready(); sleep()") as child:
        done = run(str(child.pid), "--width", "200", drop=True)
        document = json.loads(run(str(child.pid), "--json", drop=True).stdout)

    assert done.returncode == 3, done.stderr
    assert "setting CPUs: run as uid 0, or with CAP_SYS_NICE (as root)" in done.stdout
    assert document["partial"] is True
    assert document["target"]["uid"] == 0
    assert {one["what"]: one["can"] for one in document["changes"]} == {"affinity": False, "pages": False}


@pytest.mark.live
@needs_root
def test_ones_own_processes_need_no_root() -> None:
    document = json.loads(run("--json", drop=True).stdout)
    closed = {one["what"] for one in document["reads"] if one["can"] is False}

    assert document["user"]["uid"] == 65534
    assert closed <= ({"pages"} if document["user"]["seccomp"] else set())
    assert {one["what"]: one["can"] for one in document["changes"]}["affinity"] is True


@pytest.mark.live
def test_a_process_that_is_not_there_ends_4_and_no_number_ends_2() -> None:
    gone, wrong = run("4194305"), run("deep")
    assert (gone.returncode, gone.stdout) == (4, "")
    assert gone.stderr == "numascope: no process 4194305 here\n"
    assert wrong.returncode == 2


@pytest.mark.live
def test_text_is_ascii_where_it_is_asked_for() -> None:
    done = run("--ascii")
    assert done.stdout.isascii()
    assert "= yes stat" in done.stdout


def test_what_is_closed_has_a_word_beside_its_sign() -> None:
    rows = [plain(line) for line in rights_lines(NOBODY, target(), 100)]
    assert "uid 65534 on python 41 (uid 0)" in rows
    assert any(row.startswith("✓ yes stat ") for row in rows)
    assert any(row.startswith("✗ no  environ ") and "Permission denied" in row for row in rows)


def test_no_line_is_wider_than_asked() -> None:
    for width in (40, 60, 80):
        assert all(len(plain(line)) <= width for line in rights_lines(NOBODY, target(hidden=True, uid=None), width))


def test_remedies_follow_from_the_cause() -> None:
    own = NOBODY._replace(uid=0)
    held = NOBODY._replace(capabilities=(1 << 23) | (1 << 19))

    assert "run as uid 0" in remedies(NOBODY, target())[0]
    assert "not dumpable" in remedies(own, target(dumpable=False))[0]
    assert "groups or capabilities" in remedies(own, target(dumpable=True))[0]
    assert "although CAP_SYS_PTRACE is in effect" in remedies(held, target())[0]
    assert "hidepid" in remedies(NOBODY, target(hidden=True, uid=None))[0]
    assert any("--cap-add" in one for one in remedies(NOBODY._replace(container="/.dockerenv is there"), target()))


def test_what_this_kernel_does_not_have_is_neither_open_nor_closed() -> None:
    absent = target(reads=(OPEN, Access("sched", None, "not there")), changes=(Access("affinity", can=True),))
    document = rights_document(NOBODY, absent)

    assert not absent.complete
    assert document["partial"] is True
    assert remedies(NOBODY, absent) == ["sched: no right opens these, this kernel does not give them"]


def test_a_process_in_a_pid_namespace_of_its_own_is_named_with_its_number_there() -> None:
    rows = [plain(line) for line in rights_lines(NOBODY, target(pids=(41, 7)), 100)]
    assert any("pid namespace of its own, where it is 7" in row for row in rows)
