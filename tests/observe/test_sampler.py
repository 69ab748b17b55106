"""The sampler tells the truth about real threads, and costs what has changed."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from processes import EXECS_ITSELF, OWN_CPUS, answer, eventually, needs_aslr, needs_two_cpus, program, tell
from sampling import sampling

from numascope.cpuset import CpuSet
from numascope.observe.rates import rates_between
from numascope.observe.sample import Sample, ThreadKey

pytestmark = pytest.mark.live


def key_of(sample: Sample, comm: str) -> ThreadKey:
    return sample.threads.keys[sample.threads.comms.index(comm)]


def test_every_thread_is_a_row_with_its_name_mask_and_time() -> None:
    with (
        program(
            'named("ActorThread_0", sleep); named("launch_queue", sleep); time.sleep(0.2); ready(); sleep()'
        ) as child,
        sampling(child.pid) as sampler,
    ):
        sample = sampler.sample()

        assert set(sample.threads.comms) >= {"ActorThread_0", "launch_queue"}
        assert len(sample.threads.keys) == 3
        assert set(map(str, sample.threads.allowed)) == {str(CpuSet.of(OWN_CPUS))}
        assert all(run is not None and run > 0 for run in sample.threads.run_ns)
        assert sample.processes[child.pid].cmdline[0] == sys.executable


@needs_two_cpus
def test_a_mask_changed_from_outside_is_seen_at_the_next_sample_though_the_thread_sleeps() -> None:
    with program('named("pinned", sleep); time.sleep(0.2); ready(); sleep()') as child, sampling(child.pid) as sampler:
        key = key_of(sampler.sample(), "pinned")
        os.sched_setaffinity(key.tid, {OWN_CPUS[1]})
        sample = sampler.sample()

        assert str(sample.threads.allowed[sample.threads.row_of[key]]) == str(OWN_CPUS[1])


def test_rates_are_those_of_the_thread() -> None:
    with (
        program('named("half", spin, 0.5); named("idle", sleep); time.sleep(0.2); ready(); sleep()') as child,
        sampling(child.pid) as sampler,
    ):
        first = sampler.sample()
        began = time.monotonic()
        time.sleep(1.0)
        second = sampler.sample()
        rates = rates_between(first, second)

        used = rates.busy[second.threads.row_of[key_of(second, "half")]]
        assert rates.busy[second.threads.row_of[key_of(second, "idle")]] == 0.0
        assert used is not None
        assert 0.05 < used < 0.75, (
            f"half a CPU at most, less where the machine is busy ({time.monotonic() - began:.1f} s)"
        )


def test_a_thread_that_ends_takes_its_row_and_descriptor_along() -> None:
    code = "threads = [thread(time.sleep, 1.0) for _ in range(50)]\nready()\nsleep()"
    with program(code) as child, sampling(child.pid) as sampler:
        assert len(sampler.sample().threads.keys) == 51
        kept = len(os.listdir("/proc/self/fd"))

        assert eventually(lambda: len(sampler.sample().threads.keys) == 1)
        assert len(os.listdir("/proc/self/fd")) == kept - 50


def test_children_join_by_themselves() -> None:
    code = "ready()\nsys.stdin.readline()\nif os.fork() == 0: sleep()\nprint('forked', flush=True); sleep()"
    with program(code) as child, sampling(child.pid) as sampler:
        assert set(sampler.sample().processes) == {child.pid}
        tell(child)
        assert answer(child) == "forked\n"
        sample = sampler.sample()

        assert len(sample.processes) == 2
        assert {process.ppid for pid, process in sample.processes.items() if pid != child.pid} == {child.pid}
        for pid in sample.processes:
            os.kill(pid, 9)


def test_a_renamed_thread_begins_a_new_epoch() -> None:
    code = 'name("before"); ready(); sys.stdin.readline(); name("after"); print("renamed", flush=True); sleep()'
    with program(code) as child, sampling(child.pid) as sampler:
        old = key_of(sampler.sample(), "before")
        tell(child)
        assert answer(child) == "renamed\n"
        new = key_of(sampler.sample(), "after")

        assert new == old._replace(epoch=old.epoch + 1)


def test_exec_begins_a_new_epoch_with_new_facts() -> None:
    code = "ready(); sys.stdin.readline(); os.execv('/bin/sleep', ['sleep', '1000'])"
    with program(code) as child, sampling(child.pid) as sampler:
        old = sampler.sample().threads.keys[0]
        tell(child)

        assert eventually(lambda: sampler.sample().threads.comms == ("sleep",))
        sample = sampler.sample()
        assert sample.threads.keys[0].epoch > old.epoch
        assert sample.processes[child.pid].cmdline == ("sleep", "1000")


@needs_aslr
def test_exec_of_the_same_program_with_the_same_arguments_begins_one_too() -> None:
    with program(EXECS_ITSELF) as child, sampling(child.pid) as sampler:
        old = sampler.sample()
        tell(child)

        assert eventually(lambda: sampler.sample().threads.keys[0].epoch > old.threads.keys[0].epoch)
        sample = sampler.sample()
        assert sample.threads.comms == old.threads.comms
        assert sample.processes[child.pid].cmdline == old.processes[child.pid].cmdline
        assert sample.processes[child.pid].start_stack != old.processes[child.pid].start_stack


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (rb"b'a b) R (x'", "a b) R (x"),
        (rb"b'\x1b[31mRED'", "\\x1b[31mRED"),
        (rb"b'two\nlines'", "two\\x0alines"),
        (rb"b'\xff\xfe'", "\\xff\\xfe"),
        (rb"b'   '", "   "),
    ],
)
def test_hostile_names_are_whole_and_harmless(raw: bytes, shown: str) -> None:
    with (
        program(f"named({raw.decode()}, sleep); time.sleep(0.2); ready(); sleep()") as child,
        sampling(child.pid) as sampler,
    ):
        assert shown in sampler.sample().threads.comms


def test_a_process_that_ends_ends_the_watch() -> None:
    with program("ready(); sleep()") as child, sampling(child.pid) as sampler:
        assert not sampler.sample().ended
        child.kill()

        assert eventually(lambda: sampler.sample().ended), "a zombie counts as ended too"
        assert sampler.sample().threads.keys == ()


def test_threads_that_come_and_go_by_the_hundred_leave_no_trace() -> None:
    code = "def churn():\n    while True: thread(time.sleep, 0.001); time.sleep(0.001)\nthread(churn); ready(); sleep()"
    with program(code) as child, sampling(child.pid) as sampler:
        kept = len(os.listdir("/proc/self/fd"))
        for _ in range(100):
            sample = sampler.sample()
            assert len(set(sample.threads.keys)) == len(sample.threads.keys)

        assert len(os.listdir("/proc/self/fd")) <= kept + 20


def test_a_thread_that_slept_for_long_is_seen_at_the_first_sample_after_it_ran() -> None:
    """Most threads of a quiet process are not read at all; the process's CPU clock tells when one of them woke up."""
    code = (
        "for _ in range(100): thread(sleep)\n"
        "def once(): sys.stdin.readline(); spin_until(0.05); print('ran', flush=True); sleep()\n"
        "def spin_until(s):\n    began = time.thread_time()\n    while time.thread_time() - began < s: pass\n"
        'named("sleeper", once); named("busy", spin, 0.1); time.sleep(0.3); ready(); sleep()'
    )
    with program(code) as child, sampling(child.pid) as sampler:
        for _ in range(14):
            before = sampler.sample()
            time.sleep(0.02)
        tell(child)
        assert answer(child) == "ran\n"
        after = sampler.sample()

        key = key_of(after, "sleeper")
        then, now = before.threads.run_ns[before.threads.row_of[key]], after.threads.run_ns[after.threads.row_of[key]]
        assert then is not None
        assert now is not None
        assert now - then > 30_000_000


COUNT_OPENS = """
import sys, time
from numascope.host.root import HostRoot
from numascope.observe.sampler import Sampler
sampler = Sampler(HostRoot(), [int(sys.argv[1])], [0])
sampler._pressure_us = lambda: None  # as on a kernel without PSI: under pressure it looks more closely
for _ in range(3): sampler.sample()
opens = 0
def hook(event, args):
    global opens
    opens += event in ("open", "os.listdir")
sys.addaudithook(hook)
for _ in range(10): sampler.sample()
print(opens, len(sampler.sample().threads.keys))
"""


def test_a_sleeping_thread_costs_one_look_in_ten_samples() -> None:
    """Ten samples look at each of 400 sleeping threads once, two files each; all else is a handful of files a sample."""
    with program("for _ in range(400): thread(sleep)\nready(); sleep()") as child:
        out = subprocess.run(
            [sys.executable, "-c", COUNT_OPENS, str(child.pid)], capture_output=True, text=True, check=True
        )
    opens, threads = map(int, out.stdout.split())

    assert threads == 401
    assert opens <= 2 * 401 + 10 * 12 + 40
