"""The one sampler: a process tree in, immutable samples out, each as cheap as what changed since the last."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Final

from numascope.host.affinity import AffinityReader
from numascope.host.parse_proc import parse_schedstat
from numascope.host.root import AbsentError, DeniedError, HostRoot
from numascope.host.system import counters
from numascope.observe.descriptors import DescriptorBudget
from numascope.observe.facts import read_facts
from numascope.observe.sample import CpuTicks, NodeCounters, ProcessFacts, Sample, Threads
from numascope.observe.tree import ProcessTree
from numascope.observe.watched import Columns, WatchedProcess

_FACTS_AGAIN: Final = 10
"""Arguments, cpuset and memory policy of a process are read again every so many seconds."""

_NOBODY: Final = Threads((), (), (), (), (), (), (), (), (), (), {})


class Sampler:
    """Samples the given processes and, with `follow`, all that they start; one thread at a time may use it."""

    def __init__(self, root: HostRoot, pids: Iterable[int], nodes: Iterable[int] = (), *, follow: bool = True) -> None:
        self._root = root
        self._tree = ProcessTree(root, pids, follow=follow)
        self._nodes = tuple(nodes)
        self._affinity = AffinityReader()
        self._budget = DescriptorBudget()
        self._processes: dict[int, WatchedProcess] = {}
        self._facts: dict[int, ProcessFacts] = {}
        self._facts_read_s: dict[int, float] = {}
        self._denied: dict[int, str] = {}
        self._ticks_only = not schedstat_moves(root)
        self._threads = _NOBODY
        self._number = 0

    def close(self) -> None:
        """Gives all descriptors back and restores their limit."""
        for process in self._processes.values():
            process.close()
        self._processes.clear()
        self._budget.restore()

    def watch_also(self, pids: Iterable[int]) -> None:
        """Adds processes to the watched ones from the next sample on."""
        self._tree.add(pids)

    def sample(self) -> Sample:
        """One look at all watched threads, now."""
        began_ns = time.thread_time_ns()
        self._number += 1
        vanished = self._refresh_processes()
        self._threads = _threads([self._processes[pid].columns for pid in sorted(self._processes)], self._threads)
        notes = (
            ("this kernel keeps no schedstat: CPU time in steps of 10 ms, waits unknown",) if self._ticks_only else ()
        )
        return Sample(
            number=self._number,
            monotonic_ns=time.monotonic_ns(),
            wall_s=time.time(),
            threads=self._threads,
            processes={pid: self._facts[pid] for pid in sorted(self._processes) if pid in self._facts},
            cpu_ticks={cpu: CpuTicks(*ticks) for cpu, ticks in counters.cpu_ticks(self._root).items()},
            nodes={node: self._node(node) for node in self._nodes},
            vanished=vanished,
            denied=tuple(self._denied[pid] for pid in sorted(self._denied)),
            ended=not self._processes,
            cost_ns=time.thread_time_ns() - began_ns,
            own_ns=time.process_time_ns(),
            notes=notes,
        )

    def _refresh_processes(self) -> int:
        vanished = 0
        queues = counters.run_queues(self._root)
        # A thread waits behind another only where two are runnable besides the one that asks.
        waiting = queues is None or queues.runnable > 2
        for pid in self._tree.members(None if queues is None else queues.newest_pid):
            process = self._processes.get(pid)
            if process is None:
                process = self._open(pid)
            if process is None or not process.refresh(self._number, waiting=waiting):
                self._drop(pid)
                continue
            vanished += process.vanished
            if process.denied is not None:
                self._denied[pid] = process.denied
            # A mask that changed may have been changed by its cpuset.
            self._refresh_facts(pid, again=process.execed or process.rebound)
        return vanished

    def _open(self, pid: int) -> WatchedProcess | None:
        try:
            process = WatchedProcess(self._root, pid, self._affinity, self._budget, ticks_only=self._ticks_only)
        except AbsentError:
            return None
        except DeniedError as error:
            self._denied[pid] = f"threads of {pid}: {error.strerror}"
            return None
        self._processes[pid] = process
        return process

    def _drop(self, pid: int) -> None:
        process = self._processes.pop(pid, None)
        if process is not None:
            process.close()
        self._tree.drop(pid)
        self._facts.pop(pid, None)
        self._facts_read_s.pop(pid, None)

    def _refresh_facts(self, pid: int, *, again: bool) -> None:
        now_s = time.monotonic()
        due = self._facts_read_s.get(pid)
        if not again and due is not None and now_s < due:
            return
        # Spread by pid, so that a large job does not read all facts in one tick.
        self._facts_read_s[pid] = now_s + _FACTS_AGAIN + (pid % _FACTS_AGAIN) / 2
        facts, old = read_facts(self._root, pid), self._facts.get(pid)
        if facts is None:
            return
        if old is not None and old.starttime_ticks == facts.starttime_ticks:
            facts = replace(facts, started_s=old.started_s)  # the wall clock is not that steady
        # Equal facts stay the old object: a new one makes everybody's part be looked at again.
        self._facts[pid] = facts if old is None or facts != old else old

    def _node(self, node: int) -> NodeCounters:
        free_kib, pages = counters.node_counters(self._root, node)
        return NodeCounters(
            free_kib=free_kib,
            hit=pages.get("numa_hit"),
            miss=pages.get("numa_miss"),
            foreign=pages.get("numa_foreign"),
            other_node=pages.get("other_node"),
        )


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
        seen=tuple(chain.from_iterable(one.seen for one in processes)),
        row_of=before.row_of if same else {key: at for at, key in enumerate(keys)},
    )
