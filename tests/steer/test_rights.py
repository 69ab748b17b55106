"""What a user without root may do: change his own processes, and be told in one sentence of others'."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import OWN_CPUS, needs_two_cpus, program
from steering import ROOT, SLEEPERS, allowed, masks, settle, store_in, undo, watching

from numascope.errors import NotPermittedError
from numascope.steer.rights import check_rights

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user"),
    needs_two_cpus,
]

NOBODY = 65534


def as_nobody(body: Callable[[], object]) -> object:
    """What a copy of this process, as a user without any right, found."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reading)
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            os.write(writing, pickle.dumps(body()))
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with open(reading, "rb") as pipe:
        found = pipe.read()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return pickle.loads(found)  # noqa: S301  (written by this very test)


def own_folder(tmp_path: Path) -> Path:
    for part in (tmp_path, *list(tmp_path.parents)[:2]):
        part.chmod(0o755)
    folder = tmp_path / "of nobody"
    folder.mkdir(mode=0o700)
    os.chown(folder, NOBODY, NOBODY)
    return folder


def test_a_user_changes_and_restores_a_process_of_his_own(tmp_path: Path) -> None:
    folder = own_folder(tmp_path)

    def body() -> object:
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        try:
            before = masks(child)
            with watching(folder, child, OWN_CPUS[0]) as session, store_in(folder) as store:
                settle(session, store)
                now = allowed(child)
                undo(store)
            return now, masks(child) == before
        finally:
            os.kill(child, 9)
            os.waitpid(child, 0)

    assert as_nobody(body) == ({frozenset({OWN_CPUS[0]})}, True)


def test_the_process_of_another_user_is_refused_in_one_sentence_before_anything_is_written(tmp_path: Path) -> None:
    folder = own_folder(tmp_path)
    with program(SLEEPERS.format(count=1)) as child:

        def body() -> object:
            with watching(folder, child.pid, OWN_CPUS[0]) as session:
                processes = session.step().sample.processes
            try:
                check_rights(ROOT, os.geteuid(), [child.pid], processes)
            except NotPermittedError as error:
                return str(error)
            return None

        said = as_nobody(body)

    assert said == (
        f"{child.pid} belongs to uid 0, not to us (uid {NOBODY}): run as uid 0, or as root (CAP_SYS_NICE); nothing is changed"
    )
    assert list(folder.iterdir()) == [folder / "bind.json"]


def test_what_the_kernel_refuses_another_user_changes_nothing(tmp_path: Path) -> None:
    folder = own_folder(tmp_path)
    with program(SLEEPERS.format(count=2)) as child:
        before = masks(child.pid)

        def body() -> object:
            with watching(folder, child.pid, OWN_CPUS[0]) as session, store_in(folder) as store:
                return [(one.outcome, one.why) for one in settle(session, store).results]

        said = as_nobody(body)
        assert masks(child.pid) == before

    assert said == [("refused", "another user's thread: its owner or CAP_SYS_NICE may set it")] * 3


def test_root_may() -> None:
    with program(SLEEPERS.format(count=1)) as child:
        check_rights(ROOT, NOBODY, [child.pid], {})
