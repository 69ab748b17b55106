"""CPU per poll of the sampler on 100, 1,000 and 10,000 threads, against the same system calls in C and against other programs.

All of them look at the same process in the same second, one after the other.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import time
from collections.abc import Iterator
from operator import ne

from native import built, working_threads
from peers import PEERS, PS

from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.observe.sample import Sample
from numascope.observe.sampler import Sampler

SIZES = (100, 1_000, 10_000)
ACTIVITIES = (("idle", 0.0, 0), ("5 % active", 0.05, 50), ("all active", 1.0, 20))
"""Which share of the threads works each second, and how many µs."""

POLLS, WARM, PEER_POLLS = 5, 2, 2
OWN, FLOOR = "numascope's sampler", "the same system calls, in C"
Costs = dict[str, float]
"""CPU seconds of a poll by who polled; medians."""


class _Floor:
    """The C program; it reads as many sleeping threads as the sampler did."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def poll_s(self, sleepers: int) -> float:
        """Lets it poll."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(f"{sleepers}\n")
        stdin.flush()
        return int(stdout.readline()) / 1e9


@contextlib.contextmanager
def _floor(pid: int, nodes: list[int]) -> Iterator[_Floor | None]:
    program = built("floor")
    if program is None:
        yield None
        return
    command = [str(program), str(pid), *map(str, nodes)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield _Floor(process)


def costs_of(threads: int, working: int, burst_us: int) -> Costs:
    """What a poll of a process of so many threads costs each of them."""
    root = HostRoot()
    nodes = [node.id for node in build_machine(root).nodes]
    with working_threads(threads, working, burst_us) as pid:
        if pid is None:
            return {}
        time.sleep(1.5 + threads / 5000)
        sampler = Sampler(root, [pid], nodes)
        try:
            with _floor(pid, nodes) as floor:
                costs = _polled(sampler, floor, pid)
        finally:
            sampler.close()
            root.close()
        costs |= {one.name: one.poll_s(pid) for one in PEERS if one.is_slow and one.is_there}
    return costs


def _polled(sampler: Sampler, floor: _Floor | None, pid: int) -> Costs:
    found: dict[str, list[float]] = {}
    before = sampler.sample()
    for number in range(WARM + POLLS):
        began_s = time.monotonic()
        own_s = time.thread_time()
        sample = sampler.sample()
        one = {OWN: time.thread_time() - own_s}
        if floor is not None:
            one[FLOOR] = floor.poll_s(_sleepers_read(before, sample))
        if WARM <= number < WARM + PEER_POLLS:
            one |= {peer.name: peer.poll_s(pid) for peer in PEERS if not peer.is_slow and peer.is_there}
        if number >= WARM:
            for name, seconds in one.items():
                found.setdefault(name, []).append(seconds)
        before = sample
        time.sleep(max(0.0, began_s + 1 - time.monotonic()))
    return {name: statistics.median(each) for name, each in found.items()}


def _sleepers_read(before: Sample, now: Sample) -> int:
    """How many threads were looked at though they had not run."""
    threads = now.threads
    ran = map(ne, before.threads.run_ns, threads.run_ns)
    return sum(
        seen == now.number and not moved and state != "R"
        for seen, moved, state in zip(threads.seen, ran, before.threads.states, strict=False)
    )


def main() -> None:
    """Prints the costs, and their ratios beside what was promised."""
    found: dict[tuple[str, int], Costs] = {}
    print(f"looking at threads once a second, ms of CPU a poll (median of {POLLS})")
    if built("floor") is None:
        print("  no C compiler: no floor, and the target is a Python program")
    for peer in PEERS:
        if not peer.is_there:
            print(f"  {peer.needs} is not installed: left out")
    for activity, share, burst_us in ACTIVITIES:
        for size in SIZES:
            found[activity, size] = costs_of(size, int(share * (size - 1)), burst_us)
        _table(activity, [found[activity, size] for size in SIZES])
    print("  all activities")
    some = found[ACTIVITIES[1][0], SIZES[-1]]
    if OWN in some:
        print(f"    {'10,000 threads, 5 % active, at 1 Hz':<44}{100 * some[OWN]:>9.2f} % of a core   promised: under 5")
    for activity, _, _ in ACTIVITIES:
        small, large = found[activity, SIZES[-2]], found[activity, SIZES[-1]]
        if OWN in small and OWN in large:
            grows = large[OWN] / SIZES[-1] / (small[OWN] / SIZES[-2])
            print(f"    {f'cost of a thread, 10,000 / 1,000, {activity}':<44}{grows:>9.2f}   promised: linear, 1")


def _table(activity: str, columns: list[Costs]) -> None:
    print(f"  {activity:<46}" + "".join(f"{size:>9,}" for size in SIZES))
    for name in (OWN, FLOOR, *(peer.name for peer in PEERS)):
        if any(name in one for one in columns):
            print(
                f"    {name:<44}"
                + "".join(f"{1000 * one[name]:>9.2f}" if name in one else f"{'?':>9}" for one in columns)
            )
    for name, other, promise in ((FLOOR, "the floor", "at most 3"), (PS.name, "ps -L", f"at most {1 / 15:.3f}")):
        if any(name in one for one in columns):
            ratios = (f"{one[OWN] / one[name]:>9.3f}" if one.get(name) else f"{'?':>9}" for one in columns)
            print(f"    {f'sampler / {other}':<44}" + "".join(ratios) + f"   promised: {promise}")


if __name__ == "__main__":
    main()
