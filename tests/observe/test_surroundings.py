"""One look around at the whole machine: nothing is made up where a file is absent, and only busy CPUs are asked for their clock."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from roots import CountingRoot

from numascope.host.root import HostRoot
from numascope.observe.surroundings import SurroundingsWatch


class Machine:
    """Files of a machine of four CPUs, and the time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now_ns = 0
        self.busy = dict.fromkeys(range(4), 0)
        self.total = 0
        self.write("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 900 kB\nNode 0 MemFree:         512 kB\n")
        self.write(
            "sys/devices/system/node/node0/numastat",
            "numa_hit 10\nnuma_miss 2\nnuma_foreign 3\ninterleave_hit 0\nlocal_node 9\nother_node 1\n",
        )
        for cpu in range(4):
            self.write(f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq", f"{2_000_000 + cpu}\n")
            self.write(f"sys/devices/system/cpu/cpu{cpu}/cpufreq/related_cpus", f"{cpu}\n")
        self.root = CountingRoot(str(folder))
        self.watch = SurroundingsWatch(self.root, (0, 3), lambda: self.now_ns)

    def write(self, name: str, text: str) -> None:
        """One file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")

    def pass_s(self, seconds: int, busy: dict[int, float]) -> None:
        """Time in which these CPUs were busy so much."""
        self.now_ns += seconds * 1_000_000_000
        self.total += 100 * seconds
        for cpu in self.busy:
            self.busy[cpu] += round(100 * seconds * busy.get(cpu, 0.0))
        lines = [f"cpu{cpu} {busy} 0 0 {self.total - busy} 0 0 0 0 0 0" for cpu, busy in self.busy.items()]
        self.write("proc/stat", "cpu  1 1 1 1 1 1 1 0 0 0\n" + "\n".join(lines) + "\n")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_ticks_and_nodes_are_those_of_the_files_and_a_node_without_files_is_unknown(machine: Machine) -> None:
    machine.pass_s(1, {2: 0.4})
    around = machine.watch.look()

    assert (around.cpu_ticks[2].user, around.cpu_ticks[2].idle) == (40, 60)
    node = around.nodes[0]
    assert (node.free_kib, node.hit, node.miss, node.foreign, node.other_node) == (512, 10, 2, 3, 1)
    absent = around.nodes[3]
    assert (absent.free_kib, absent.hit, absent.miss, absent.foreign, absent.other_node) == (None,) * 5


def test_only_cpus_that_were_busy_since_the_last_look_have_a_clock(machine: Machine) -> None:
    machine.pass_s(1, {1: 1.0})
    assert machine.watch.look().clocks_khz == {}, "one look tells of no interval"
    machine.pass_s(1, {1: 1.0, 2: 0.5, 3: 0.49})
    assert machine.watch.look().clocks_khz == {1: 2_000_001, 2: 2_000_002}
    machine.pass_s(1, {3: 1.0})
    assert machine.watch.look().clocks_khz == {3: 2_000_003}
    assert not any("cpu0/cpufreq/scaling_cur_freq" in path for path in machine.root.seen)


def test_a_cpu_that_comes_back_or_runs_backward_was_not_busy(machine: Machine) -> None:
    machine.pass_s(1, {1: 1.0})
    machine.watch.look()
    del machine.busy[1]
    machine.pass_s(1, {})
    assert 1 not in machine.watch.look().cpu_ticks
    machine.busy[1] = 5
    machine.pass_s(1, {1: 1.0})
    assert machine.watch.look().clocks_khz == {}
    machine.total -= 500
    machine.pass_s(1, {})
    assert machine.watch.look().clocks_khz == {}


def test_where_proc_stat_cannot_be_read_nothing_is_known(tmp_path: Path) -> None:
    around = SurroundingsWatch(HostRoot(str(tmp_path)), (), lambda: 0).look()

    assert (around.cpu_ticks, around.nodes, around.clocks_khz, around.interrupts) == ({}, {}, {}, ())


@pytest.mark.live
def test_here_every_cpu_that_is_online_has_its_time() -> None:
    around = SurroundingsWatch(HostRoot(), (), lambda: 0).look()

    assert os.sched_getaffinity(0) <= around.cpu_ticks.keys()
    assert all(one.total > 0 for one in around.cpu_ticks.values())
