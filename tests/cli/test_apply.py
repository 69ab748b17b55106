"""`apply` and `revert` as they are typed: exit codes, consent, text and JSON."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from processes import OWN_CPUS, needs_two_cpus, program
from steering import SLEEPERS, masks, plan_file

pytestmark = [pytest.mark.live, needs_two_cpus]


class Said(NamedTuple):
    """How a verb ended, and what it printed."""

    code: int
    out: str
    err: str


class Bench(NamedTuple):
    """A job, a plan and a journal of its own."""

    pid: int
    folder: Path
    plan: str

    def numascope(self, *words: str) -> Said:
        """What a verb said, with nobody at the terminal."""
        done = subprocess.run(
            [sys.executable, "-m", "numascope", *words],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, env=self.environ(),
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)

    def environ(self) -> dict[str, str]:
        """That keeps the journal in the test's own folder."""
        return {**os.environ, "NUMASCOPE_STATE": str(self.folder), "LC_ALL": "C.UTF-8"}

    def apply(self, *more: str) -> Said:
        """`apply` of the plan to the job."""
        return self.numascope("apply", self.plan, f"{self.pid}=device0", *more)


@contextmanager
def bench(folder: Path, code: str = SLEEPERS.format(count=6)) -> Iterator[Bench]:
    with program(code) as child:
        yield Bench(child.pid, folder, plan_file(folder, str(OWN_CPUS[0])))


def test_dry_run_shows_the_list_ends_1_and_changes_nothing(tmp_path: Path) -> None:
    with bench(tmp_path) as one:
        before = masks(one.pid)
        comm = Path(f"/proc/{one.pid}/comm").read_text().strip()
        said = one.apply("--dry-run")
        assert masks(one.pid) == before

    assert said.code == 1, said
    assert f"would set 7 of 7 threads of {comm} {one.pid}; nothing is changed" in said.out
    assert f"→  {OWN_CPUS[0]}" in said.out
    assert not (tmp_path / "numascope").exists()
    assert max(map(len, said.out.splitlines())) <= 80


def test_without_a_terminal_and_without_yes_it_is_refused(tmp_path: Path) -> None:
    with bench(tmp_path) as one:
        before = masks(one.pid)
        apply = one.apply()
        as_json = one.apply("--json")
        revert = one.numascope("revert")
        assert masks(one.pid) == before

    assert [apply.code, as_json.code, revert.code] == [2, 2, 2]
    assert "there is nobody to ask" in apply.err
    assert apply.out == as_json.out == ""


def test_a_plan_that_names_none_of_the_threads_ends_4_and_says_how_to_name_them(tmp_path: Path) -> None:
    with bench(tmp_path) as one:
        before = masks(one.pid)
        said = one.numascope("apply", one.plan, str(one.pid), "--dry-run")
        yes = one.numascope("apply", one.plan, str(one.pid), "--yes", "--json")
        assert masks(one.pid) == before

    assert [said.code, yes.code] == [4, 4], said
    assert yes.out == ""
    assert "the plan says nothing of these threads" in yes.err
    assert "the plan says nothing of these threads" in said.out
    assert "PID=device0" in said.out
    assert not (tmp_path / "numascope").exists()


def test_apply_then_revert_and_what_each_says(tmp_path: Path) -> None:
    with bench(tmp_path) as one:
        before = masks(one.pid)
        applied = one.apply("--yes")
        assert {os.sched_getaffinity(tid) == {OWN_CPUS[0]} for tid in before} == {True}
        again = one.apply("--yes")
        dry = one.apply("--dry-run")
        listed = one.numascope("revert", "--list")
        preview = one.numascope("revert", "--dry-run")
        reverted = one.numascope("revert", "--yes")
        assert masks(one.pid) == before
        nothing = one.numascope("revert", "--yes")
        after = one.numascope("revert", "--list")

    assert [one.code for one in (applied, again, dry, listed, preview, reverted, nothing)] == [0, 0, 0, 0, 1, 0, 0]
    assert "7 set; each read back" in applied.out
    assert "undo: numascope revert 1" in applied.out
    assert "there is nothing to do" in again.out
    assert "apply bind.json" in listed.out
    assert "can be reverted" in listed.out
    assert "would put back 7 threads of entry 1" in preview.out
    assert "entry 1: 7 set" in reverted.out
    assert "nothing of ours is left" in nothing.out
    assert "reverted by 2" in after.out


def test_json_is_one_document_of_the_journal(tmp_path: Path) -> None:
    with bench(tmp_path) as one:
        dry = json.loads(one.apply("--dry-run", "--json").out)
        done = json.loads(one.apply("--yes", "--json").out)
        back = json.loads(one.numascope("revert", "--yes", "--json").out)
        listed = json.loads(one.numascope("revert", "--list", "--json").out)

    assert {one["schema"] for one in (dry, done, back, listed)} == {"numascope.journal/1"}
    assert (dry["entries"], len(dry["changes"]), dry["dry_run"]) == ([], 7, True)
    (entry,) = done["entries"]
    assert entry["plan"] == str(tmp_path / "bind.json")
    assert {change["result"] for change in entry["changes"]} == {"set"}
    assert {change["after"] for change in entry["changes"]} == {str(OWN_CPUS[0])}
    assert {"pid", "tid", "starttime", "before", "before_was_cpuset", "after", "result"} <= entry["changes"][0].keys()
    assert {one["result"] for one in back["undone"]} == {"set"}
    assert [(one["id"], one["kind"], one["can_revert"]) for one in listed["entries"]] == [
        (1, "apply", False), (2, "revert", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "is_set"), [("y\n", True), ("\n", False), ("n\n", False), ("yes\n", False), ("Y\n", False)]
)
def test_on_a_terminal_it_asks_and_only_y_means_yes(tmp_path: Path, typed: str, is_set: bool) -> None:
    with bench(tmp_path) as one:
        before = masks(one.pid)
        child, terminal = pty.fork()
        if child == 0:
            words = [sys.executable, "-m", "numascope", "apply", one.plan, f"{one.pid}=device0"]
            os.execve(sys.executable, words, one.environ())  # noqa: S606  (the terminal's child)
        said = b""
        while b"y/[n]" not in said:
            said += os.read(terminal, 4096)
        os.write(terminal, typed.encode())
        rest = b""
        try:
            while part := os.read(terminal, 4096):
                rest += part
        except OSError:
            pass
        _, status = os.waitpid(child, 0)
        os.close(terminal)
        assert (masks(one.pid) != before) == is_set

    assert os.waitstatus_to_exitcode(status) == (0 if is_set else 1)
    assert (b"7 set" in rest) == is_set
    assert (b"nothing was changed" in rest) == (not is_set)


def test_a_target_that_ended_ends_4(tmp_path: Path) -> None:
    with bench(tmp_path) as one:
        pass
    assert one.apply("--yes").code == 4


def test_a_revert_of_a_job_that_ended_ends_4_and_once(tmp_path: Path) -> None:
    with bench(tmp_path) as one:
        assert one.apply("--yes").code == 0
    first, second = one.numascope("revert", "--yes"), one.numascope("revert", "--yes")
    assert (first.code, second.code) == (4, 0)


def test_a_state_directory_that_is_a_link_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "numascope").symlink_to("/tmp")
    with bench(tmp_path) as one:
        before = masks(one.pid)
        said = one.apply("--yes")
        assert masks(one.pid) == before
    assert said.code == 2
    assert len(said.err.splitlines()) == 1
    assert "links are not followed" in said.err


def test_neither_textual_nor_rich_is_loaded(tmp_path: Path) -> None:
    with bench(tmp_path) as one:
        code = (
            "import sys\nfrom numascope.cli import main\n"
            f"sys.argv = ['numascope', 'apply', {one.plan!r}, '{one.pid}=device0', '--dry-run']\n"
            "try:\n    main()\nexcept SystemExit: pass\n"
            "print(sorted(name for name in ('textual', 'rich', 'plotext') if name in sys.modules))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=one.environ()
        )
    assert done.stdout.splitlines()[-1] == "[]"
