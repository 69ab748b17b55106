"""Cpusets that change under a bound job, on the kernel that runs the tests (6.2 and later keep the mask that was asked for)."""

from __future__ import annotations

import contextlib
import os
import platform
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import eventually, needs_two_cpus, program
from steering import (
    FIRST,
    SECOND,
    SLEEPERS,
    allowed,
    do,
    hold,
    outcomes,
    plan_file,
    select,
    settle,
    store_in,
    undo,
    watching,
)

FOLDER = Path("/sys/fs/cgroup/cpuset")
KERNEL = tuple(int(part) for part in platform.release().split("-")[0].split(".")[:2])

pytestmark = [
    pytest.mark.live,
    needs_two_cpus,
    pytest.mark.skipif(KERNEL < (6, 2), reason="holds Linux 6.2 and later to keeping the mask that was asked for"),
]

ON_SECOND = f"os.sched_setaffinity(0, {{{SECOND}}})\n"


@contextlib.contextmanager
def cpuset_of(pid: int, cpus: str) -> Iterator[Path]:
    """A cpuset (cgroup v1) of its own for a process; the process leaves it at the end."""
    own = FOLDER / f"numascope-test-{os.getpid()}"
    try:
        own.mkdir()
    except OSError:
        pytest.skip("may make no cpuset of cgroup v1 here")
    try:
        (own / "cpuset.mems").write_text((FOLDER / "cpuset.mems").read_text())
        (own / "cpuset.cpus").write_text(cpus)
        (own / "cgroup.procs").write_text(str(pid))
        yield own
    finally:
        with contextlib.suppress(OSError):
            (FOLDER / "cgroup.procs").write_text(str(pid))
        assert eventually(lambda: _removed(own))


def _removed(own: Path) -> bool:
    try:
        own.rmdir()
    except OSError:
        return False
    return True


def test_a_reverted_thread_follows_a_cpuset_that_grows_as_an_untouched_one_does(tmp_path: Path) -> None:
    both = f"{FIRST},{SECOND}"
    with program(SLEEPERS.format(count=2)) as child, cpuset_of(child.pid, both) as own:
        with watching(tmp_path, child.pid, FIRST) as session, store_in(tmp_path) as store:
            settle(session, store)
            assert allowed(child.pid) == {frozenset({FIRST})}
            (own / "cpuset.cpus").write_text(str(FIRST))
            undo(store)
        assert allowed(child.pid) == {frozenset({FIRST})}
        (own / "cpuset.cpus").write_text(both)
        assert allowed(child.pid) == {frozenset({FIRST, SECOND})}


def test_what_a_shrinking_cpuset_cut_is_still_ours_to_put_back(tmp_path: Path) -> None:
    both = f"{FIRST},{SECOND}"
    with (
        program(ON_SECOND + SLEEPERS.format(count=2)) as child,
        cpuset_of(child.pid, both) as own,
        watching(tmp_path, child.pid, FIRST) as session,
        store_in(tmp_path) as store,
    ):
        settle(session, store)
        (own / "cpuset.cpus").write_text(str(FIRST))
        waiting = undo(store)
        (own / "cpuset.cpus").write_text(both)
        found = undo(store)
        assert allowed(child.pid) == {frozenset({SECOND})}

    assert outcomes(waiting) == {"pending"}
    assert outcomes(found) == {"set"}


def test_a_thread_is_never_given_a_cpu_outside_its_cpuset(tmp_path: Path) -> None:
    """The planned CPU is taken from the job between the list and the call."""
    both = f"{FIRST},{SECOND}"
    with (
        program(ON_SECOND + SLEEPERS.format(count=1)) as child,
        cpuset_of(child.pid, both) as own,
        watching(tmp_path, child.pid, FIRST) as session,
        store_in(tmp_path) as store,
    ):
        report = session.step()
        (own / "cpuset.cpus").write_text(str(SECOND))
        results = do(select(report, {}).changes, store)
        assert allowed(child.pid) == {frozenset({SECOND})}
        assert store.ids() == []

    assert outcomes(results) == {"refused"}
    assert "cpuset" in results[0].why


def test_a_revert_while_our_cpu_is_taken_away_is_not_lost_when_it_comes_back(tmp_path: Path) -> None:
    """The kernel shows the cpuset then and remembers the mask that was asked for: what is seen is no proof of an old set."""
    both = f"{FIRST},{SECOND}"
    with program(SLEEPERS.format(count=2)) as child, cpuset_of(child.pid, both) as own:
        with watching(tmp_path, child.pid, FIRST) as session, store_in(tmp_path) as store:
            settle(session, store)
            (own / "cpuset.cpus").write_text(str(SECOND))
            undo(store)
        (own / "cpuset.cpus").write_text(both)
        assert allowed(child.pid) == {frozenset({FIRST, SECOND})}


def test_a_hold_says_when_the_cpuset_takes_the_plan_away_and_when_it_is_back(tmp_path: Path) -> None:
    plan_file(tmp_path, str(FIRST))
    with program(SLEEPERS.format(count=2)) as child, cpuset_of(child.pid, f"{FIRST},{SECOND}") as own:
        holding = hold(tmp_path, child.pid)
        assert holding.stdout is not None
        told = iter(holding.stdout.readline, "")
        assert any("set 3" in line for line in told)
        (own / "cpuset.cpus").write_text(str(SECOND))
        assert any(f"cannot hold 3: main {child.pid}: planned {FIRST}" in line for line in told)
        (own / "cpuset.cpus").write_text(f"{FIRST},{SECOND}")
        assert any("may use again" in line for line in told)
        assert eventually(lambda: allowed(child.pid) == {frozenset({FIRST})})
        holding.send_signal(signal.SIGINT)
        holding.communicate(timeout=60)
    assert holding.returncode == 0
