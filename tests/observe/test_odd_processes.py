"""Processes that are not as most are: stopped, traced, dead in part or as a whole, and those that become another program."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import subprocess
import time

import pytest
from processes import OWN_CPUS, answer, eventually, needs_aslr, program, tell
from sampling import sampling

from numascope.cpuset import CpuSet
from numascope.host import procfs
from numascope.host.parse_proc import StatRecord
from numascope.host.root import HostRoot
from numascope.observe.facts import read_facts, scan_facts
from numascope.observe.jobs import find_jobs
from numascope.observe.sample import Sample, ThreadKey
from numascope.observe.select import Wanted, select_jobs
from numascope.observe.tree import ProcessTree

pytestmark = pytest.mark.live

ROOT = HostRoot()
_EXIT = {"x86_64": 60}.get(platform.machine(), 93)
LEADER_ENDS = f"ctypes.CDLL(None).syscall({_EXIT}, 0)"
"""exit(2), which unlike exit(3) ends the calling thread alone: from the main thread its process lives on without it."""

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17


def ask(child: subprocess.Popen[str], line: str = "") -> str:
    tell(child, line)
    return answer(child).strip()


def state_of(sample: Sample, tid: int) -> str:
    return next(state for key, state in zip(sample.threads.keys, sample.threads.states, strict=True) if key.tid == tid)


def key_of(sample: Sample, comm: str) -> ThreadKey:
    return sample.threads.keys[sample.threads.comms.index(comm)]


def test_a_stopped_process_has_its_rows_and_their_state() -> None:
    with program('named("worker", sleep); time.sleep(0.2); ready(); sleep()') as child, sampling(child.pid) as sampler:
        before = sampler.sample()
        os.kill(child.pid, signal.SIGSTOP)

        assert eventually(lambda: set(sampler.sample().threads.states) == {"T"})
        stopped = sampler.sample()
        assert stopped.threads.keys == before.threads.keys
        assert not stopped.ended
        os.kill(child.pid, signal.SIGCONT)
        assert eventually(lambda: "T" not in sampler.sample().threads.states)
        assert sampler.sample().threads.keys == before.threads.keys


def test_a_thread_that_is_traced_has_its_row_and_goes_on() -> None:
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long] * 4
    with program('named("worker", sleep); time.sleep(0.2); ready(); sleep()') as child, sampling(child.pid) as sampler:
        key = key_of(sampler.sample(), "worker")
        if ptrace(PTRACE_SEIZE, key.tid, 0, 0) != 0:
            pytest.skip("this user may not trace its own child (yama or a container)")
        ptrace(PTRACE_INTERRUPT, key.tid, 0, 0)

        assert eventually(lambda: state_of(sampler.sample(), key.tid) == "t")
        assert key in sampler.sample().threads.row_of
        os.waitpid(key.tid, 0x40000000)  # __WALL, threads too
        ptrace(PTRACE_DETACH, key.tid, 0, 0)
        assert eventually(lambda: state_of(sampler.sample(), key.tid) == "S")


def test_children_that_nobody_waits_for_are_no_rows_and_are_not_asked_again() -> None:
    code = "for _ in range(20):\n    if os.fork() == 0: os._exit(0)\ntime.sleep(0.1); ready(); sleep()"
    with program(code) as child, sampling(child.pid) as sampler:
        for _ in range(15):
            sample = sampler.sample()
            subprocess.run(["true"], check=True)  # somebody was born, so all who are new are looked at

        assert list(sample.processes) == [child.pid]
        assert len(sample.threads.keys) == 1
        assert (sample.ended, sample.denied, sample.vanished) == (False, (), 0)


def test_a_child_that_ends_under_watch_and_stays_a_zombie_leaves_at_once() -> None:
    code = "pid = os.fork()\nif pid == 0: sleep()\nready(); sys.stdin.readline(); os.kill(pid, 9); print(pid, flush=True); sleep()"
    with program(code) as child, sampling(child.pid) as sampler:
        assert len(sampler.sample().processes) == 2
        zombie = int(ask(child))

        assert eventually(lambda: list(sampler.sample().processes) == [child.pid])
        stat = procfs.stat_of(ROOT, zombie)
        assert stat is not None
        assert stat.state == "Z"


def test_a_target_that_is_a_zombie_has_ended() -> None:
    child = subprocess.Popen(["true"])
    try:
        assert eventually(lambda: (procfs.stat_of(ROOT, child.pid) or stat_of_self()).state == "Z")
        with sampling(child.pid) as sampler:
            sample = sampler.sample()

            assert sample.ended
            assert sample.threads.keys == ()
            assert sample.denied == ()
    finally:
        child.wait()


def stat_of_self() -> StatRecord:
    stat = procfs.stat_of(ROOT, "self")
    assert stat is not None
    return stat


RANK = {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "3", "OMP_NUM_THREADS": "4", "MASTER_ADDR": "host"}


def test_a_process_lives_on_when_its_leader_has_exited_and_all_its_facts_are_there() -> None:
    code = f'named("worker", sleep); named("spinner", spin, 0.3); time.sleep(0.2); ready(); sys.stdin.readline(); {LEADER_ENDS}'
    with program(code, **RANK) as child, sampling(child.pid) as sampler:
        before = sampler.sample()
        whole = before.processes[child.pid]
        tell(child)

        assert eventually(lambda: state_of(sampler.sample(), child.pid) == "Z")
        sample = sampler.sample()
        facts = read_facts(ROOT, child.pid)
        assert facts is not None
        assert sample.threads.keys == before.threads.keys, "the leader is a row too, as a zombie"
        assert not sample.ended
        assert facts.environ == whole.environ
        assert facts.environ is not None
        assert facts.environ["RANK"] == "3"
        assert facts.cmdline == whole.cmdline
        assert (facts.cpuset, facts.policy, facts.policy_denied) == (whole.cpuset, whole.policy, False)
        assert facts.policy is not None
        assert (facts.uid, facts.mems_allowed, facts.threads) == (whole.uid, whole.mems_allowed, 3)
        assert sampler.sample().processes[child.pid].cgroup == whole.cgroup
        assert whole.cgroup is not None
        time.sleep(0.3)
        assert key_of(sampler.sample(), "spinner") in sample.threads.row_of


def test_a_job_whose_leader_has_exited_is_found_with_its_rank() -> None:
    with program(f'named("worker", sleep); ready(); time.sleep(0.1); {LEADER_ENDS}', **RANK) as child:
        assert eventually(lambda: (procfs.stat_of(ROOT, child.pid) or stat_of_self()).state == "Z")
        facts = scan_facts(ROOT)

        jobs = [job for job in find_jobs(facts) if child.pid in job.pids()]
        assert [rank.number for job in jobs for rank in job.ranks] == [3]
        assert [rank.pid for job in select_jobs(facts, [Wanted(child.pid)]) for rank in job.ranks] == [child.pid]


def test_files_of_a_process_whose_leader_has_exited_are_read_as_it_sees_them() -> None:
    with program(f"thread(sleep); ready(); {LEADER_ENDS}") as child:
        assert eventually(lambda: (procfs.stat_of(ROOT, child.pid) or stat_of_self()).state == "Z")
        kept = len(os.listdir("/proc/self/fd"))
        inside = procfs.root_of(child.pid)

        assert inside.names("proc")
        inside.close()
        assert len(os.listdir("/proc/self/fd")) == kept


def test_a_process_whose_leader_has_exited_ends_with_its_last_thread() -> None:
    code = f"thread(time.sleep, 0.5); ready(); {LEADER_ENDS}"
    with program(code) as child, sampling(child.pid) as sampler:
        assert eventually(lambda: state_of(sampler.sample(), child.pid) == "Z")
        assert eventually(lambda: sampler.sample().ended)
        assert sampler.sample().threads.keys == ()


@needs_aslr
def test_exec_by_another_thread_than_the_leader_is_a_new_epoch_of_the_leaders_row() -> None:
    code = (
        'named("one", sleep); named("two", sleep)\n'
        "def become(): sys.stdin.readline(); os.execv('/bin/sleep', ['sleep', '1000'])\n"
        'named("execs", become); time.sleep(0.2); ready(); sleep()'
    )
    with program(code) as child, sampling(child.pid) as sampler:
        for _ in range(12):
            before = sampler.sample()
        tell(child)

        assert eventually(lambda: sampler.sample().threads.comms == ("sleep",))
        sample = sampler.sample()
        old, new = before.threads.keys[0], sample.threads.keys[0]
        assert new.epoch > old.epoch
        assert new[:3] == old[:3]
        assert sample.processes[child.pid].cmdline == ("sleep", "1000")
        assert str(sample.threads.allowed[0]) == str(CpuSet.of(OWN_CPUS))
        assert not sample.ended


@needs_aslr
def test_exec_of_the_same_program_that_has_started_threads_already_is_a_new_epoch() -> None:
    """What the first of these threads says of the program must not pass for the old one's."""
    code = (
        'if "AGAIN" in os.environ:\n'
        "    for _ in range(5): thread(sleep)\n"
        '    print("again", flush=True); sleep()\n'
        "ready(); sys.stdin.readline()\n"
        'os.execve(sys.executable, sys.orig_argv, {**os.environ, "AGAIN": "1"})'
    )
    with program(code) as child, sampling(child.pid) as sampler:
        old = sampler.sample()
        assert ask(child) == "again"
        new = sampler.sample()

        assert len(new.threads.keys) == 6
        assert new.threads.keys[0].epoch == old.threads.keys[0].epoch + 1


def test_each_new_name_of_a_thread_is_a_new_epoch_of_it_and_of_no_other() -> None:
    code = (
        "def renames():\n"
        '    for at in range(3): sys.stdin.readline(); name(f"name{at}"); print(at, flush=True)\n'
        "    sleep()\n"
        'named("name", renames); named("other", sleep); time.sleep(0.2); ready(); sleep()'
    )
    with program(code) as child, sampling(child.pid) as sampler:
        first = sampler.sample()
        old = key_of(first, "name")
        for at in range(3):
            ask(child)
            sample = sampler.sample()
            assert key_of(sample, f"name{at}") == old._replace(epoch=at + 1)
        assert key_of(sample, "other") == key_of(first, "other")
        assert len(sample.threads.keys) == 3


def test_a_zombie_joins_no_tree_and_a_process_without_its_leader_does() -> None:
    code = f"if os.fork() == 0: os._exit(0)\nif os.fork() == 0:\n    thread(sleep); {LEADER_ENDS}\ntime.sleep(0.3); ready(); sleep()"
    with program(code) as child:
        members = ProcessTree(ROOT, [child.pid]).members(None)
        states = {pid: (procfs.stat_of(ROOT, pid) or stat_of_self()).threads for pid in members - {child.pid}}

        assert list(states.values()) == [2]
