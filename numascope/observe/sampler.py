"""The one sampler: a process tree in, immutable samples out, each as cheap as what changed since the last."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Final

from numascope.cpuset import CpuSet
from numascope.host import procfs
from numascope.host.affinity import AffinityReader
from numascope.host.parse_proc import parse_schedstat
from numascope.host.parse_stat import CpuTicks
from numascope.host.root import AbsentError, DeniedError, HostRoot
from numascope.host.system import counters
from numascope.host.system.cgroup_load import CgroupLoad
from numascope.observe.cgroups import CgroupWatch
from numascope.observe.columns import Columns
from numascope.observe.descriptors import DescriptorBudget
from numascope.observe.facts import read_facts
from numascope.observe.memory_watch import MemoryWatch
from numascope.observe.sample import NOBODY, ProcessFacts, Sample, Threads
from numascope.observe.surroundings import SurroundingsWatch
from numascope.observe.tree import ProcessTree
from numascope.observe.waiting import WaitWatch
from numascope.observe.watched import HIDDEN, WatchedProcess

_FACTS_AGAIN: Final = 10
"""Arguments, cpuset and memory policy of a process are read again every so many seconds."""

_MOST_DENIED: Final = 64


class Sampler:
    """Samples the given processes and, with `follow`, all that they start; one thread at a time may use it."""

    def __init__(
        self,
        root: HostRoot,
        pids: Iterable[int],
        nodes: Iterable[int] = (),
        *,
        follow: bool = True,
        clock_ns: Callable[[], int] = time.monotonic_ns,
        memory: MemoryWatch | None = None,
    ) -> None:
        procfs.check_numbers(root)
        self._root = root
        self._tree = ProcessTree(root, pids, follow=follow)
        self._surroundings = SurroundingsWatch(root, tuple(nodes), clock_ns)
        self._cgroups = CgroupWatch(root)
        self._affinity = AffinityReader()
        self._budget = DescriptorBudget()
        self._processes: dict[int, WatchedProcess] = {}
        self._facts: dict[int, ProcessFacts] = {}
        self._facts_read_s: dict[int, float] = {}
        self._denied: dict[int, str] = {}
        self._ticks_only = not schedstat_moves(root)
        self._threads = NOBODY
        self._clock_ns = clock_ns
        self._loads: Mapping[str, CgroupLoad] = {}
        self._waiting = WaitWatch()
        self._memory = memory
        self._number = 0

    def close(self) -> None:
        """Gives all descriptors back and restores their limit."""
        for process in self._processes.values():
            process.close()
        self._processes.clear()
        self._budget.restore()
        if self._memory is not None:
            self._memory.close()

    def finish_memory(self) -> None:
        """Has the next sample tell where the memory of all ranks lies that were not looked at for a minute, also where that takes longer."""
        if self._memory is not None:
            self._memory.finish(self._clock_ns())

    def watch_also(self, pids: Iterable[int]) -> None:
        """Adds processes to the watched ones from the next sample on."""
        self._tree.add(pids)

    def sample(self) -> Sample:
        """One look at all watched threads, now."""
        began_ns = time.thread_time_ns()
        self._number += 1
        around = self._surroundings.look()
        vanished = self._refresh_processes(self._clock_ns(), around.cpu_ticks)
        self._threads = _threads([self._processes[pid].columns for pid in sorted(self._processes)], self._threads)
        notes = (
            ("this kernel keeps no schedstat: CPU time in steps of 10 ms, waits unknown",) if self._ticks_only else ()
        )
        processes = {pid: self._facts[pid] for pid in sorted(self._processes) if pid in self._facts}
        self._loads = self._cgroups.loads({one.cgroup for one in processes.values() if one.cgroup is not None})
        return Sample(
            number=self._number,
            monotonic_ns=self._clock_ns(),
            wall_s=time.time(),
            threads=self._threads,
            processes=processes,
            cpu_ticks=around.cpu_ticks,
            nodes=around.nodes,
            cgroups=self._loads,
            clocks_khz=around.clocks_khz,
            interrupts=around.interrupts,
            unseen_ns={
                pid: unseen_ns
                for pid in sorted(self._processes)
                if (unseen_ns := self._processes[pid].unseen_ns) is not None
            },
            vanished=vanished,
            denied=(*(self._denied[pid] for pid in sorted(self._denied)), *_private(processes.values())),
            ended=not self._processes and not self._denied,
            memory={} if self._memory is None else self._memory.look(processes, self._clock_ns()),
            balancing=around.balancing,
            cost_ns=time.thread_time_ns() - began_ns,
            own_ns=time.process_time_ns(),
            notes=notes,
        )

    def irq_cpus(self, irq: int) -> CpuSet | None:
        """Where an interrupt goes, as of the last ten seconds; None where this user may not know."""
        return self._surroundings.interrupts.cpus_of(irq)

    def irq_node(self, irq: int) -> int | None:
        """The NUMA node of an interrupt's device, likewise."""
        return self._surroundings.interrupts.node_of(irq)

    def _refresh_processes(self, now_ns: int, ticks: Mapping[int, CpuTicks]) -> int:
        vanished = 0
        queues = counters.run_queues(self._root)
        some_us = self._pressure_us()
        here: list[WatchedProcess] = []
        for pid in self._tree.members(None if queues is None else queues.newest_pid):
            process = self._processes.get(pid) or self._open(pid)
            if process is not None and process.read_times(self._number):
                here.append(process)
            elif process is not None:
                self._drop(pid)
        explained_ns = sum(process.waited_ns for process in here)
        threads = len(self._threads.keys)
        rotation = self._waiting.rotation(now_ns, queues, some_us, ticks, threads, explained_ns)
        for process in here:
            if not process.read_states(self._number, rotation):
                self._drop(process.pid)
                continue
            vanished += process.vanished
            self._note(process.pid, process.denied)
            # A mask that changed may have been changed by its cpuset.
            self._refresh_facts(process.pid, now_ns // 1_000_000_000, again=process.execed or process.rebound)
        return vanished

    def _pressure_us(self) -> int | None:
        """Time for which threads waited for a CPU: of the watched cgroups where each has its own count, else of the whole machine."""
        own = [one.cpu_some_us for one in self._loads.values() if one.pressure_is_own and one.cpu_some_us is not None]
        return sum(own) if own and len(own) == len(self._loads) else counters.cpu_pressure_us(self._root)

    def _open(self, pid: int) -> WatchedProcess | None:
        """None where it is gone, or alive and may not be read: then it is asked again at the next sample."""
        try:
            process = WatchedProcess(self._root, pid, self._affinity, self._budget, ticks_only=self._ticks_only)
        except AbsentError:
            if procfs.is_hidden(self._root, pid):
                self._note(pid, f"threads of {pid}: {HIDDEN}")
            else:
                self._drop(pid)
            return None
        except DeniedError as error:
            self._note(pid, f"threads of {pid}: {error.strerror}")
            return None
        self._processes[pid] = process
        return process

    def _note(self, pid: int, denied: str | None) -> None:
        if denied is None:
            self._denied.pop(pid, None)
        elif pid in self._denied or len(self._denied) < _MOST_DENIED:
            self._denied[pid] = denied

    def _drop(self, pid: int) -> None:
        process = self._processes.pop(pid, None)
        if process is not None:
            process.close()
        self._denied.pop(pid, None)
        self._tree.drop(pid)
        self._facts.pop(pid, None)
        self._facts_read_s.pop(pid, None)

    def _refresh_facts(self, pid: int, now_s: float, *, again: bool) -> None:
        due = self._facts_read_s.get(pid)
        if not again and due is not None and now_s < due:
            return
        # Spread by pid, so that a large job does not read all facts in one tick.
        self._facts_read_s[pid] = now_s + _FACTS_AGAIN + (pid % _FACTS_AGAIN) / 2
        facts, old = read_facts(self._root, pid), self._facts.get(pid)
        if facts is None:
            return
        facts = replace(facts, cgroup=self._cgroups.find(procfs.speaker_of(self._root, pid)))
        if old is not None and old.starttime_ticks == facts.starttime_ticks:
            facts = replace(facts, started_s=old.started_s)  # the wall clock is not that steady
        # Equal facts stay the old object: a new one makes everybody's part be looked at again.
        self._facts[pid] = facts if old is None or facts != old else old


def _private(processes: Iterable[ProcessFacts]) -> Iterator[str]:
    """What only their owner and root may read of processes, in one note for each owner."""
    kept: dict[int | None, list[int]] = {}
    for one in processes:
        # One that is just ending has no arguments either.
        if one.policy_denied or (one.environ is None and one.cmdline):
            kept.setdefault(one.uid, []).append(one.pid)
    for uid, pids in kept.items():
        whose = f"{pids[0]}" if len(pids) == 1 else f"{pids[0]} and {len(pids) - 1} more"
        yield f"environment and memory policy of {whose} may not be read: {_way_to_read(uid, os.geteuid())}"


def _way_to_read(owner: int | None, ours: int) -> str:
    if ours == 0:
        return "we are root, but without CAP_SYS_PTRACE, or within a container's own users; run outside"
    if owner == ours:
        return "ours, but not dumpable, or with more rights than we; run as root"
    return f"run as {'its owner' if owner is None else f'uid {owner}'} or as root"


def schedstat_moves(root: HostRoot) -> bool:
    """Whether this kernel keeps `schedstat` (CONFIG_SCHED_INFO): our own moves while we work."""

    def run_ns() -> int:
        times = parse_schedstat(root.read_if_there("proc/thread-self/schedstat") or b"")
        return 0 if times is None else times.run_ns

    began = run_ns()
    deadline = time.monotonic() + 0.1
    while time.monotonic() < deadline:
        if run_ns() != began:
            return True
    return False


def _threads(processes: list[Columns], before: Threads) -> Threads:
    """The columns of all processes, one after the other; while the threads are the same, so are the objects that name them."""
    keys = tuple(chain.from_iterable(one.keys for one in processes))
    same = keys == before.keys
    return Threads(
        keys=before.keys if same else keys,
        comms=tuple(chain.from_iterable(one.comms for one in processes)),
        states=tuple(chain.from_iterable(one.states for one in processes)),
        cpus=tuple(chain.from_iterable(one.cpus for one in processes)),
        allowed=tuple(chain.from_iterable(one.allowed for one in processes)),
        run_ns=tuple(chain.from_iterable(one.run_ns for one in processes)),
        wait_ns=tuple(chain.from_iterable(one.wait_ns for one in processes)),
        slices=tuple(chain.from_iterable(one.slices for one in processes)),
        migrations=tuple(chain.from_iterable(one.migrations for one in processes)),
        scheduling=tuple(chain.from_iterable(one.scheduling for one in processes)),
        counters=tuple(chain.from_iterable(one.counters for one in processes)),
        seen=tuple(chain.from_iterable(one.seen for one in processes)),
        row_of=before.row_of if same else {key: at for at, key in enumerate(keys)},
    )
