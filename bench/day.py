"""A day's watching in some minutes: 86,400 ticks of a job that never stands still, the clock passed in; what is kept has to stay flat.

    .venv/bin/python bench/day.py [TICKS]

Not part of `make bench`. It ends with 1 where descriptors, memory, or what numascope keeps has grown.
"""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kernel_memory import Read, kernel_memory, rss_kib

from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.observe.sampler import Sampler
from numascope.observe.select import Wanted
from numascope.observe.strangers import StrangerScan
from numascope.plan.load import parse_plan
from numascope.review.watch import Question, Watch

JOB = Path(__file__).with_name("day_job.py")
TICKS, THREADS, RANKS = 86_400, 200, 4
LOOKS = 10
_MORE_KIB = 1024
"""So much of a day's growth of memory is the allocators' own; one small object a tick would be five times as much."""

_MORE_ENTRIES = 16
"""Besides those for processes of the machine that are none of the job's and came meanwhile."""


class Look(NamedTuple):
    """What was held at one tick; `kept` is the number of entries by class and attribute, `processes` all of this machine."""

    tick: int
    processes: int
    threads: int
    descriptors: int
    rss_kib: int
    kernel_kib: int
    kept: Counter[str]


class Clock:
    """Time as the watch is told it: a second passes when it is told to."""

    def __init__(self) -> None:
        self.now_ns = time.monotonic_ns()

    def tick(self) -> None:
        """A second passes."""
        self.now_ns += 1_000_000_000

    def read_ns(self) -> int:
        """Now."""
        return self.now_ns

    def read_s(self) -> float:
        """Now."""
        return self.now_ns / 1e9


@contextlib.contextmanager
def restless_job(ranks: int, threads: int) -> Iterator[tuple[int, Callable[[], None]]]:
    """The pid of the job's launcher, and what makes the job go one step on."""
    command = [sys.executable, "-I", "-S", str(JOB), "launcher", str(ranks), str(threads)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as job:
        stdin, stdout = job.stdin, job.stdout
        assert stdin is not None
        assert stdout is not None

        def wait() -> None:
            assert stdout.readline() == "done\n", "the job ended"

        def step() -> None:
            stdin.write("\n")
            stdin.flush()
            wait()

        wait()
        try:
            yield job.pid, step
        finally:
            stdin.close()


@contextlib.contextmanager
def watching(pid: int, clock: Clock) -> Iterator[tuple[Watch, list[object]]]:
    """A watch against a plan that gives each rank one CPU of this machine, and all that keeps something for it."""
    root = HostRoot()
    machine = build_machine(root)
    cpus = sorted(os.sched_getaffinity(0))
    rules = ", ".join(f'"device{rank}": {{"main": "{cpus[rank % len(cpus)]}"}}' for rank in range(RANKS))
    plan = parse_plan("bind.json", f'{{"bind_config": {{"bind_cpu_mode": "cpu"}}, "bind_cpu": {{{rules}}}}}'.encode())
    sampler = Sampler(root, [pid], [node.id for node in machine.nodes], clock_ns=clock.read_ns)
    strangers = StrangerScan(root, clock.read_s)
    watch = Watch(machine, lambda: build_machine(root), sampler, strangers, Question((Wanted(pid),), plan, "given"))
    try:
        yield watch, [watch, sampler, strangers]
    finally:
        sampler.close()
        root.close()


def looks_of(pid: int, step: Callable[[], None], ticks: int, looks: int, kernel_kib: Read) -> Iterator[Look]:
    """Watches for so many ticks, at each of which the job goes a step on, and tells so many times what is held."""
    clock = Clock()
    with watching(pid, clock) as (watch, keepers):
        for tick in range(1, ticks + 1):
            step()
            clock.tick()
            report = watch.step()
            assert not report.ended, "the job ended"
            threads = len(report.sample.threads.keys)
            del report
            if tick % (ticks // looks) == 0:
                yield _look(tick, threads, kernel_kib, keepers)


def _look(tick: int, threads: int, kernel_kib: Read, keepers: list[object]) -> Look:
    gc.collect()
    kept = entries_kept(keepers)
    processes = sum(name.isdecimal() for name in os.listdir("/proc"))
    return Look(tick, processes, threads, len(os.listdir("/proc/self/fd")), rss_kib(), kernel_kib(), kept)


def entries_kept(keepers: list[object]) -> Counter[str]:
    """How many entries the containers hold that can be reached from these objects of numascope, by class and attribute."""
    found: Counter[str] = Counter()
    known: set[int] = set()
    open_ = list(keepers)
    while open_:
        one = open_.pop()
        if id(one) in known:
            continue
        known.add(id(one))
        if _is_container(one):
            open_.extend([*one.keys(), *one.values()] if isinstance(one, Mapping) else one)  # type: ignore[misc, call-overload]
        elif type(one).__module__.startswith("numascope.") and not isinstance(one, type):
            for name, value in _attributes(one):
                if _is_container(value) and not hasattr(value, "_fields"):
                    found[f"{type(one).__name__}.{name}"] += len(value)  # type: ignore[arg-type]
                open_.append(value)
    return found


def _is_container(one: object) -> bool:
    return isinstance(one, (Mapping, list, tuple, set, frozenset, deque))


def _attributes(one: object) -> list[tuple[str, object]]:
    names = dict.fromkeys(getattr(one, "__dict__", ()))
    for kind in type(one).__mro__:
        slots = getattr(kind, "__slots__", ())
        names.update(dict.fromkeys((slots,) if isinstance(slots, str) else slots))
    return [(name, getattr(one, name)) for name in names if hasattr(one, name)]


def grown(first: Look, last: Look) -> list[str]:
    """What has grown between two looks, in words; memory is judged by who looks at a whole day."""
    words = [f"{name}: {first.kept[name]} → {last.kept[name]}" for name in last.kept if _is_more(first, last, name)]
    if last.descriptors > first.descriptors:
        words.append(f"open descriptors: {first.descriptors} → {last.descriptors}")
    return words


def _is_more(first: Look, last: Look, name: str) -> bool:
    allowed = max(_MORE_ENTRIES, first.kept[name] // 10) + max(0, last.processes - first.processes)
    return last.kept[name] > first.kept[name] + allowed


def main(ticks: int) -> None:
    """Prints what is held each tenth of the day; 1 where it grew."""
    began_s = time.monotonic()
    print(f"watching {THREADS} threads of {RANKS} restless ranks for {ticks:,} ticks")
    looks = []
    with restless_job(RANKS, THREADS) as (pid, step), kernel_memory() as kernel:
        print(f"  kernel: {kernel.name}")
        print("      tick  threads  descriptors     RSS KiB  kernel KiB  entries kept")
        for one in looks_of(pid, step, ticks, LOOKS, kernel.read_kib):
            looks.append(one)
            print(
                f"  {one.tick:>8,}  {one.threads:>7}  {one.descriptors:>11}  {one.rss_kib:>10,}  {one.kernel_kib:>10,}"
                f"  {sum(one.kept.values()):>12,}",
                flush=True,
            )
    words = grown(looks[0], looks[-1])
    words += [
        f"{name}: {before:,} → {after:,} KiB"
        for name, before, after in (
            ("RSS", looks[0].rss_kib, looks[-1].rss_kib),
            ("kernel memory", looks[0].kernel_kib, looks[-1].kernel_kib),
        )
        if after > before + _MORE_KIB
    ]
    for word in words:
        print(f"  grew: {word}")
    print(f"  {'not flat' if words else 'flat'}, in {(time.monotonic() - began_s) / 60:.1f} minutes")
    if words:
        sys.exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TICKS)
