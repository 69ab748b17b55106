"""CPU time of threads that lived and died between two looks: at least so much as is told, and never more than the truth."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import answer, eventually, program, tell
from sampling import sampling

from numascope.host.procfs import process_clock_ns
from numascope.observe.process_time import ProcessTime
from numascope.observe.sample import ThreadKey

MS = 1_000_000


class Told(ProcessTime):
    """A process whose clock is told by hand."""

    clock_ns = 0

    def now_ns(self) -> int:
        """What the test says."""
        return self.clock_ns


@dataclass
class Modelled:
    """A thread: what it used, what of that a look saw, and whether any look did."""

    run_ns: int = 0
    seen_ns: int = 0
    known: bool = False


class Model:
    """Threads that run, begin and end, and a watch that looks at all of them now and then."""

    def __init__(self) -> None:
        self.time = Told(1)
        self.alive: list[Modelled] = [Modelled()]
        self.parted: list[Modelled] = []
        self.looks = 0
        self.unseen_ns = 0
        """The truth: of the threads that ended since the first look, what no look saw."""

    def happen(self, events: list[tuple[str, int, int]]) -> None:
        """Threads begin, run so many ns and end; the first one lives on."""
        for what, which, ns in events:
            if what == "born":
                self.alive.append(Modelled())
            elif what == "ran":
                self.alive[which % len(self.alive)].run_ns += ns
                self.time.clock_ns += ns
            elif len(self.alive) > 1:
                one = self.alive.pop(which % (len(self.alive) - 1) + 1)
                self.parted.append(one)
                if self.looks:
                    self.unseen_ns += one.run_ns - one.seen_ns

    def look(self, meanwhile: list[tuple[str, int, int]], later: list[tuple[str, int, int]]) -> None:
        """The clock first, then who is there, then their times; what happens `meanwhile` and `later` is in between."""
        clock_ns = self.time.now_ns()
        self.happen(meanwhile)
        for one in self.parted:
            if one.known:
                self.time.ended(one.seen_ns)
        self.parted.clear()
        for one in self.alive:
            self.time.ran(one.run_ns - one.seen_ns)
            one.seen_ns, one.known = one.run_ns, True
        self.happen(later)
        self.time.bound(self.looks)
        self.time.claim(clock_ns)
        self.looks += 1


EVENTS = st.lists(
    st.tuples(st.sampled_from(["born", "ran", "ended"]), st.integers(0, 20), st.integers(1, 50)), max_size=12
)


@given(st.lists(st.tuples(EVENTS, EVENTS, EVENTS), max_size=12))
def test_it_is_never_more_than_the_truth_whatever_happens_during_a_look(looks: list[tuple[list, list, list]]) -> None:  # type: ignore[type-arg]
    model = Model()
    told = 0
    for before, meanwhile, later in looks:
        model.happen(before)
        model.look(meanwhile, later)
        assert model.time.unseen_ns is not None
        assert told <= model.time.unseen_ns <= model.unseen_ns
        told = model.time.unseen_ns


@given(st.lists(EVENTS, max_size=12))
def test_it_is_the_truth_where_nothing_happens_during_a_look(looks: list[list[tuple[str, int, int]]]) -> None:
    model = Model()
    for before in looks:
        model.happen(before)
        model.look([], [])
        assert model.time.unseen_ns == model.unseen_ns


def test_before_the_first_look_it_is_unknown() -> None:
    told = Told(1)
    told.claim(100)

    assert told.unseen_ns is None


def test_of_a_process_that_is_gone_it_stays_unknown() -> None:
    gone = ProcessTime(1 << 22)
    gone.bound(0)
    gone.claim(gone.now_ns())

    assert gone.unseen_ns is None


def test_after_exec_it_goes_on_from_what_was_told() -> None:
    model = Model()
    model.look([], [])
    model.happen([("born", 0, 0), ("ran", 1, 30), ("ended", 0, 0)])
    model.look([], [])
    model.time.begin_anew()
    model.happen([("born", 0, 0), ("ran", 1, 5), ("ended", 0, 0)])
    model.look([], [])
    assert model.time.unseen_ns == 30, "what ended around the exec is not told apart"
    model.happen([("born", 0, 0), ("ran", 1, 7), ("ended", 0, 0)])
    model.look([], [])

    assert model.time.unseen_ns == 37


live = pytest.mark.live

BURNS = """
def burn(s):
    began = time.thread_time()
    while time.thread_time() - began < s: pass
"""


def ask(child: subprocess.Popen[str]) -> int:
    """Lets the target do its work; the CPU time (ns) that it took by its own getrusage(2)."""
    tell(child)
    return int(answer(child))


USED = "import resource\ndef used():\n    one = resource.getrusage(resource.RUSAGE_SELF)\n    return round((one.ru_utime + one.ru_stime) * 1e9)\n"


@live
def test_ten_threads_that_burn_20_ms_each_between_two_samples_are_in_the_sum() -> None:
    code = (
        BURNS + USED + "for _ in range(5): thread(sleep)\nready()\n"
        "for line in sys.stdin:\n"
        "    began = used()\n"
        "    for one in [thread(burn, 0.02) for _ in range(10)]: one.join()\n"
        "    time.sleep(0.05)  # join returns a little before a thread is gone\n"
        "    print(used() - began, flush=True)"
    )
    with program(code) as child, sampling(child.pid) as sampler:
        for _ in range(3):
            before = sampler.sample()
        assert before.unseen_ns == {child.pid: 0}
        for round_number in range(1, 4):
            truth_ns = ask(child)
            grown_ns = sampler.sample().unseen_ns[child.pid] - before.unseen_ns[child.pid]
            before = sampler.sample()

            assert grown_ns >= 200 * MS, f"round {round_number}"
            assert grown_ns <= truth_ns + 10 * MS, "getrusage may count in clock ticks"


@live
def test_with_threads_that_are_seen_and_others_that_are_not_nothing_is_counted_twice() -> None:
    """What all threads were ever seen to have used, and what nobody saw, is not more than the process's clock."""
    code = (
        BURNS + "def churn():\n    while True: thread(burn, 0.003); time.sleep(0.004)\n"
        "thread(churn); named('spins', spin, 0.3); ready(); sleep()"
    )
    with program(code) as child, sampling(child.pid) as sampler:
        seen: dict[ThreadKey, int] = {}
        for _ in range(40):
            sample = sampler.sample()
            clock_ns = process_clock_ns(child.pid)
            assert clock_ns is not None
            seen.update({key: ran for key, ran in zip(sample.threads.keys, sample.threads.run_ns, strict=True) if ran})
            assert sum(seen.values()) + sample.unseen_ns[child.pid] <= clock_ns
            time.sleep(0.02)

        assert sample.unseen_ns[child.pid] > 5 * MS
        assert clock_ns is not None
        assert sum(seen.values()) + sample.unseen_ns[child.pid] > 0.6 * clock_ns


@live
def test_exec_by_another_thread_makes_no_time_out_of_nothing() -> None:
    """It takes the leader's number with its own CPU time, which had been seen under another number."""
    code = (
        BURNS + "def becomes():\n"
        "    burn(0.1); sys.stdin.readline(); burn(0.5); os.execv('/bin/sleep', ['sleep', '1000'])\n"
        "one = thread(becomes); burn(0.3); time.sleep(0.3); ready(); sleep()"
    )
    with program(code) as child, sampling(child.pid) as sampler:
        for _ in range(3):
            before = sampler.sample()
        tell(child)
        comm = Path(f"/proc/{child.pid}/comm")
        assert eventually(lambda: comm.read_text(encoding="ascii") == "sleep\n", 30.0)
        after = sampler.sample()
        last = sampler.sample()

        assert len(before.threads.keys) == 2
        assert after.unseen_ns[child.pid] < 20 * MS
        assert last.unseen_ns[child.pid] < 20 * MS
