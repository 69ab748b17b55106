"""Process trees of real jobs, kept in snapshots/jobs, as facts and threads.

Each file tells in `about` what ran; a thread is a row of tid, name, allowed CPUs, start and CPU time, both in ticks of 10 ms.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from numascope.cpuset import CpuSet
from numascope.observe.jobs import Job, find_jobs, process_job
from numascope.observe.roles import Roll, ThreadFacts, call_roll
from numascope.observe.sample import ProcessFacts

_TICK_NS = 10_000_000


class Captured(NamedTuple):
    """What a capture holds: facts by pid, threads by pid."""

    facts: dict[int, ProcessFacts]
    threads: dict[int, list[ThreadFacts]]

    def jobs(self) -> tuple[Job, ...]:
        """Its jobs; the topmost process as a job where no launcher told any rank who it is."""
        found = find_jobs(self.facts)
        return found or (
            process_job(self.facts, next(pid for pid in self.facts if self.facts[pid].ppid not in self.facts)),
        )

    def roll(self) -> Roll:
        """The roles of all of its threads."""
        return call_roll(self.jobs(), self.facts, self.threads)


def read_job(path: Path) -> Captured:
    """A capture of snapshots/jobs."""
    facts: dict[int, ProcessFacts] = {}
    threads: dict[int, list[ThreadFacts]] = {}
    for one in json.loads(path.read_text())["processes"]:
        pid, rows = one["pid"], one["threads"]
        threads[pid] = [
            ThreadFacts(tid, comm, start, ticks * _TICK_NS, CpuSet.parse(allowed))
            for tid, comm, allowed, start, ticks in rows
        ]
        began = next((each.starttime_ticks for each in threads[pid] if each.tid == pid), 0)
        facts[pid] = ProcessFacts(
            pid, one["ppid"], began, one["sid"], one["comm"], tuple(one["cmdline"]), one["environ"], threads=len(rows)
        )
    return Captured(facts, threads)
