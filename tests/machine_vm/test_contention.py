"""Isolated CPUs, which the kernel does not balance, and a thread that waits behind a SCHED_FIFO loop (Linux 6.1)."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from machine_vm.guest import HASHING, finding_of, findings, hog, kernel, placement, seen
from processes import program, tell
from steering import watching

pytestmark = [pytest.mark.vm("two-socket")]

ISOLATED = (2, 3, 4, 5)
"""By `isolcpus=domain,2-5` of this machine's suite."""


def workers(count: int, cpus: str) -> str:
    """Busy threads that begin on the first of these CPUs, and may then use them all."""
    return f"""{HASHING}
os.sched_setaffinity(0, {{min({cpus})}})
for _ in range({count}): thread(hash)
time.sleep(1)
for tid in os.listdir("/proc/self/task"): os.sched_setaffinity(int(tid), {cpus})
ready(); sleep()
"""


def test_busy_threads_on_isolated_cpus_crowd_on_one_and_each_on_its_own_do_not(tmp_path: Path) -> None:
    with program(workers(4, "{2, 3, 4, 5}")) as child, watching(tmp_path, child.pid, "2-5") as session:
        report = seen(session, lambda one: bool(findings(one, "crowded")))
        (crowded,) = findings(report, "crowded")
        busy = sorted(one.key.tid for one in report.placements if one.key.tid != child.pid)

        assert set(report.machine.cpus.isolated) == set(ISOLATED)
        assert "isolated CPUs are not balanced" in crowded.evidence
        assert len({placement(report, tid).cpu for tid in busy}) < len(busy)

        for tid, cpu in zip(busy, ISOLATED, strict=True):
            os.sched_setaffinity(tid, {cpu})
        spread = seen(session, lambda one: not findings(one, "crowded"))
        assert {placement(spread, tid).cpu for tid in busy} == set(ISOLATED)


@pytest.mark.skipif(kernel() >= (6, 12), reason="from 6.12 the fair server gives a starved thread 5 %")
def test_a_thread_behind_a_fifo_loop_is_starved_within_ten_ticks(tmp_path: Path) -> None:
    """6.1 credits the wait only when the thread gets a CPU: its schedstat stands still, and its state R has to tell."""
    with program(workers(1, "{10}")) as child, watching(tmp_path, child.pid, "10") as session:
        tid = max(one.key.tid for one in session.look(2.0).placements)
        assert not findings(session.step(), "starved")
        with hog(10):
            reports = [session.look(1.0) for _ in range(10)]
        told = [finding_of(report, "starved", tid) for report in reports]

    assert any(told), [[one.rule for one in report.findings] for report in reports]
    first = next(one for one in told if one is not None)
    assert "queued on CPU 10" in first.evidence


SLEEPERS = f"""
{HASHING}
import select
def wake():
    os.sched_setaffinity(0, {{10}})
    waker.wait()
    hash()
waker = threading.Event()
for _ in range(60): thread(sleep)
named("late", wake)
time.sleep(2); ready(); sys.stdin.readline(); waker.set(); sleep()
"""


@pytest.mark.skipif(kernel() >= (6, 12), reason="from 6.12 the fair server gives a starved thread 5 %")
def test_where_there_is_cpu_pressure_a_sleeper_that_wakes_behind_a_fifo_loop_is_starved_within_two_ticks(
    tmp_path: Path,
) -> None:
    """Nothing of the thread itself moves: the pressure that rises makes all sleepers be looked at."""
    assert Path("/proc/pressure/cpu").exists()
    with program(SLEEPERS) as child, watching(tmp_path, child.pid, "0-15") as session, hog(10):
        for _ in range(4):
            session.look(1.0, samples=2)
        late = next(one.key.tid for one in session.look(1.0, samples=2).placements if one.comm == "late")
        tell(child)
        time.sleep(0.2)
        looks = []
        for _ in range(3):
            time.sleep(1.0)
            looks.append(finding_of(session.step(), "starved", late))

    assert any(looks[:2]), looks


@pytest.mark.parametrize("cpu", [12])
def test_a_thread_that_spins_on_a_nohz_full_cpu_is_shown_at_100_per_cent(tmp_path: Path, cpu: int) -> None:
    """Its counters move once a second: what is shown is over two seconds and more."""
    code = f"{HASHING}\ndef spinning():\n os.sched_setaffinity(0, {{{cpu}}})\n while True: hashlib.sha256(block).digest()\nnamed('spins', spinning); time.sleep(1); ready(); sleep()"
    with program(code) as child, watching(tmp_path, child.pid, str(cpu)) as session:
        assert cpu in session.step().machine.cpus.nohz_full
        busy = []
        for _ in range(8):
            time.sleep(1.0)
            report = session.step()
            busy += [one.busy for one in report.placements if one.comm == "spins"]

    assert [one for one in busy[3:] if one is None or not 0.9 <= one <= 1.1] == [], busy
