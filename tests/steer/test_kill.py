"""Ended at every write, sync and system call: what was set can always be put back, exactly, and the journal is always readable."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import OWN_CPUS, needs_two_cpus, program
from steering import (
    SLEEPERS,
    CountedDisk,
    CountedKernel,
    Steps,
    changes_of,
    do,
    masks,
    store_in,
    undo,
    watching,
)

from numascope.steer.ledger import read_ledger

pytestmark = [pytest.mark.live, needs_two_cpus]


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def nothing() -> None:
    return


def in_a_fork(body: Callable[[], object]) -> bool:
    """Whether a copy of this process was killed while it did something."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            body()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return os.WIFSIGNALED(status)


@pytest.mark.parametrize(("threads", "stride"), [(60, 1), (500, 7)], ids=["60 threads, every step", "500 threads"])
def test_after_a_kill_at_any_step_of_an_apply_a_revert_restores_every_mask(
    tmp_path: Path, threads: int, stride: int
) -> None:
    with program(SLEEPERS.format(count=threads - 1)) as child, watching(tmp_path, child.pid, OWN_CPUS[0]) as session:
        for tid in sorted(masks(child.pid))[::4]:
            os.sched_setaffinity(tid, {OWN_CPUS[1]})
        before = masks(child.pid)
        changes = changes_of(session)
        points = changed = 0
        while True:
            folder = tmp_path / str(points)
            folder.mkdir()

            def apply(folder: Path = folder, at: int = points * stride + 1) -> None:
                steps = Steps(at, killed, [0])
                with store_in(folder) as store:
                    do(changes, store, CountedKernel(steps), CountedDisk(steps))

            was_killed = in_a_fork(apply)
            changed += masks(child.pid) != before
            with store_in(folder) as store:
                assert read_ledger(store).damages == (), f"step {points * stride + 1}"
                undo(store)
                assert undo(store) == ()
            assert masks(child.pid) == before, f"step {points * stride + 1}"
            if not was_killed:
                break
            points += 1

    assert len(changes) == threads
    assert points >= 300
    assert changed >= 200


def test_a_revert_killed_at_any_step_is_done_by_the_next_one(tmp_path: Path) -> None:
    with program(SLEEPERS.format(count=9)) as child, watching(tmp_path, child.pid, OWN_CPUS[0]) as session:
        before = masks(child.pid)
        changes = changes_of(session)
        points = 0
        while True:
            folder = tmp_path / str(points)
            folder.mkdir()
            with store_in(folder) as store:
                do(changes, store)

            def revert(folder: Path = folder, at: int = points + 1) -> None:
                steps = Steps(at, killed, [0])
                with store_in(folder) as own:
                    undo(own, None, CountedKernel(steps), CountedDisk(steps))

            was_killed = in_a_fork(revert)
            with store_in(folder) as store:
                undo(store)
                assert masks(child.pid) == before, f"step {points + 1}"
                assert undo(store) == ()
                assert read_ledger(store).damages == ()
            if not was_killed:
                break
            points += 1

    assert points >= 40
