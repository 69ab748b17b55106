"""The observer's CPU with the memory of eight ranks looked at and without, in the same run; a second's tick each, the time between left out."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

from commands import ratio, row

from numascope.host.root import HostRoot
from numascope.observe.memory_scan import MemoryScan
from numascope.observe.memory_watch import MemoryWatch
from numascope.observe.sampler import Sampler
from numascope.observe.select import Wanted

RANKS = 8
MIB = 256
TICKS = 300
SECOND_NS = 1_000_000_000

_RANK = """
import sys, threading, time
memory = bytearray(int(sys.argv[1]) << 20)
for at in range(0, len(memory), 4096): memory[at] = 1
for _ in range(40): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
print("ready", flush=True)
time.sleep(1000)
"""


class Seconds:
    """A clock on which each tick is a second after the one before, so that minutes pass at once."""

    def __init__(self) -> None:
        self.now_ns = SECOND_NS

    def __call__(self) -> int:
        """Nanoseconds."""
        return self.now_ns


@contextlib.contextmanager
def ranks() -> Iterator[list[int]]:
    """The pids of eight processes with memory."""
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(RANKS):
            command = [sys.executable, "-c", _RANK, str(MIB)]
            one = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            stack.callback(one.kill)
            made.append(one)
        for one in made:
            assert one.stdout is not None
            one.stdout.readline()
        yield [one.pid for one in made]


def ms_per_tick(pids: list[int], memory: MemoryWatch | None) -> list[float]:
    """CPU of each tick, the first minute, in which everybody is looked at for the first time, left out."""
    clock = Seconds()
    sampler = Sampler(HostRoot(), pids, [0, 1], clock_ns=clock, memory=memory)
    costs = []
    for _ in range(60 + TICKS):
        costs.append(sampler.sample().cost_ns / 1e6)
        clock.now_ns += SECOND_NS
    sampler.close()
    return costs[60:]


def main() -> None:
    """Prints the cost of a tick with and without, the longest ones, and the share of a CPU that it comes to."""
    with ranks() as pids:
        # As on a machine of two nodes: where one node has all memory there is nothing to find out.
        watch = MemoryWatch(HostRoot(), [Wanted(pid) for pid in pids], [0, 1], MemoryScan(HostRoot(), 7))
        without, with_memory = ms_per_tick(pids, None), ms_per_tick(pids, watch)
    print(f"a sample of {RANKS} ranks of {MIB} MiB and 41 threads, once a second, {TICKS} times")
    means = [sum(one) / len(one) for one in (without, with_memory)]
    row("without their memory, a tick", means[0] / 1e3)
    row("with their memory, a tick", means[1] / 1e3)
    row("with their memory, the longest tick", max(with_memory) / 1e3)
    print(f"  {'memory':<44} {(means[1] - means[0]) / 10:8.2f} % of a CPU")
    ratio("ratio", means[1] / means[0])


if __name__ == "__main__":
    main()
