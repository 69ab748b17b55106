"""Threads and processes that appear and vanish by the thousand: right rows, right counts, nothing left behind."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from processes import answer, eventually, program, tell
from sampling import sampling

from numascope.host.root import HostRoot
from numascope.observe.sampler import Sampler

pytestmark = pytest.mark.live

CHURN_C = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/prctl.h>
static void *rests(void *name) { prctl(PR_SET_NAME, name); for (;;) pause(); }
static void *brief(void *us) { usleep((long)us); return 0; }
int main(int argc, char **argv) {
    int stay = atoi(argv[1]), pause_us = atoi(argv[2]); long life_us = atol(argv[3]); unsigned long born = 0;
    pthread_attr_t small; pthread_attr_init(&small); pthread_attr_setstacksize(&small, 65536);
    for (int at = 0; at < stay; at++) { pthread_t one; pthread_create(&one, &small, rests, "stays"); }
    usleep(200000); puts("ready"); fflush(stdout);
    pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
    for (;;) { pthread_t one; if (!pthread_create(&one, &small, brief, (void *)life_us)) born++; if (pause_us) usleep(pause_us); }
}
"""
"""So many threads that stay, and others that are born every so many µs and live so many µs."""


@pytest.fixture(scope="module")
def churn(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler, to start threads fast enough")
    folder = tmp_path_factory.mktemp("churn")
    (folder / "churn.c").write_text(CHURN_C, encoding="ascii")
    subprocess.run([compiler, "-O1", "-pthread", "-o", folder / "churn", folder / "churn.c"], check=True)
    return str(folder / "churn")


@contextmanager
def churning(churn: str, stay: int, pause_us: int, life_us: int) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen([churn, str(stay), str(pause_us), str(life_us)], stdout=subprocess.PIPE, text=True)
    try:
        assert answer(child) == "ready\n"
        yield child
    finally:
        child.kill()
        child.communicate()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def born_since_boot() -> int:
    found = re.search(r"^processes (\d+)$", Path("/proc/stat").read_text(encoding="ascii"), re.MULTILINE)
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("stay", [20, 1500])
def test_threads_that_stay_are_in_every_sample_though_thousands_come_and_go(churn: str, stay: int) -> None:
    """The kernel's listing leaves out living threads when others end while it is made."""
    with churning(churn, stay, 100, 2000) as child, sampling(child.pid) as sampler:
        first = sampler.sample()
        kept = {key for key, comm in zip(first.threads.keys, first.threads.comms, strict=True) if comm == "stays"}
        began, born = time.monotonic(), born_since_boot()
        missing, unknown = 0, 0
        for _ in range(60):
            sample = sampler.sample()
            missing += len(kept - sample.threads.row_of.keys())
            unknown += sum(one is None for one in sample.threads.allowed)
            assert len(set(sample.threads.keys)) == len(sample.threads.keys)
            assert sample.denied == ()
        assert born_since_boot() - born > 500 * (time.monotonic() - began), "it did not churn"

        assert len(kept) == stay
        assert missing == 0
        assert unknown == 0, "a row without a mask is a thread that ended while it was looked at"
        assert sampler.sample().processes.keys() == {child.pid}


def test_when_the_coming_and_going_stops_the_rows_are_those_of_the_kernel(churn: str) -> None:
    with churning(churn, 300, 200, 1000) as child, sampling(child.pid) as sampler:
        for _ in range(20):
            sampler.sample()
        os.kill(child.pid, 19)
        time.sleep(0.2)

        def is_right() -> bool:
            return {key.tid for key in sampler.sample().threads.keys} == set(
                map(int, os.listdir(f"/proc/{child.pid}/task"))
            )

        assert is_right() or is_right(), "at the second look at the latest"


def test_a_facts_reading_is_not_made_for_every_thread_that_ends(churn: str) -> None:
    """A mask that is missing since its thread ended is no mask that was changed."""
    with churning(churn, 10, 500, 1000) as child, sampling(child.pid) as sampler:
        sampler.sample()
        process = sampler._processes[child.pid]

        rebound = 0
        for _ in range(50):
            sampler.sample()
            rebound += process.rebound
        assert rebound == 0


def sizes(sampler: Sampler) -> dict[str, int]:
    """How much the sampler remembers, by where."""
    parts = {"sampler": sampler, "tree": sampler._tree, "cgroups": sampler._cgroups, "waiting": sampler._waiting}
    return {
        f"{part}.{name}": len(value)
        for part, one in parts.items()
        for name, value in vars(one).items()
        if isinstance(value, (dict, set, list, tuple))
    }


def test_three_hundred_processes_that_came_and_went_leave_nothing_behind() -> None:
    code = (
        "ready()\n"
        "for line in sys.stdin:\n"
        "    pids = []\n"
        "    for at in range(100):\n"
        "        pid = os.fork()\n"
        "        if pid == 0: thread(sleep); sleep()\n"
        "        pids.append(pid)\n"
        "    time.sleep(0.1); print('born', flush=True); sys.stdin.readline()\n"
        "    for pid in pids: os.kill(pid, 9); os.waitpid(pid, 0)\n"
        "    print('gone', flush=True)"
    )
    with program(code) as child, sampling(child.pid) as sampler:

        def ask() -> str:
            tell(child)
            return answer(child).strip()

        sampler.sample()
        before, remembered = descriptors(), sizes(sampler)
        for _ in range(3):
            assert ask() == "born"
            assert eventually(lambda: len(sampler.sample().threads.keys) == 201)
            assert len(sampler.sample().processes) == 101
            assert descriptors() == before + 300, "one for each thread and one for each process"
            assert ask() == "gone"
            assert eventually(lambda: len(sampler.sample().threads.keys) == 1)
            assert list(sampler.sample().processes) == [child.pid]
        sampler.sample()
        after = sizes(sampler)

        assert descriptors() == before
        of_others = {"tree._strangers"}  # all other processes of this machine
        assert {name: size for name, size in after.items() if name not in of_others} == {
            name: size for name, size in remembered.items() if name not in of_others
        }
        assert sampler._budget._kept == 2


def test_closing_gives_every_descriptor_back_and_the_limit() -> None:
    before, limit = descriptors(), resource.getrlimit(resource.RLIMIT_NOFILE)
    root = HostRoot()
    with program("for _ in range(50): thread(sleep)\nif os.fork() == 0: sleep()\nready(); sleep()") as child:
        sampler = Sampler(root, [child.pid])
        sampler.sample()
        sampler.close()
        assert descriptors() <= before + 3, "the pipes to the target and the root"
        assert sampler._budget._kept == 0
    root.close()

    assert descriptors() == before
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == limit


def test_children_that_live_for_a_moment_leave_no_row_and_no_note() -> None:
    code = "ready()\nwhile True:\n    pid = os.fork()\n    if pid == 0: os._exit(0)\n    os.waitpid(pid, 0)"
    with program(code) as child, sampling(child.pid) as sampler:
        before = descriptors()
        for _ in range(100):
            sample = sampler.sample()
            assert child.pid in sample.processes
            assert not sample.ended
            assert sample.denied == ()
        child.kill()

        assert eventually(lambda: sampler.sample().ended)
        assert descriptors() == before


def test_a_living_thread_that_the_listing_leaves_out_stays() -> None:
    """The kernel's listing was seen to do so, once in some ten thousand, when a thread ends while it is made (Linux 6.18)."""
    with program("for _ in range(5): thread(sleep)\nready(); sleep()") as child, sampling(child.pid) as sampler:
        before = sampler.sample()
        files = sampler._processes[child.pid]._files
        left_out = before.threads.keys[3].tid
        listed = [tid for tid in files.tids() if tid != left_out]
        files.tids = lambda: listed  # type: ignore[method-assign]
        files.count = lambda: len(listed)  # type: ignore[method-assign]

        assert sampler.sample().threads.keys == before.threads.keys


FEW_DESCRIPTORS = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (160, 160))
from numascope.host.root import HostRoot
from numascope.observe.sampler import Sampler
sampler = Sampler(HostRoot(), [int(sys.argv[1])])
for _ in range(12): sample = sampler.sample()
threads = sample.threads
print(len(sample.processes), len(threads.keys), len(sample.denied), all(one for one in threads.run_ns), None in threads.allowed)
print(sample.denied[-1] if sample.denied else "")
sampler.close()
"""


@pytest.mark.parametrize(("children", "seen"), [(10, 11), (60, 32)])
def test_with_few_descriptors_what_can_be_watched_is_watched_and_the_rest_is_said(children: int, seen: int) -> None:
    """A limit of 160 leaves 32 to keep: one each for so many processes, none for threads beyond that."""
    code = (
        f"for _ in range({children}):\n    if os.fork() == 0: thread(sleep); sleep()\ntime.sleep(0.3); ready(); sleep()"
    )
    with program(code) as child:
        done = subprocess.run(
            [sys.executable, "-c", FEW_DESCRIPTORS, str(child.pid)], capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    figures, note = done.stdout.splitlines()
    processes, rows, notes, has_times, lacks_mask = figures.split()

    if children == 10:
        assert (processes, rows, notes) == ("11", "21", "0")
    else:
        assert int(processes) <= seen
        assert int(processes) + int(notes) == 61
        assert "no descriptor is left (ulimit -n)" in note
    assert (has_times, lacks_mask) == ("True", "False")
