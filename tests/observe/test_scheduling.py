"""Scheduling policy and switches of real threads are what the kernel says of them elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from processes import OWN_CPUS, eventually, program
from sampling import sampling

from numascope.observe.sample import Sample

pytestmark = pytest.mark.live

_may_set = os.geteuid() == 0 and shutil.which("chrt") is not None
needs_chrt = pytest.mark.skipif(not _may_set, reason="needs root and chrt, to change scheduling policies")


def row_of(sample: Sample, comm: str) -> int:
    return sample.threads.comms.index(comm)


WORKER = 'named("worker", BODY); time.sleep(0.2); ready(); sleep()'


@needs_chrt
@pytest.mark.parametrize(
    ("chrt", "words"),
    [
        (("-f", "7"), "fifo 7"),
        (("-r", "3"), "rr 3"),
        (("-b", "0"), "batch"),
        (("-i", "0"), "idle"),
        (("-o", "0"), "other"),
    ],
)
def test_a_policy_set_from_outside_is_seen_at_the_next_look_at_a_thread_that_runs(
    chrt: tuple[str, str], words: str
) -> None:
    with program(WORKER.replace("BODY", "spin, 0.2")) as child, sampling(child.pid) as sampler:
        first = sampler.sample()
        tid = first.threads.keys[row_of(first, "worker")].tid
        assert str(first.threads.scheduling[row_of(first, "worker")]) == "other"
        set_to = subprocess.run(["chrt", chrt[0], "-p", chrt[1], str(tid)], capture_output=True, text=True, check=False)
        if set_to.returncode:
            pytest.skip(f"this kernel refuses: {set_to.stderr.strip()}")

        def seen() -> str:
            time.sleep(0.05)
            sample = sampler.sample()
            return str(sample.threads.scheduling[row_of(sample, "worker")])

        assert eventually(lambda: seen() == words)
        sample = sampler.sample()
        assert sample.threads.keys == first.threads.keys, "it is the same thread"
        assert str(sample.threads.scheduling[0]) == "other", "its process's main thread was not meant"


@needs_chrt
def test_a_policy_of_a_sleeping_thread_is_seen_within_forty_looks() -> None:
    with program(WORKER.replace("BODY", "sleep")) as child, sampling(child.pid) as sampler:
        first = sampler.sample()
        tid = first.threads.keys[row_of(first, "worker")].tid
        if subprocess.run(["chrt", "-b", "-p", "0", str(tid)], capture_output=True, check=False).returncode:
            pytest.skip("this kernel refuses SCHED_BATCH")
        looks = [sampler.sample() for _ in range(41)]

        assert str(looks[-1].threads.scheduling[row_of(looks[-1], "worker")]) == "batch"
        assert all(look.threads.keys == first.threads.keys for look in looks)


def test_a_nice_value_is_seen_and_is_that_of_its_thread_alone() -> None:
    with program(WORKER.replace("BODY", "spin, 0.2")) as child, sampling(child.pid) as sampler:
        first = sampler.sample()
        os.setpriority(os.PRIO_PROCESS, first.threads.keys[row_of(first, "worker")].tid, 7)

        def seen() -> str:
            time.sleep(0.05)
            sample = sampler.sample()
            return str(sample.threads.scheduling[row_of(sample, "worker")])

        assert eventually(lambda: seen() == "other nice 7")
        assert str(sampler.sample().threads.scheduling[0]) == "other"


def switches(pid: int, tid: int) -> tuple[int, int]:
    """What `status` says of the thread."""
    text = Path(f"/proc/{pid}/task/{tid}/status").read_text(encoding="utf-8", errors="replace")
    own, forced = re.findall(r"^(?:non)?voluntary_ctxt_switches:\s*(\d+)$", text, re.MULTILINE)
    return int(own), int(forced)


def test_switches_are_those_that_status_tells_of() -> None:
    """Two threads that both want one CPU are switched by force; one that sleeps now and then gives it up itself."""
    code = 'named("naps", spin, 0.1); named("one", spin); named("two", spin); time.sleep(0.2); ready(); sleep()'
    with program(code) as child, sampling(child.pid) as sampler:
        for task in os.listdir(f"/proc/{child.pid}/task"):
            os.sched_setaffinity(int(task), {OWN_CPUS[0]})
        begun = sampler.sample()
        for _ in range(5):
            time.sleep(0.1)
            before = {key.tid: switches(*key[:2]) for key in begun.threads.keys}
            sample = sampler.sample()
            after = {key.tid: switches(*key[:2]) for key in begun.threads.keys}
            for key, counters in zip(sample.threads.keys, sample.threads.counters, strict=True):
                assert counters.voluntary is not None
                assert counters.involuntary is not None
                if sample.threads.seen[sample.threads.row_of[key]] == sample.number:
                    assert before[key.tid][0] <= counters.voluntary <= after[key.tid][0]
                    assert before[key.tid][1] <= counters.involuntary <= after[key.tid][1]
        naps = row_of(sample, "naps")
        first, last = begun.threads.counters[naps], sample.threads.counters[naps]

        assert (last.voluntary or 0) > (first.voluntary or 0)
        assert sum(one.involuntary or 0 for one in sample.threads.counters) > sum(
            one.involuntary or 0 for one in begun.threads.counters
        )


def test_a_thread_that_never_ran_under_watch_keeps_its_counters() -> None:
    with program(WORKER.replace("BODY", "sleep")) as child, sampling(child.pid) as sampler:
        first = sampler.sample()
        looks = [sampler.sample() for _ in range(45)]

        assert all(look.threads.counters == first.threads.counters for look in looks)
        assert looks[-1].threads.counters[1].voluntary is not None
